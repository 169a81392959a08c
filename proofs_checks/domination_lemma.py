"""domination_theorem.md, the Lemma: 0 ≤ c < B ≤ A, any ℓ:  A/(A−c)·(S_A − g(c)) ≥ K = B/(B−c)·(g'(B) − g'(c)).

Dictionary: s̄ logistic, S_A = E s̄(ℓ+A/2+√A·Z), g(x) = E s̄(ℓ+x−B/2+√B·Z), ρ(z) = E s̄'(z+√B·Z), g'(x) = ρ(ℓ+x−B/2).
"""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from certified_dp.enclosure import ball, certainly_less, float_estimate, hull_ball, refine, working_precision
from proofs_checks import formulas
from proofs_checks.points import Points
from proofs_checks.quadrature import Envelope, gaussian_mean
from proofs_checks.registry import CheckFailedError, claim, require


def _logistic(point: arb) -> arb:
    """Enclose s̄ on a ball; it increases, so the two ends tell (1 + e^{−x} of a wide ball would contain 0)."""
    if float_estimate(point.rad()) < 1e-9:
        return 1 / (1 + (-point).exp())
    low, high = point.lower(), point.upper()
    return (1 / (1 + (-low).exp())).union(1 / (1 + (-high).exp()))


def logistic_mean(location: arb, variance: arb, degree: tuple[int, int], *, bits: int) -> arb:
    """Enclose E[s̄^m (1−s̄)^n](location + √variance·Z) for (m, n) = degree.

    On |Im| ≤ θ < π both |s̄| and |1−s̄| are at most 1/cos(θ/2).
    """
    m, n = degree
    spread = variance.sqrt()

    def envelope(d: arb) -> Envelope:
        return [((spread * d / 2).cos() ** -(m + n), arb(0))]

    def value(z: arb) -> arb:
        point = location + spread * z
        return _logistic(point) ** m * _logistic(-point) ** n

    strip = 2.4 / max(1e-6, float_estimate(spread.upper()))
    return gaussian_mean(value, strip=strip, envelope=envelope, bits=bits)


def lemma_sides(level: arb, A: arb, B: arb, c: arb, *, bits: int) -> tuple[arb, arb]:
    """Enclose the two sides of the Lemma."""
    S_A = logistic_mean(level + A / 2, A, (1, 0), bits=bits)
    g_c = logistic_mean(level + c - B / 2, B, (1, 0), bits=bits)
    slope_B = logistic_mean(level + B / 2, B, (1, 1), bits=bits)
    slope_c = logistic_mean(level + c - B / 2, B, (1, 1), bits=bits)
    return formulas.lemma_left(A, c, S_A, g_c), formulas.lemma_right(B, c, slope_B, slope_c)


def _decide_at(level: Fraction, A: Fraction, B: Fraction, c: Fraction) -> None:
    def evaluate(prec: int) -> bool:
        left, right = lemma_sides(ball(level), ball(A), ball(B), ball(c), bits=prec - 32)
        return certainly_less(right, left)

    holds = refine(evaluate, lambda _: True, prec=128, what="the Lemma", max_prec=1024)
    require(holds, f"the Lemma fails at ℓ = {level}, A = {A}, B = {B}, c = {c}")


@claim(
    name="lemma-points",
    source="domination_theorem.md, Lemma",
    status="spot-checked",
    how="1420 exact points in certified quadrature: ℓ up to ±30, A up to 400, and A ≈ B ≈ c",
)
def lemma_points() -> None:
    """A/(A−c)·(S_A − g(c)) ≥ B/(B−c)·(g'(B) − g'(c))."""
    points = Points("lemma")
    near = Fraction(1, 10**6)
    for _ in range(400):
        level, B = points.between(-30, 30), points.between(0, 20)
        _decide_at(level, B + points.between(0, 20), B, points.between(0, B))
    for _ in range(300):  # where A, B and c nearly agree, or c is nearly 0
        level, B = points.between(-4, 4), points.between(0, 10)
        _decide_at(level, B * (1 + near * points.integer(0, 9)), B, B * (1 - near * points.integer(1, 9)))
        _decide_at(level, B * (1 + near), B, B * near)
    for level in (Fraction(-30), Fraction(30)):  # the logistic function nearly constant
        for _ in range(30):
            B = points.between(0, 20)
            _decide_at(level, B + points.between(0, 20), B, points.between(0, B))
            _decide_at(level, B * (1 + near), B, B * (1 - near))
    for _ in range(150):  # A far away, and where g'(B) − g'(c) is largest: ℓ near −B/2
        B = points.between(0, 10)
        level = -B / 2 + points.between(-1, 1)
        _decide_at(level, 400 * points.between(0, 1) + B, B, points.between(0, B))
        _decide_at(level, B, B, points.between(0, B))


