"""F(u): two quadratures against each other, against the closed forms, and against mpmath at 50 digits."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.divergence.moments import (
    mixed_moment_balls,
    moment_at_zero_ball,
    moment_gram_ball,
    moment_reference_ball,
    moment_trapezoid_ball,
    theorem_gram,
)
from certified_dp.enclosure import ball, lower_end, relative_accuracy_bits, upper_end, working_precision
from certified_dp.errors import InvalidParameterError, PrecisionExhaustedError

probabilities = st.fractions(Fraction(1, 10**6), Fraction(99, 100), max_denominator=10**6)
noise_multipliers = st.fractions(Fraction(3, 10), 20, max_denominator=1000)
orders = st.integers(2, 256)
points = st.fractions(0, Fraction(1, 2), max_denominator=10**6)


def mpmath_gram_moment(
    A: Fraction, B: Fraction, c: Fraction, p: Fraction, order: int, monomial: tuple[int, int] = (0, 0)
) -> Fraction:
    """E[v^i w^j h] at 50 digits, from the Gaussian-shift identity (a formula the package does not use)."""
    i, j = monomial
    with mpmath.workdps(50):
        a, b, cc, pp = (mpmath.mpf(x.numerator) / x.denominator for x in (A, B, c, p))
        q, root = 1 - pp, mpmath.sqrt(b)

        def integrand(v: mpmath.mpf, k: int) -> mpmath.mpf:
            above = pp * mpmath.exp(root * v - b / 2 + k * cc)
            return above**j * (q + above) ** (1 - order - j) * mpmath.npdf(v)

        total = mpmath.mpf(0)
        for k in range(i, order + 1):
            weight = math.comb(order - i, k - i) * q ** (order - k) * pp**k * mpmath.exp(k * (k - 1) * a / 2)
            edges = [mpmath.mpf(x) for x in range(-60, 61, 4)]
            total += weight * mpmath.quad(lambda v, k=k: integrand(v, k), edges)
        return Fraction(str(total))


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, orders, points)
def test_the_two_quadratures_overlap(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """Trapezoidal rule and certified adaptive integration enclose the same F(u), both tightly."""
    fast = moment_trapezoid_ball(sigma, p, order, u, prec=64)
    reference = moment_reference_ball(sigma, p, order, u, prec=64)
    assert fast.overlaps(reference)
    assert relative_accuracy_bits(fast) > 55
    assert relative_accuracy_bits(reference) > 45


@settings(max_examples=100, deadline=None)
@given(noise_multipliers, probabilities, orders, points)
def test_two_precisions_overlap(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """More precision gives a ball that meets the first one, and F ≥ 1 is never contradicted."""
    coarse, fine = (moment_trapezoid_ball(sigma, p, order, u, prec=prec) for prec in (30, 150))
    assert coarse.overlaps(fine)
    assert upper_end(fine.log()) >= 0
    assert relative_accuracy_bits(fine) > 140


@settings(max_examples=60, deadline=None)
@given(noise_multipliers, probabilities, orders)
def test_at_zero_the_closed_form_and_both_quadratures_agree(sigma: Fraction, p: Fraction, order: int) -> None:
    """F(0) from its recurrence, from the degenerate trapezoidal case, and from small u by continuity."""
    excess = moment_at_zero_ball(sigma, p, order, prec=64)
    assert relative_accuracy_bits(excess) > 60
    with working_precision(64):
        closed = 1 + excess
    assert closed.overlaps(moment_trapezoid_ball(sigma, p, order, Fraction(0), prec=64))
    assert closed.overlaps(moment_trapezoid_ball(sigma, p, order, Fraction(1, 10**60), prec=64))


def test_the_reference_quadrature_covers_zero_too() -> None:
    """At u = 0 the adaptive integration meets the closed form."""
    reference = moment_reference_ball(Fraction(2), Fraction(1, 100), 7, Fraction(0), prec=80)
    assert reference.overlaps(1 + moment_at_zero_ball(Fraction(2), Fraction(1, 100), 7, prec=80))


@pytest.mark.parametrize(
    ("sigma", "p", "order", "u"),
    [("2", "1/100", 5, "1/2"), ("1", "1/25", 3, "1/7"), ("5/2", "9/10", 4, "1/3"), ("8", "1/1000000", 6, "1/2")],
)
def test_against_mpmath(sigma: str, p: str, order: int, u: str) -> None:
    """The ball contains a 50-digit value from another formula and another library."""
    truth = mpmath_gram_moment(*theorem_gram(Fraction(sigma), Fraction(u)), Fraction(p), order)
    value = moment_trapezoid_ball(Fraction(sigma), Fraction(p), order, Fraction(u), prec=80)
    assert lower_end(value) <= truth <= upper_end(value)


def test_general_gram_form_against_mpmath() -> None:
    """Also for correlations that the theorem does not use: negative, zero, and B > A."""
    p = Fraction(1, 10)
    for A, B, c in [("1", "2", "-1"), ("1/2", "1/3", "0"), ("1", "1/4", "1/2")]:
        gram = Fraction(A), Fraction(B), Fraction(c)
        value = moment_gram_ball(*gram, p, 4, prec=70)
        assert lower_end(value) <= mpmath_gram_moment(*gram, p, 4) <= upper_end(value)


@settings(max_examples=30, deadline=None)
@given(noise_multipliers, probabilities, orders, points)
def test_general_gram_form_is_the_theorem_at_its_point(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """At (A, B, c) = Δ²(1, 2u, u) the Gram form meets the theorem's own quadrature."""
    square = 4 / sigma**2
    value = moment_gram_ball(square, 2 * u * square, u * square, p, order, prec=60)
    assert value.overlaps(moment_reference_ball(sigma, p, order, u, prec=40))


