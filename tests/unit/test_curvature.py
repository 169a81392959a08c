"""Curvature bounds: above the moments, the derivatives and J'' that they bound, and never above the paper's."""

import math
from fractions import Fraction

from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.divergence.curvature import (
    curvature_bound,
    curvature_bound_uniform,
    derivative_bounds,
    mixed_moment_bounds,
)
from certified_dp.divergence.derivatives import (
    MixedPolynomial,
    first_derivative_polynomial,
    moment_first_derivative_ball,
    moment_second_derivative_ball,
    second_derivative_polynomial,
)
from certified_dp.divergence.moments import mixed_moment_balls, moment_trapezoid_ball, theorem_gram
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision

probabilities = st.fractions(Fraction(1, 10**6), Fraction(99, 100), max_denominator=10**6)
noise_multipliers = st.fractions(Fraction(3, 10), 20, max_denominator=1000)
orders = st.integers(2, 100)
rights = st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000)
shares = st.fractions(0, 1, max_denominator=1000)


def all_powers(order: int) -> list[tuple[int, int]]:
    return sorted({*first_derivative_polynomial(order), *second_derivative_polynomial(order)})


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, orders, rights, shares)
def test_mixed_moments_are_below_their_bounds(
    sigma: Fraction, p: Fraction, order: int, right: Fraction, share: Fraction
) -> None:
    """The sharpened (42) bounds E[v^i w^j h] at every u up to the right end."""
    powers = all_powers(order)
    moments = mixed_moment_balls(theorem_gram(sigma, share * right), p, order, powers, prec=50)
    bounds = mixed_moment_bounds(sigma, p, order, powers, right, prec=80)
    with working_precision(80):
        for power, moment in zip(powers, moments, strict=True):
            assert not moment > bounds[power].upper()


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, orders, rights, shares)
def test_derivatives_are_below_their_bounds(
    sigma: Fraction, p: Fraction, order: int, right: Fraction, share: Fraction
) -> None:
    """|F'|, |F''| and |J''| on [0, right] are at most the bounds; |J''| ≤ κ₂ for all."""
    u = share * right
    first, second = derivative_bounds(sigma, p, order, right, prec=64)
    F, dF, ddF = (
        function(sigma, p, order, u, prec=100)
        for function in (moment_trapezoid_ball, moment_first_derivative_ball, moment_second_derivative_ball)
    )
    with working_precision(100):
        assert not abs(dF) > first.upper()
        assert not abs(ddF) > second.upper()
        curvature = abs(ddF / F - (dF / F) ** 2) / (order - 1)
        assert lower_end(curvature) <= curvature_bound(sigma, p, order, right)
        assert lower_end(curvature) <= curvature_bound_uniform(sigma, order)


def printed_bound(
    sigma: Fraction, p: Fraction, order: int, powers: MixedPolynomial, right: Fraction
) -> dict[tuple[int, int], arb]:
    """(42) as the paper prints it, term by term."""
    square, q = 4 / sigma**2, 1 - p

    def term(i: int, j: int, k: int) -> arb:
        a = ball(q) ** (1 - i - j - k) * ball(p) ** (i + j + k)
        a *= ball(square / 2 * ((i + k) * (i + k - 1) + 2 * right * j * (i + j + k - 1))).exp()
        b = ball(q) ** (order - i - k) * ball(p) ** (1 + k + i - order)
        b *= ball(square / 2 * ((i + k) * (i + k - 1) + 2 * right * (order - 1) * (order - i - k))).exp()
        return math.comb(order - i, k) * a.min(b)

    return {(i, j): sum((term(i, j, k) for k in range(order - i + 1)), arb(0)) for i, j in powers}


@settings(max_examples=40, deadline=None)
@given(noise_multipliers, probabilities, st.integers(2, 40), rights)
def test_hardly_looser_than_the_paper(sigma: Fraction, p: Fraction, order: int, right: Fraction) -> None:
    """κ₂ is at most (45), and the moments, |F'| and |F''| at most e^{rightΔ²/64} times (42), (39) and (40) as printed.

    The factor is what rounding t to quarters costs at most where the best t is not an end of its range.
    """
    square = 4 / sigma**2
    assert curvature_bound(sigma, p, order, right) <= 2 * square**2 * order * (4 * order**2 + 5 * order + 4)
    first, second = first_derivative_polynomial(order), second_derivative_polynomial(order)
    bounds = mixed_moment_bounds(sigma, p, order, [*second], right, prec=64)
    derivatives = derivative_bounds(sigma, p, order, right, prec=64)
    with working_precision(64):
        printed = printed_bound(sigma, p, order, second, right)
        slack = ball(right * square / 64).exp()
        for power, value in printed.items():
            assert not bounds[power] > slack * value
        for degree, polynomial, bound in zip((1, 2), (first, second), derivatives, strict=True):
            scale = slack * ball(square**degree * order * (order - 1))
            assert not bound > scale * sum((abs(c) * printed[power] for power, c in polynomial.items()), arb(0))


def test_curvature_is_monotone_in_the_interval() -> None:
    """A longer interval has the larger bound."""
    bounds = [curvature_bound(Fraction(2), Fraction(1, 100), 5, Fraction(k, 16)) for k in range(1, 9)]
    assert bounds == sorted(bounds)


def test_bound_is_useful_for_small_sampling_probabilities() -> None:
    """At p = 1e−3 the local bound is far below the uniform one."""
    local = curvature_bound(Fraction(2), Fraction(1, 1000), 5, Fraction(1, 2))
    assert local * 1000 < curvature_bound_uniform(Fraction(2), 5)
    assert upper_end(ball(local)) > 0


def test_moments_below_their_bounds_at_zero() -> None:
    """At u = 0 as well, where exponents that fall with u are largest, for p on both sides of 1/2."""
    for p in (Fraction(k, 20) for k in range(1, 20)):
        for sigma, order in ((Fraction(1, 2), 2), (Fraction(1), 3), (Fraction(3), 6)):
            powers = [(0, 0), (0, 1), (1, 0), *all_powers(order)]
            bounds = mixed_moment_bounds(sigma, p, order, powers, Fraction(1, 2), prec=80)
            moments = mixed_moment_balls(theorem_gram(sigma, Fraction(0)), p, order, powers, prec=60)
            for power, moment in zip(powers, moments, strict=True):
                assert lower_end(moment) <= upper_end(bounds[power])
