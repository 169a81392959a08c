"""Lemma 5 and Proposition 2(b): the tilted measure Ẽ[f] = E[f·w·h]/E[w·h], at critical points of F."""

from collections.abc import Mapping
from fractions import Fraction

from flint import arb

from certified_dp.divergence.derivatives import moment_first_derivative_ball
from certified_dp.divergence.moments import mixed_moment_balls, theorem_gram
from certified_dp.enclosure import ball, certainly_less, working_precision
from proofs_checks import formulas
from proofs_checks.points import Points
from proofs_checks.registry import CheckFailedError, claim, require

_PREC = 160
_BISECTIONS = 80
_POWERS = [(0, 1), (1, 1), (0, 2), (2, 1), (1, 2), (0, 3), (1, 3), (0, 4), (2, 2)]


def _bracket_root(sigma: Fraction, p: Fraction, order: int) -> tuple[Fraction, Fraction] | None:
    """Return ends between which F' certainly changes sign, or None when F' > 0 is not certain at 1/2."""

    def sign(u: Fraction) -> int:
        slope = moment_first_derivative_ball(sigma, p, order, u, prec=_PREC)
        if slope > 0:
            return 1
        if slope < 0:
            return -1
        raise CheckFailedError(f"the sign of F' is not settled at u = {u}")

    low, high = Fraction(0), Fraction(1, 2)
    if sign(high) < 0:
        return None
    require(sign(low) < 0, "F'(0) ≥ 0")
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if sign(middle) < 0 else (low, middle)
    return low, high


def _tilted_moments(
    sigma: Fraction, p: Fraction, order: int, low: Fraction, high: Fraction
) -> Mapping[tuple[int, int], arb]:
    """Enclose Ẽ[vⁱw^{j−1}], keyed by (i, j), for every u in [low, high], and so at the critical point itself.

    By (16) E[vⁱwʲh] changes by at most Δ²·(high−low)·sup E|L(vⁱwʲh)|, L = ∂²_Y + ∂_X∂_Y − ∂_Y. With g = vⁱwʲh,
    ∂_X g = g·(i(1−v) + αv) and ∂_Y g = g·(j(1−w) + (1−α)w), so |L g| ≤ 4(α+i+j+1)²g ≤ 4(α+7)²h as i+j ≤ 4, and
    E h ≤ q^{1−α}·E[(q+pe^X)^α] = q^{1−α}·F(0).
    """
    values = mixed_moment_balls(theorem_gram(sigma, low), p, order, _POWERS, prec=_PREC)
    at_zero = mixed_moment_balls(theorem_gram(sigma, Fraction(0)), p, order, [(0, 0)], prec=_PREC)[0]
    largest = ball(1 - p) ** (1 - order) * at_zero
    drift = ball(4 / sigma**2 * (high - low) * 4 * (order + 7) ** 2) * largest
    around = arb(0).union(drift).union(-drift)
    moments = {power: value + around for power, value in zip(_POWERS, values, strict=True)}
    return {power: value / moments[0, 1] for power, value in moments.items()}


@claim(
    name="lemma-5",
    source="Lemma 5, (24) to (27)",
    status="spot-checked",
    how="60 exact (p, σ, α) with αΔ²/4 < 1: the critical point isolated to 2⁻⁸⁰ by the certified sign of F'",
)
def lemma5() -> None:
    """(24), (25), (26), the bound on Ẽw, and (27), at a critical point of F in (0, 1/2)."""
    points = Points("Lemma 5")
    found = 0
    with working_precision(_PREC + 40):
        while found < 60:
            order = points.integer(2, 12)
            sigma = points.between(1, 6) + 2 * points.integer(1, 3)
            if not sigma * sigma > order:
                continue
            p = points.between(0, Fraction(1, 10))
            bracket = _bracket_root(sigma, p, order)
            if bracket is None:
                continue
            found += 1
            _check_lemma5(sigma, p, order, _tilted_moments(sigma, p, order, *bracket))


def _check_lemma5(sigma: Fraction, p: Fraction, order: int, tilted: Mapping[tuple[int, int], arb]) -> None:
    where = f"at σ = {sigma}, p = {p}, α = {order}"
    square = 4 / sigma**2
    s_exact = square / (1 - order * square / 4)
    s, growth, root = ball(s_exact), ball(s_exact).exp(), arb(2).sqrt()
    w = tilted[0, 2]
    scale = w * w * growth
    require(certainly_less(tilted[0, 3], scale), f"(24) {where}")
    require(certainly_less(tilted[2, 1], scale), f"(24) for v {where}")
    difference = tilted[2, 1] - 2 * tilted[1, 2] + tilted[0, 3]
    require(certainly_less(difference, 2 * s * scale), f"(25) {where}")
    covariance = (3 * order + 2) * (tilted[1, 2] - tilted[0, 3]) - 4 * order * (tilted[1, 3] - tilted[0, 4])
    require(certainly_less(abs(covariance), (3 * root * order + 2 * root) * s * scale), f"(26) {where}")
    require(certainly_less(w, ball(p / (1 - p)) * (ball(square) / 2 + s / 2).exp()), f"bound on Ẽw {where}")
    curvature = sum(
        (c * tilted[power] for power, c in formulas.second_derivative_coefficients(order).items()), arb(0)
    )  # Ẽ[Q]: (18)'s polynomial is w·Q
    bracket = formulas.proposition2b_bracket(order, s, root)
    require(certainly_less(w * (1 - w * growth * bracket), curvature), f"(27) {where}")