@pytest.mark.parametrize("monomial", [(0, 2), (1, 1), (2, 1), (1, 3), (0, 4), (2, 2)])
def test_mixed_moments_against_mpmath(monomial: tuple[int, int]) -> None:
    """E[v^i w^j h] contains a 50-digit value."""
    gram, p = theorem_gram(Fraction(3, 2), Fraction(1, 3)), Fraction(1, 20)
    value = mixed_moment_balls(gram, p, 4, [monomial], prec=70)[0]
    assert lower_end(value) <= mpmath_gram_moment(*gram, p, 4, monomial) <= upper_end(value)


def test_tiny_sampling_probabilities_keep_the_logarithm() -> None:
    """At p = 1e−12 and precision 120, log F(1/2) has 30 correct bits and meets α(e^{Δ²} − e^{Δ²/2})p² (31)."""
    p, order = Fraction(1, 10**12), 10
    moment = moment_trapezoid_ball(Fraction(2), p, order, Fraction(1, 2), prec=120)
    with working_precision(150):
        logarithm = moment.log()
        leading = order * (order - 1) * (ball(Fraction(1)).exp() - ball(Fraction(1, 2)).exp()) * ball(p) ** 2
        assert relative_accuracy_bits(logarithm) > 30
        assert abs(logarithm / leading - 1) < ball(Fraction(1, 10**6))


def test_large_orders_and_extreme_noise() -> None:
    """Thousands of orders, tiny and huge noise: finite and accurate; where nothing fits a ball, refused."""
    for sigma, p, order in [(20, "1/1000000", 2760), (300, "1/100", 4000)]:
        value = moment_trapezoid_ball(Fraction(sigma), Fraction(p), order, Fraction(1, 2), prec=64)
        assert relative_accuracy_bits(value) > 55
    assert moment_at_zero_ball(Fraction(1, 10), Fraction(1, 100), 3000, prec=64).is_finite()
    with pytest.raises(PrecisionExhaustedError):
        moment_at_zero_ball(Fraction(1, 10**400), Fraction(1, 100), 3, prec=64)
    with pytest.raises(PrecisionExhaustedError):
        moment_trapezoid_ball(Fraction(1, 10**400), Fraction(1, 100), 3, Fraction(1, 2), prec=64)


def test_impossible_covariances_are_refused() -> None:
    """c² > AB is not a covariance matrix."""
    with pytest.raises(InvalidParameterError):
        moment_gram_ball(Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), 3, prec=53)
