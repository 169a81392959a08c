"""Birrell et al.'s bound: the formula in mpmath, domination, the search over orders."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certified_dp import DPSGD, epsilon
from certified_dp.divergence.birrell import EXPANSION_ORDERS, rdp_birrell_ball, rdp_birrell_expansion_ball
from certified_dp.divergence.theorem1 import rdp_theorem1
from certified_dp.enclosure import lower_end, relative_accuracy_bits, upper_end
from certified_dp.orders import best_integer_order, scan_integer_orders


def formula(sigma: Fraction, p: Fraction, a: int, m: int) -> mpmath.mpf:
    """Evaluate spec, section 4, term by term as printed, with no recurrence."""
    D2, pm = (mpmath.mpf(x.numerator) / x.denominator for x in (4 / sigma**2, p))
    q = 1 - pm

    def raw(k: int) -> mpmath.mpf:
        if k == 0:
            return mpmath.mpf(1)
        total = sum((-1) ** (k - i) * math.comb(k, i) * mpmath.exp(i * (i - 1) * D2 / 2) for i in range(2, k + 1))
        return total + (-1) ** (k - 1) * (k - 1)

    def bound(k: int) -> mpmath.mpf:
        return raw(k) if k % 2 == 0 else mpmath.sqrt(raw(k - 1) * raw(k + 1))

    def product(factors: list[mpmath.mpf]) -> mpmath.mpf:
        result = mpmath.mpf(1)
        for factor in factors:
            result *= factor
        return result

    one = mpmath.mpf(1)
    total = 1 + a * (a - 1) * (mpmath.exp(D2) - mpmath.exp(D2 / 2)) * pm**2
    for k in range(3, m):
        inner = sum(
            math.comb(k, j)
            * abs(
                one
                * a
                / (a - 1)
                * product([1 - one * i / a for i in range(1, j)])
                * product([1 + one * (i - 1) / a for i in range(k - j)])
                - 1
            )
            for j in range(k + 1)
        )
        total += pm**k / math.factorial(k) * (a - 1) * a ** (k - 1) * bound(k) * ((3 if k % 2 else 4) + inner)
    for j in range(min(m, a) + 1):
        if a <= j:
            moment = q ** (a - j) * bound(m)
        else:
            moment = bound(m) + sum(
                pm**i * bound(i + m) * product([one * (a - j - s) / (m + i - s) for s in range(i)])
                for i in range(a - j + 1)
            )
        total += (
            pm**m
            / math.factorial(m)
            * q ** -(a + m - j - 1)
            * math.comb(m, j)
            * product([abs(one * (a - i)) for i in range(j)])
            * product([one * (a + i - 1) for i in range(m - j)])
            * moment
        )
    return mpmath.log(total) / (a - 1)


@pytest.mark.parametrize("m", EXPANSION_ORDERS)
@pytest.mark.parametrize(
    ("sigma", "p", "order"),
    [("2", "1/100", 5), ("20", "1/2", 30), ("1/2", "1/400", 2), ("3", "1/25", 3), ("8", "1/25", 4)],
)
def test_against_mpmath(sigma: str, p: str, order: int, m: int) -> None:
    """The formula as printed, in 400 digits, lies in the ball to 55 digits."""
    with mpmath.workdps(400):
        sign, mantissa, exponent, _ = formula(Fraction(sigma), Fraction(p), order, m)._mpf_
    value = (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    ball = rdp_birrell_expansion_ball(Fraction(sigma), Fraction(p), order, m, prec=256)
    assert lower_end(ball) <= value * (1 + Fraction(1, 10**55))
    assert value * (1 - Fraction(1, 10**55)) <= upper_end(ball)
    assert relative_accuracy_bits(ball) >= 240


@settings(max_examples=40)
@given(
    st.fractions(Fraction(2, 5), 40, max_denominator=1000),
    st.fractions(Fraction(1, 10**6), Fraction(9, 10), max_denominator=10**6),
    st.integers(2, 40),
)
def test_above_the_papers_bound(sigma: Fraction, p: Fraction, order: int) -> None:
    """theorem1 ≤ birrell, certified, at every order and expansion order tried."""
    for m in EXPANSION_ORDERS:
        earlier = lower_end(rdp_birrell_expansion_ball(sigma, p, order, m, prec=128))
        assert rdp_theorem1(sigma, p, order, accuracy=earlier / 10**8).upper <= earlier


def test_smallest_over_expansion_orders() -> None:
    """The ball meets the smallest of the three and is certainly above none; two precisions overlap."""
    for sigma, p, order in [("2", "1/400", 5), ("8", "1/25", 64), ("20", "1/25", 256)]:
        setting = Fraction(sigma), Fraction(p), order
        least = rdp_birrell_ball(*setting, prec=64)
        for m in EXPANSION_ORDERS:
            assert lower_end(least) <= upper_end(rdp_birrell_expansion_ball(*setting, m, prec=64))
        assert any(least.overlaps(rdp_birrell_expansion_ball(*setting, m, prec=64)) for m in EXPANSION_ORDERS)
        assert least.overlaps(rdp_birrell_ball(*setting, prec=200))


def test_order_search_where_the_objective_has_two_minima() -> None:
    """ε(α) is not quasiconvex here (minima at 9 and 28): the scan over orders finds the lower one."""
    run = DPSGD(sampling_probability=Fraction(823, 5000), noise_multiplier="6.623", steps=5)
    answer = epsilon(run, "2.522064887470286e-7", method="birrell")
    assert answer.order == 9
    others = [epsilon(run, "2.522064887470286e-7", method="birrell", max_order=order).upper for order in (8, 256, 2000)]
    assert all(answer.upper <= other for other in others)


def test_scan_of_orders_keeps_its_limits() -> None:
    """The scan respects max_order, goes on past 256, and agrees with the bracketing search where that suffices."""
    for best in (2, 3, 100, 256, 257, 700, 1501):

        def objective(order: int, best: int = best) -> float:
            return abs(math.log(order / best))

        assert scan_integer_orders(objective) == best == best_integer_order(objective)
        assert scan_integer_orders(objective, 60) == min(best, 60)
