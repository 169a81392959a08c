"""Wang, Balle and Kasiviswanathan's bound: forward differences against mpmath, the formula, domination."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp import DPSGD, rdp
from certified_dp.divergence.forward_differences import MAX_ORDER, absolute_moment_bounds
from certified_dp.divergence.single_pair import rdp_single_pair_ball
from certified_dp.divergence.theorem1 import rdp_theorem1
from certified_dp.divergence.wang import rdp_wang_ball
from certified_dp.enclosure import lower_end, relative_accuracy_bits, upper_end
from certified_dp.errors import InvalidParameterError, ResourceLimitError


def decimal_digits(value: mpmath.mpf, digits: int = 55) -> tuple[Fraction, Fraction]:
    """Return an interval around a value that is right to ``digits`` digits."""
    sign, mantissa, exponent, _ = value._mpf_
    middle = (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return middle * (1 - Fraction(1, 10**digits)), middle * (1 + Fraction(1, 10**digits))


def exact_moments(sigma: Fraction, largest: int) -> list[mpmath.mpf]:
    """Compute M_k by alternating sums, at a precision that outlasts the cancellation (call with ample digits)."""
    square = mpmath.mpf(4 * sigma.denominator**2) / sigma.numerator**2
    moments = [mpmath.exp(l * (l - 1) * square / 2) for l in range(largest + 1)]  # noqa: E741
    return [
        sum((-1) ** (k - i) * math.comb(k, i) * moments[i] for i in range(k + 1)) if k else mpmath.mpf(1)
        for k in range(largest + 1)
    ]


@pytest.mark.parametrize("sigma", ["1/2", "2", "20", "1000"])
def test_moments_against_mpmath(sigma: str) -> None:
    """Even and odd B_k agree with 600-digit alternating sums to 55 digits, and have the accuracy asked for."""
    s = Fraction(sigma)
    bounds = absolute_moment_bounds(s, 64, prec=256)
    with mpmath.workdps(600):
        moments = exact_moments(s, 66)
        for k in range(65):
            value = moments[k] if k % 2 == 0 else mpmath.sqrt(moments[k - 1] * moments[k + 1])
            low, high = decimal_digits(value)
            assert lower_end(bounds[k]) <= high
            assert low <= upper_end(bounds[k])
            assert relative_accuracy_bits(bounds[k]) >= 240


def test_doubles_are_wrong_where_balls_are_right() -> None:
    """At σ = 20 the 30th difference is negative in doubles; the certified one is not."""
    doubles = [math.exp(l * (l - 1) / 200) for l in range(31)]  # noqa: E741
    while len(doubles) > 1:
        doubles = [right - left for left, right in pairwise(doubles)]
    assert doubles[0] < 0
    assert lower_end(absolute_moment_bounds(Fraction(20), 30, prec=64)[30]) > 0


@pytest.mark.parametrize(("sigma", "p", "order"), [("2", "1/100", 5), ("20", "1/2", 60), ("1/2", "1/400", 2)])
def test_against_mpmath(sigma: str, p: str, order: int) -> None:
    """The formula in 600 digits, with binomials instead of recurrences, lies in the ball to 55 digits."""
    s, probability = Fraction(sigma), Fraction(p)
    with mpmath.workdps(600):
        moments = exact_moments(s, order + 1)
        square = mpmath.mpf(4 * s.denominator**2) / s.numerator**2
        pm = mpmath.mpf(probability.numerator) / probability.denominator
        total = mpmath.mpf(1)
        for i in range(2, order + 1):
            bound = moments[i] if i % 2 == 0 else mpmath.sqrt(moments[i - 1] * moments[i + 1])
            total += math.comb(order, i) * pm**i * min(4 * bound, 2 * mpmath.exp(i * (i - 1) * square / 2))
        low, high = decimal_digits(mpmath.log(total) / (order - 1))
    ball = rdp_wang_ball(s, probability, order, prec=256)
    assert lower_end(ball) <= high
    assert low <= upper_end(ball)
    assert relative_accuracy_bits(ball) >= 240


@settings(max_examples=50)
@given(
    st.fractions(Fraction(2, 5), 40, max_denominator=1000),
    st.fractions(Fraction(1, 10**6), Fraction(9, 10), max_denominator=10**6),
    st.integers(2, 40),
)
def test_above_the_sharper_bounds(sigma: Fraction, p: Fraction, order: int) -> None:
    """single_pair ≤ theorem1 ≤ wang, certified, at every order tried."""
    earlier = lower_end(rdp_wang_ball(sigma, p, order, prec=128))
    paper = rdp_theorem1(sigma, p, order, accuracy=earlier / 10**4)
    assert paper.upper <= earlier
    assert lower_end(rdp_single_pair_ball(sigma, p, Fraction(order), prec=128)) <= paper.upper


def test_two_precisions_overlap() -> None:
    """More precision gives a ball that meets the first one."""
    for order in (2, 9, 200):
        coarse, fine = (rdp_wang_ball(Fraction(7), Fraction(1, 50), order, prec=prec) for prec in (40, 300))
        assert coarse.overlaps(fine)


def test_refusals() -> None:
    """Real orders and orders beyond the table of differences are refused."""
    run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=10)
    with pytest.raises(InvalidParameterError, match="order"):
        rdp(run, "2.5", method="wang")
    with pytest.raises(ResourceLimitError):
        rdp(run, MAX_ORDER + 10, method="wang")
