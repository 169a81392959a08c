"""Outward rounding: every printed or float bound lies on the safe side of the exact one."""

import math
import threading
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from certified_dp import PrecisionExhaustedError, UndecidedComparisonError
from certified_dp.enclosure import (
    ball,
    certainly_less,
    decimal_lower,
    decimal_upper,
    float_lower,
    float_upper,
    lower_end,
    refine,
    upper_end,
    working_precision,
)

rationals = st.fractions(max_denominator=10**12) | st.builds(
    lambda m, e: Fraction(m) * Fraction(10) ** e, st.integers(-(10**9), 10**9), st.integers(-320, 320)
)


@given(rationals, st.integers(1, 20))
def test_decimals_enclose_and_are_tight(x: Fraction, digits: int) -> None:
    """The two prints enclose the value, at most one unit of the last digit apart."""
    lower, upper = Fraction(decimal_lower(x, digits)), Fraction(decimal_upper(x, digits))
    assert lower <= x <= upper
    assert upper - lower <= abs(x) * Fraction(10) ** (1 - digits)


@given(rationals)
def test_floats_enclose_and_are_neighbours(x: Fraction) -> None:
    """float_lower ≤ x ≤ float_upper, with no float strictly between."""
    lower, upper = float_lower(x), float_upper(x)
    assert lower <= upper
    assert math.isinf(lower) or Fraction(lower) <= x
    assert math.isinf(upper) or x <= Fraction(upper)
    assert math.nextafter(lower, math.inf) >= upper


def test_float_upper_beyond_the_largest_float() -> None:
    """There is no finite float above 10^400, and the one below it is the largest."""
    assert float_upper(Fraction(10**400)) == math.inf
    assert Fraction(float_lower(Fraction(10**400))) < 10**400


@given(rationals, st.integers(10, 200))
def test_ball_ends_enclose(x: Fraction, prec: int) -> None:
    """A ball made of a rational has it between its exact end points, at any precision."""
    with working_precision(prec):
        enclosure = ball(x)
        assert lower_end(enclosure) <= x <= upper_end(enclosure)


def test_comparison_of_overlapping_balls_raises() -> None:
    """An order that the balls do not settle is refused, never guessed."""
    with working_precision(30), pytest.raises(UndecidedComparisonError):
        certainly_less(ball(Fraction(1, 3)), ball(Fraction(1, 3)))


@pytest.mark.parametrize("value", [arb.nan(), arb.pos_inf(), arb(1) / arb(0)])
def test_non_finite_is_refused(value: arb) -> None:
    """No end point is read off a ball that is not finite."""
    with pytest.raises(PrecisionExhaustedError):
        upper_end(value)


def test_refine_gives_up_with_a_reason() -> None:
    """An accuracy that cannot be reached raises, with the name of what was computed."""
    with pytest.raises(PrecisionExhaustedError, match="the thing: accuracy not reached at 256 bits"):
        refine(lambda prec: arb(1), lambda value: False, prec=64, what="the thing", max_prec=256)


def test_precision_is_restored_also_after_an_error() -> None:
    """The caller's precision survives normal and exceptional exits."""
    before = ctx.prec
    with pytest.raises(ValueError, match="inside"), working_precision(1234):
        raise ValueError("inside")
    assert ctx.prec == before


def test_blocks_of_two_threads_do_not_mix() -> None:
    """While one thread is inside a block, another thread's block waits."""
    seen: list[int] = []
    started = threading.Event()

    def other() -> None:
        started.set()
        with working_precision(99):
            seen.append(ctx.prec)

    with working_precision(77):
        thread = threading.Thread(target=other)
        thread.start()
        started.wait()
        seen.append(ctx.prec)
        assert seen == [77]
    thread.join()
    assert seen == [77, 99]
