"""The single pair's Rényi divergence: closed form and integral against each other and against mpmath."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp.divergence.moments import moment_at_zero_ball
from certified_dp.divergence.single_pair import moment_real_order_ball, rdp_single_pair_ball
from certified_dp.enclosure import lower_end, relative_accuracy_bits, upper_end

probabilities = st.fractions(Fraction(1, 10**6), Fraction(99, 100), max_denominator=10**6)
noise_multipliers = st.fractions(Fraction(3, 10), 20, max_denominator=1000)


@settings(max_examples=60)
@given(noise_multipliers, probabilities, st.integers(2, 256))
def test_integral_and_sum_overlap_at_integer_orders(sigma: Fraction, p: Fraction, order: int) -> None:
    """The trapezoidal rule and the closed form enclose the same moment."""
    integral = moment_real_order_ball(sigma, p, Fraction(order), prec=80)
    assert integral.overlaps(1 + moment_at_zero_ball(sigma, p, order, prec=80))
    assert relative_accuracy_bits(integral) > 50


@settings(max_examples=40)
@given(noise_multipliers, probabilities, st.fractions(Fraction(1001, 1000), 60, max_denominator=1000))
def test_two_precisions_overlap(sigma: Fraction, p: Fraction, order: Fraction) -> None:
    """More precision gives a ball that meets the first one."""
    assert moment_real_order_ball(sigma, p, order, prec=60).overlaps(moment_real_order_ball(sigma, p, order, prec=150))


@pytest.mark.parametrize(
    ("sigma", "p", "order"),
    [
        ("1", "1/5", "1.217"),
        ("4/5", "1/8", "1.152"),
        ("2", "1/100", "4.77"),
        ("1/5", "1/100", "1.3"),
        ("20", "1/2", "49.8"),
    ],
)
def test_against_mpmath(sigma: str, p: str, order: str) -> None:
    """A 50-digit quadrature by another library and method lies in the ball."""
    s, probability, alpha = Fraction(sigma), Fraction(p), Fraction(order)
    with mpmath.workdps(50):
        delta = 2 / (mpmath.mpf(s.numerator) / s.denominator)
        pm, am = (
            mpmath.mpf(probability.numerator) / probability.denominator,
            mpmath.mpf(alpha.numerator) / alpha.denominator,
        )

        def integrand(z: mpmath.mpf) -> mpmath.mpf:
            return (1 - pm + pm * mpmath.exp(delta * z - delta**2 / 2)) ** am * mpmath.npdf(z)

        end = am * delta + 15
        value = mpmath.quad(integrand, mpmath.linspace(-15, end, 41)) * 10**40
        scaled = Fraction(int(mpmath.nint(value)), 10**40)
    moment = moment_real_order_ball(s, probability, alpha, prec=100)
    assert lower_end(moment) - Fraction(1, 10**20) <= scaled <= upper_end(moment) + Fraction(1, 10**20)


def test_tiny_probability_is_not_lost() -> None:
    """At p = 1e-12 the divergence is 5.36e-23, not 0."""
    value = rdp_single_pair_ball(Fraction(1), Fraction(1, 10**12), Fraction(2), prec=100)
    # ρ(2) = log(1 + p²(e^{Δ²} − 1)) with Δ = 2
    with mpmath.workdps(60):
        exact = mpmath.log1p(mpmath.mpf(10) ** -24 * mpmath.expm1(4)) * mpmath.mpf(10) ** 60
        truth = Fraction(int(exact), 10**60)
    assert lower_end(value) <= truth <= upper_end(value) + Fraction(1, 10**60)


@pytest.mark.parametrize("order", [1023, 1025, 4000])
def test_orders_around_the_switch_of_formula(order: int) -> None:
    """Where the integral takes over from the sum, both still agree."""
    sigma, p = Fraction(30), Fraction(1, 50)
    by_sum = moment_at_zero_ball(sigma, p, order, prec=90).log1p() / (order - 1)
    assert rdp_single_pair_ball(sigma, p, Fraction(order), prec=90).overlaps(by_sum)
