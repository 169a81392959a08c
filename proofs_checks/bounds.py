"""The package's bounds against its own certified F, F' and F'': curvature, branch and bound, Proposition 2."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from collections.abc import Iterator
from fractions import Fraction

import sympy as sp
from flint import arb

from certified_dp.divergence.curvature import (
    curvature_bound,
    curvature_bound_uniform,
    derivative_bounds,
    mixed_moment_bounds,
)
from certified_dp.divergence.derivatives import (
    first_derivative_polynomial,
    moment_first_derivative_ball,
    moment_second_derivative_ball,
    second_derivative_polynomial,
)
from certified_dp.divergence.moments import (
    mixed_moment_balls,
    moment_at_zero_ball,
    moment_reference_ball,
    moment_trapezoid_ball,
    theorem_gram,
)
from certified_dp.divergence.single_pair import moment_real_order_ball, rdp_single_pair_ball
from certified_dp.divergence.theorem1 import (
    key_bound,
    maximum_is_at_an_end,
    maximum_is_at_zero,
    rdp_theorem1,
    renyi_at_ball,
)
from certified_dp.enclosure import ball, certainly_less, hull_ball, upper_ball, upper_end, working_precision
from proofs_checks import formulas
from proofs_checks.points import Points
from proofs_checks.registry import CheckFailedError, claim, require
from proofs_checks.symbolic import alpha, must_vanish, sensitivity, theorem1_gram, u

_PREC = 140
_HALF = Fraction(1, 2)


def _settings(name: str, count: int, largest_order: int) -> Iterator[tuple[Fraction, Fraction, int, Fraction]]:
    """Draw (σ, p, α, u)."""
    points = Points(name)
    for _ in range(count):
        yield points.between(0, 8), points.probability(), points.integer(2, largest_order), points.between(0, _HALF)


@claim(
    name="moment-at-least-one",
    source="(41), F ≥ 1",
    status="spot-checked",
    how="300 exact (σ, p, α, point)",
)
def at_least_one() -> None:
    """F(point) ≥ 1."""
    with working_precision(_PREC + 40):
        for sigma, p, order, point in _settings("F ≥ 1", 300, 40):
            moment = moment_trapezoid_ball(sigma, p, order, point, prec=_PREC)
            require(certainly_less(ball(1), moment), f"σ = {sigma}, p = {p}, α = {order}, u = {point}")


@claim(
    name="two-quadratures",
    source="(35) and its tail bounds, Appendix B.3.1",
    status="spot-checked",
    how="60 exact (σ, p, α, point): certified integration with the paper's tails, and the trapezoidal rule",
)
def two_quadratures() -> None:
    """The two enclosures of F(point) overlap, at two precisions."""
    for sigma, p, order, point in _settings("quadratures", 60, 16):
        if sigma < 1:
            continue
        fine = moment_trapezoid_ball(sigma, p, order, point, prec=100)
        coarse = moment_reference_ball(sigma, p, order, point, prec=60)
        require(fine.overlaps(coarse), f"σ = {sigma}, p = {p}, α = {order}, u = {point}")


@claim(
    name="derivative-bounds-40",
    source="(39), (40), (42)",
    status="spot-checked",
    how="100 exact (σ, p, α, point): certified moments, F' and F'' against the bounds on [0, point] and [0, 1/2]",
)
def derivative_bound_points() -> None:
    """E[vⁱwʲh], |F'| and |F''| do not exceed their bounds."""
    powers = list(formulas.second_derivative_coefficients(2))
    with working_precision(_PREC + 40):
        for sigma, p, order, point in _settings("derivatives", 100, 24):
            where = f"σ = {sigma}, p = {p}, α = {order}, u = {point}"
            moments = mixed_moment_balls(theorem_gram(sigma, point), p, order, powers, prec=_PREC)
            first = moment_first_derivative_ball(sigma, p, order, point, prec=_PREC)
            second = moment_second_derivative_ball(sigma, p, order, point, prec=_PREC)
            for right in (point, _HALF):
                bounds = mixed_moment_bounds(sigma, p, order, powers, right, prec=_PREC)
                for power, moment in zip(powers, moments, strict=True):
                    require(
                        certainly_less(moment, upper_ball(bounds[power])), f"E[v^{power[0]} w^{power[1]} h], {where}"
                    )
                bound_first, bound_second = derivative_bounds(sigma, p, order, right, prec=_PREC)
                require(certainly_less(abs(first), upper_ball(bound_first)), f"F', {where}")
                require(certainly_less(abs(second), upper_ball(bound_second)), f"F'', {where}")


