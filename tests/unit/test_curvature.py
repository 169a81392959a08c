"""Curvature bounds: above the moments, the derivatives and J'' that they bound, and never above the paper's."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.divergence.curvature import (
    curvature_bound,
    curvature_bound_uniform,
    derivative_bounds,
    mixed_moment_bound,
)
from certified_dp.divergence.derivatives import (
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
    """(42) at the right end bounds E[v^i w^j h] at every u up to it."""
    powers = all_powers(order)
    moments = mixed_moment_balls(theorem_gram(sigma, share * right), p, order, powers, prec=50)
    with working_precision(80):
        for (i, j), moment in zip(powers, moments, strict=True):
            assert not moment > mixed_moment_bound(sigma, p, order, i, j, right, prec=80).upper()


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


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, orders, rights)
def test_never_looser_than_the_paper(sigma: Fraction, p: Fraction, order: int, right: Fraction) -> None:
    """κ is at most κ₂ of (45) as printed, and |F'|, |F''| at most (39), (40) as printed."""
    square = 4 / sigma**2
    assert curvature_bound(sigma, p, order, right) <= 2 * square**2 * order * (4 * order**2 + 5 * order + 4)
    with working_precision(64):
        for power, polynomial, bound in zip(
            (1, 2),
            (first_derivative_polynomial(order), second_derivative_polynomial(order)),
            derivative_bounds(sigma, p, order, right, prec=64),
            strict=True,
        ):
            printed = ball(square**power * order * (order - 1)) * sum(
                (
                    abs(c) * mixed_moment_bound(sigma, p, order, i, j, right, prec=64)
                    for (i, j), c in polynomial.items()
                ),
                ball(0),
            )
            assert not bound > printed


def test_curvature_is_monotone_in_the_interval() -> None:
    """A longer interval has the larger bound."""
    bounds = [curvature_bound(Fraction(2), Fraction(1, 100), 5, Fraction(k, 16)) for k in range(1, 9)]
    assert bounds == sorted(bounds)


def test_bound_is_useful_for_small_sampling_probabilities() -> None:
    """At p = 1e−3 the local bound is far below the uniform one."""
    local = curvature_bound(Fraction(2), Fraction(1, 1000), 5, Fraction(1, 2))
    assert local * 1000 < curvature_bound_uniform(Fraction(2), 5)
    assert upper_end(ball(local)) > 0
