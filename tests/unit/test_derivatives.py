"""F' and F'': the polynomials (17), (18) from the operator (16), and the values by Taylor with certified remainders."""

from collections import Counter
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.divergence.curvature import derivative_bounds, mixed_moment_bounds
from certified_dp.divergence.derivatives import (
    MixedPolynomial,
    first_derivative_polynomial,
    moment_first_derivative_ball,
    moment_second_derivative_ball,
    second_derivative_polynomial,
)
from certified_dp.divergence.moments import moment_trapezoid_ball
from certified_dp.enclosure import ball, upper_end, working_precision

probabilities = st.fractions(Fraction(1, 10**6), Fraction(99, 100), max_denominator=10**6)
noise_multipliers = st.fractions(Fraction(1), 20, max_denominator=1000)
points = st.fractions(0, Fraction(49, 100), max_denominator=10**4)


def along_u(polynomial: MixedPolynomial, order: int) -> MixedPolynomial:
    """Apply (16), ∂²_y + ∂_x∂_y − ∂_y, to polynomial(v, w)·h, exactly; Δ² is left out."""

    def derivative(terms: MixedPolynomial, *, x: bool) -> MixedPolynomial:
        result: Counter[tuple[int, int]] = Counter()
        for (i, j), c in terms.items():
            if x:  # ∂_x v = v(1−v), ∂_x h = αvh
                result[i, j] += c * i
                result[i + 1, j] += c * (order - i)
            else:  # ∂_y w = w(1−w), ∂_y h = (1−α)wh
                result[i, j] += c * j
                result[i, j + 1] += c * (1 - order - j)
        return dict(result)

    inner: Counter[tuple[int, int]] = Counter(derivative(polynomial, x=False))
    inner.update(derivative(polynomial, x=True))
    inner.subtract(polynomial)
    return {power: c for power, c in derivative(dict(inner), x=False).items() if c}


def scaled(polynomial: MixedPolynomial, factor: int) -> MixedPolynomial:
    return {power: factor * c for power, c in polynomial.items() if c}


@pytest.mark.parametrize("order", [2, 3, 4, 5, 17, 256])
def test_polynomials_follow_from_the_operator(order: int) -> None:
    """(17) is (16) applied to h, and (18) is (16) applied twice."""
    once = along_u({(0, 0): 1}, order)
    assert once == scaled(first_derivative_polynomial(order), order * (order - 1))
    assert along_u(once, order) == scaled(second_derivative_polynomial(order), order * (order - 1))


@settings(max_examples=40, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 40), points)
def test_first_derivative_by_taylor(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """(F(u+s) − F(u))/s meets F'(u) ± s·max|F''|/2, the maximum from (40)."""
    s = Fraction(1, 2**40)
    values = [moment_trapezoid_ball(sigma, p, order, x, prec=200) for x in (u, u + s)]
    slope = moment_first_derivative_ball(sigma, p, order, u, prec=150)
    bound = derivative_bounds(sigma, p, order, u + s, prec=80)[1]
    with working_precision(200):
        quotient = (values[1] - values[0]) / ball(s)
        assert quotient.overlaps(slope + arb(0, 1) * bound * ball(s / 2))


@settings(max_examples=40, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 40), points)
def test_second_derivative_by_taylor(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """(F'(u+s) − F'(u))/s meets F''(u) ± s·max|F'''|/2, where |F'''| is bounded by 0 ≤ v, w ≤ 1 and (42)."""
    s = Fraction(1, 2**40)
    slopes = [moment_first_derivative_ball(sigma, p, order, x, prec=200) for x in (u, u + s)]
    second = moment_second_derivative_ball(sigma, p, order, u, prec=150)
    third = along_u(along_u(along_u({(0, 0): 1}, order), order), order)
    with working_precision(200):
        moment = mixed_moment_bounds(sigma, p, order, [(0, 0)], u + s, prec=80)[0, 0]
        bound = moment * sum(abs(c) for c in third.values()) * ball((4 / sigma**2) ** 3)
        quotient = (slopes[1] - slopes[0]) / ball(s)
        assert quotient.overlaps(second + arb(0, 1) * bound * ball(s / 2))


@settings(max_examples=40, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 256), points)
def test_two_precisions_overlap(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """More precision gives balls that meet the first ones."""
    for function in (moment_first_derivative_ball, moment_second_derivative_ball):
        assert function(sigma, p, order, u, prec=40).overlaps(function(sigma, p, order, u, prec=120))


def test_first_derivative_at_zero() -> None:
    """At u = 0, F' = Δ²α(α−1)·p·(p·E[h] − E[vh]) < 0: the weight h favours large v; at α = 2, −2Δ²p³q(e^{Δ²}−1)."""
    p, sigma = Fraction(1, 10), Fraction(2)
    slope = moment_first_derivative_ball(sigma, p, 2, Fraction(0), prec=80)
    with working_precision(80):
        assert slope.overlaps(-2 * ball(p**3 * (1 - p)) * ball(Fraction(1)).expm1())
    assert upper_end(slope) < 0