@claim(
    name="curvature-bound",
    source="(38), (41), (43) to (45)",
    status="spot-checked",
    how="150 exact (σ, p, α, point): certified J'' and the ratios F'/F, F''/F",
)
def curvature_points() -> None:
    """|J''(point)| is at most the package's κ and the paper's κ₂; |F'|/F and |F''|/F are within (43), (44)."""
    with working_precision(_PREC + 40):
        for sigma, p, order, point in _settings("curvature", 150, 24):
            where = f"σ = {sigma}, p = {p}, α = {order}, u = {point}"
            moment = moment_trapezoid_ball(sigma, p, order, point, prec=_PREC)
            first = moment_first_derivative_ball(sigma, p, order, point, prec=_PREC) / moment
            second = moment_second_derivative_ball(sigma, p, order, point, prec=_PREC) / moment
            delta = 2 / sigma
            require(
                certainly_less(abs(first), ball(formulas.first_derivative_ratio_bound(order, delta))), f"(43), {where}"
            )
            ratio_bound = ball(formulas.second_derivative_ratio_bound(order, delta))
            require(certainly_less(abs(second), ratio_bound), f"(44), {where}")
            curvature = abs(second - first * first) / (order - 1)
            require(certainly_less(curvature, ball(formulas.curvature_bound_uniform(order, delta))), f"(45), {where}")
            for bound in (curvature_bound(sigma, p, order, point), curvature_bound_uniform(sigma, order)):
                require(certainly_less(curvature, ball(bound)), f"κ, {where}")


def _exceeds_nowhere(sigma: Fraction, p: Fraction, order: int, limit: Fraction) -> None:
    """Cover [0, 1/2] by cells whose keys (37) do not exceed ``limit``.

    Raises:
        CheckFailedError: more than 3000 cells would be needed, or a point exceeds the limit.
    """
    values: dict[Fraction, Fraction] = {}

    def upper_at(u: Fraction) -> Fraction:
        if u not in values:
            values[u] = upper_end(renyi_at_ball(sigma, p, order, u, prec=100))
            require(values[u] <= limit, f"J({u}) exceeds the limit")
        return values[u]

    waiting = [(Fraction(0), _HALF)]
    while waiting:
        left, right = waiting.pop()
        width = right - left
        if key_bound(upper_at(left), upper_at(right), curvature_bound(sigma, p, order, right), width) <= limit:
            continue
        if len(values) > 3000:
            raise CheckFailedError("branch and bound does not settle within 3000 evaluations")
        middle = (left + right) / 2
        waiting += [(left, middle), (middle, right)]


@claim(
    name="proposition-2-branch-and-bound",
    source="Proposition 2, (19)",
    status="spot-checked",
    how="30 exact (σ, p, α) with each condition: cells of branch and bound cover [0, 1/2] below the end value",
)
def shortcuts() -> None:
    """Where Proposition 2 holds, J exceeds its value at the end (or ends) it names nowhere on [0, 1/2]."""
    points = Points("Proposition 2")
    slack = Fraction(1, 10**7)
    zeros = ends = 0
    with working_precision(160):
        while min(zeros, ends) < 30:
            sigma, p, order = points.between(1, 10), points.probability(), points.integer(2, 24)
            at_zero = renyi_at_ball(sigma, p, order, Fraction(0), prec=100)
            at_half = renyi_at_ball(sigma, p, order, _HALF, prec=100)
            excess = moment_at_zero_ball(sigma, p, order, prec=100)
            if zeros < 30 and maximum_is_at_zero(sigma, p, order, excess):
                zeros += 1
                _exceeds_nowhere(sigma, p, order, upper_end(at_zero) + slack)
            if ends < 30 and maximum_is_at_an_end(sigma, p, order):
                ends += 1
                _exceeds_nowhere(sigma, p, order, max(upper_end(at_zero), upper_end(at_half)) + slack)


@claim(
    name="printed-2a-implies-package",
    source="(19) against (20)",
    status="spot-checked",
    how="200 exact (σ, p, α)",
)
def printed_condition_implies() -> None:
    """Whenever the printed (19) certainly holds, the package's sharper test of (20) says so too."""
    points = Points("(19)")
    applied = 0
    with working_precision(120):
        while applied < 200:
            sigma, p, order = points.between(0, 4), points.probability(), points.integer(2, 60)
            excess = moment_at_zero_ball(sigma, p, order, prec=100)
            exponent = ball((order - 1) * (1 - p) * 2 / sigma**2)
            if ball(p) * exponent.exp() > ball(Fraction(order, order - 1)):
                applied += 1
                require(maximum_is_at_zero(sigma, p, order, excess), f"σ = {sigma}, p = {p}, α = {order}")