def _cover(box: Sequence[tuple[Fraction, Fraction]], holds: Callable[[Sequence[arb]], bool], limit: int) -> int:
    """Bisect the box until ``holds`` is certain on every piece; return how many pieces that took.

    Raises:
        CheckFailedError: more than ``limit`` pieces would be needed.
    """
    waiting, pieces = [list(box)], 0
    while waiting:
        piece = waiting.pop()
        pieces += 1
        if pieces > limit:
            raise CheckFailedError(f"undecided after {limit} pieces, the last one {piece}")
        if holds([hull_ball(low, high) for low, high in piece]):
            continue
        widest = max(range(len(piece)), key=lambda i: piece[i][1] - piece[i][0])
        low, high = piece[widest]
        middle = (low + high) / 2
        halves = ((low, middle), (middle, high))
        waiting += [[*piece[:widest], half, *piece[widest + 1 :]] for half in halves]
    return pieces


@claim(
    name="lemma-box",
    source="domination_theorem.md, Lemma",
    status="certified",
    how="every point with ℓ ∈ [−1,1], B ∈ [1,2], c/B ∈ [0,½], A/B ∈ [1,2], by bisection",
)
def lemma_box() -> None:
    """The Lemma at every point of a four-dimensional box."""

    def holds(coordinates: Sequence[arb]) -> bool:
        level, B, x, y = coordinates
        left, right = lemma_sides(level, B * y, B, B * x, bits=14)
        return bool(right < left)

    box = [
        (Fraction(-1), Fraction(1)),
        (Fraction(1), Fraction(2)),
        (Fraction(0), Fraction(1, 2)),
        (Fraction(1), Fraction(2)),
    ]
    with working_precision(64):
        _cover(box, holds, 20000)


@claim(
    name="lemma-c-box",
    source="domination_theorem.md, Lemma (c)",
    status="certified",
    how="every y ∈ [−3,3], B ∈ [½,3], d/B ∈ [¼,1], by bisection",
)
def lemma_c_box() -> None:
    """½ρ(y)(1+θ) ≥ (1/d − 1/B)(ρ(y) − ρ(y−d)) with θ = ρ'(y)/ρ(y)."""

    def holds(coordinates: Sequence[arb]) -> bool:
        y, B, x = coordinates
        # ½(s̄' + s̄'') = s̄(1−s̄)², so the left side is one mean.
        left = logistic_mean(y, B, (1, 2), bits=24)
        fall = logistic_mean(y, B, (1, 1), bits=24) - logistic_mean(y - x * B, B, (1, 1), bits=24)
        return bool((1 / x - 1) / B * fall < left)

    box = [(Fraction(-3), Fraction(3)), (Fraction(1, 2), Fraction(3)), (Fraction(1, 4), Fraction(1))]
    with working_precision(64):
        _cover(box, holds, 20000)


@claim(
    name="lemma-b-constant",
    source="domination_theorem.md, Lemma (b)",
    status="certified",
    how="one ball; |t|φ_B(t) is largest at t² = B",
)
def lemma_b() -> None:
    """K ≤ sup|t|φ_B(t) = (2πe)^{−1/2} < 0.243 < ½ ≤ 1 − g(c), whatever B."""
    with working_precision(64):
        largest = 1 / (2 * arb.pi() * arb(1).exp()).sqrt()
        require(bool(largest < ball(Fraction(243, 1000))), "(2πe)^{−1/2} < 0.243")


@claim(
    name="lemma-c-points",
    source="domination_theorem.md, Lemma (a), (c), (d)",
    status="spot-checked",
    how="100 exact points in certified quadrature, ℓ up to ±30",
)
def lemma_parts() -> None:
    """Ψ(B) ≥ 0, B²S'_B ≥ Kc, and A²S'_A is log-concave in A at three-term progressions."""
    points = Points("lemma parts")
    bits, prec = 160, 200
    with working_precision(prec):
        for _ in range(100):
            level, B_exact = points.between(-30, 30), points.between(0, 20)
            c_exact = points.between(0, B_exact)
            ell, B, c = ball(level), ball(B_exact), ball(c_exact)
            slope_B = logistic_mean(ell + B / 2, B, (1, 1), bits=bits)
            slope_c = logistic_mean(ell + c - B / 2, B, (1, 1), bits=bits)
            K = formulas.lemma_right(B, c, slope_B, slope_c)
            gain = logistic_mean(ell + B / 2, B, (1, 0), bits=bits) - logistic_mean(
                ell + c - B / 2, B, (1, 0), bits=bits
            )
            where = f"at ℓ = {level}, B = {B_exact}, c = {c_exact}"
            require(certainly_less(K * (1 - c / B), gain), f"(a) {where}")
            require(certainly_less(K * c, _square_times_slope(ell, B, bits)), f"(c) {where}")
            width = B * ball(points.between(0, 1)) / 2
            low, middle, high = (_square_times_slope(ell, B + i * width, bits) for i in range(3))
            require(certainly_less(low * high, middle * middle), f"(d) {where}")


def _square_times_slope(level: arb, A: arb, bits: int) -> arb:
    """Enclose A²S'_A = A²E[s̄(1−s̄)²](ℓ+A/2+√A·Z)."""
    return A * A * logistic_mean(level + A / 2, A, (1, 2), bits=bits)