@claim(
    name="single-pair-below-theorem-1",
    source="domination_theorem.md, Corollary 1",
    status="spot-checked",
    how="40 exact (σ, p, α): certified maximum of J against the closed form",
)
def single_pair_below() -> None:
    """ρ* = J(0) is at most ρ = max J, and at integer orders the closed sum agrees with the integral for real orders."""
    points = Points("single pair")
    with working_precision(120):
        for _ in range(40):
            sigma, p, order = points.between(1, 6), points.probability(), points.integer(2, 16)
            single = rdp_single_pair_ball(sigma, p, Fraction(order), prec=100)
            bound = rdp_theorem1(sigma, p, order, accuracy=Fraction(1, 10**7))
            where = f"σ = {sigma}, p = {p}, α = {order}"
            if bound.maximiser:
                require(certainly_less(single, ball(bound.upper)), where)
            else:  # equality, which balls can only fail to refute
                require(single.overlaps(hull_ball(bound.lower, bound.upper)), where)
            integral = moment_real_order_ball(sigma, p, Fraction(order), prec=100)
            require(single.overlaps(integral.log() / (order - 1)), f"sum and integral, {where}")


@claim(
    name="package-polynomials",
    source="(15), (17), (18), (45)",
    status="proved",
    how="the package's own functions, called with sympy symbols",
)
def package_polynomials() -> None:
    """The package's Gram matrix, polynomials of F' and F'' and uniform curvature bound are the ones checked here."""
    sigma = sp.Symbol("sigma", positive=True)
    for ours, theirs in zip(theorem1_gram(), theorem_gram(sigma, u), strict=True):
        must_vanish(ours.subs(sensitivity, 2 / sigma) - theirs, "Gram matrix")
    v, w = sp.symbols("v w", real=True)
    first = sum(c * v**i * w**j for (i, j), c in first_derivative_polynomial(alpha).items())
    must_vanish(first - formulas.first_derivative_polynomial(v, w), "(17)")
    second = sum(c * v**i * w**j for (i, j), c in second_derivative_polynomial(alpha).items())
    must_vanish(second - formulas.second_derivative_polynomial(alpha, v, w), "(18)")
    kappa = (2 / sigma) ** 4 * alpha * (3 * alpha**2 + 6 * alpha + 4)  # uniform-curvature-sharpened
    must_vanish(curvature_bound_uniform(sigma, alpha) - kappa, "κ₂")


@claim(
    name="package-key",
    source="(37)",
    status="spot-checked",
    how="2000 exact rational cells: the parabola at its vertex, clipped to [0, 1], in Fractions",
)
def package_key() -> None:
    """The package's key is the largest value of (1−t)J̄(ℓ) + tJ̄(r) + κw²t(1−t)/2 over [0, 1], exactly."""
    points = Points("keys")
    for _ in range(2000):
        left, right = points.between(0, 2), points.between(0, 2)
        kappa, width = points.between(0, 40), points.between(0, _HALF)
        bend = kappa * width**2
        t = min(max(_HALF + (right - left) / bend, Fraction(0)), Fraction(1))
        largest = (1 - t) * left + t * right + bend * t * (1 - t) / 2
        require(key_bound(left, right, kappa, width) == largest, f"J̄ = {left}, {right}, κ = {kappa}, width = {width}")


@claim(
    name="package-2b-condition",
    source="Proposition 2(b)",
    status="spot-checked",
    how="2000 exact (σ, p, α): the package's decision against the printed formula, in balls",
)
def package_2b() -> None:
    """The package applies Proposition 2(b) only where the printed condition holds, and wherever it certainly does."""
    points = Points("2(b)")
    with working_precision(120):
        for _ in range(2000):
            order = points.integer(2, 30)
            sigma, p = points.between(1, 9), points.probability()
            square = sigma * sigma
            decided = maximum_is_at_an_end(sigma, p, order)
            if square <= order:
                require(not decided, f"σ² ≤ α: σ = {sigma}, α = {order}")
                continue
            bracket, exponent = formulas.proposition2b_printed(order, ball(square), arb(2).sqrt())
            holds = certainly_less(ball(p) * (1 + bracket * exponent.exp()), arb(1))
            require(decided == holds, f"σ = {sigma}, p = {p}, α = {order}")
