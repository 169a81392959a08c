"""Balls in, outward-rounded numbers out: the only module that touches ``flint.ctx``, floats and printing.

Everything else computes with ``arb`` balls inside `working_precision` and reads results through the exact
end points `lower_end` and `upper_end`, because python-flint's own ``str`` and ``float`` round to nearest.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeVar

from flint import arb, ctx, fmpq

from certified_dp.errors import PrecisionExhaustedError, UndecidedComparisonError

#: Largest precision, in bits, that `refine` tries before it gives up.
MAX_PREC = 1 << 15
#: Largest binary exponent that is turned into an exact Fraction (a guard against gigabyte integers).
_MAX_EXPONENT = 1 << 22

_lock = threading.RLock()
_T = TypeVar("_T")


@contextmanager
def working_precision(prec: int) -> Iterator[None]:
    """Run the block at ``prec`` bits and restore the caller's precision afterwards.

    ``flint.ctx`` is shared by all threads, so one lock serialises every block.

    >>> with working_precision(64):
    ...     ctx.prec
    64
    """
    with _lock:
        before = ctx.prec
        ctx.prec = prec
        try:
            yield
        finally:
            ctx.prec = before


def to_fmpq(value: int | Fraction) -> fmpq:
    """Convert an exact rational to flint's.

    >>> to_fmpq(Fraction(1, 3))
    1/3
    """
    return fmpq(value.numerator, value.denominator)


def ball(value: int | Fraction) -> arb:
    """Enclose an exact rational at the current precision.

    >>> lower_end(ball(Fraction(1, 3))) <= Fraction(1, 3) <= upper_end(ball(Fraction(1, 3)))
    True
    """
    return arb(to_fmpq(value))


def hull_ball(lower: Fraction, upper: Fraction) -> arb:
    """Enclose the interval [lower, upper] at the current precision."""
    return ball(lower).union(ball(upper))


def finite(value: arb, what: str) -> arb:
    """Return ``value``, or raise PrecisionExhaustedError when it is not finite."""
    if not value.is_finite():
        raise PrecisionExhaustedError(f"{what} is not finite at {ctx.prec} bits")
    return value


def _dyadic(exact: arb) -> Fraction:
    mantissa, exponent = (int(part) for part in exact.man_exp())
    if mantissa and abs(exponent) > _MAX_EXPONENT:
        raise PrecisionExhaustedError(f"a number with binary exponent {exponent} is too extreme to read off exactly")
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def upper_end(value: arb) -> Fraction:
    """Return the exact upper end point mid + rad of a finite ball.

    >>> upper_end(arb(3) / 2)
    Fraction(3, 2)
    """
    finite(value, "a bound")
    return _dyadic(value.mid()) + _dyadic(value.rad())


def lower_end(value: arb) -> Fraction:
    """Return the exact lower end point mid − rad of a finite ball.

    >>> lower_end(arb(3) / 2)
    Fraction(3, 2)
    """
    finite(value, "a bound")
    return _dyadic(value.mid()) - _dyadic(value.rad())


def upper_ball(value: arb) -> arb:
    """Return an exact ball that is at least every point of ``value`` (its upper end, rounded up)."""
    return finite(value, "a bound").upper()


def lower_ball(value: arb) -> arb:
    """Return an exact ball that is at most every point of ``value`` (its lower end, rounded down)."""
    return finite(value, "a bound").lower()


def certainly_less(x: arb, y: arb) -> bool:
    """Return whether x < y at every pair of points of the balls, or raise when they do not settle it.

    >>> certainly_less(arb(1), arb(2)), certainly_less(arb(2), arb(2))
    (True, False)
    """
    if x < y:
        return True
    if x >= y:
        return False
    raise UndecidedComparisonError(f"balls overlap at {ctx.prec} bits: {x.str(10)} and {y.str(10)}")


def relative_accuracy_bits(value: arb) -> int:
    """Return how many bits of a finite ball are certain, relative to its size (negative: none)."""
    return int(finite(value, "a value").rel_accuracy_bits())


def refine(
    evaluate: Callable[[int], _T], accept: Callable[[_T], bool], *, prec: int, what: str, max_prec: int = MAX_PREC
) -> _T:
    """Evaluate at doubling precisions until ``accept`` holds.

    ``evaluate`` receives the precision and runs inside `working_precision`; a non-finite or undecided
    intermediate result counts as not accepted.

    Raises:
        PrecisionExhaustedError: ``max_prec`` was reached first.

    >>> refine(lambda prec: arb(2).sqrt(), lambda x: x.rel_accuracy_bits() > 100, prec=53, what="sqrt(2)").bits() > 100
    True
    """
    reason = ""
    while prec <= max_prec:
        with working_precision(prec):
            try:
                value = evaluate(prec)
                if accept(value):
                    return value
            except (PrecisionExhaustedError, UndecidedComparisonError) as error:
                reason = f" ({error})"
        prec *= 2
    raise PrecisionExhaustedError(f"{what}: accuracy not reached at {max_prec} bits{reason}")


def _decimal_exponent(value: Fraction) -> int:
    """Return e with 10^e ≤ value < 10^(e+1), for value > 0."""
    exponent = math.floor((value.numerator.bit_length() - value.denominator.bit_length()) * math.log10(2)) - 1
    while value >= Fraction(10) ** (exponent + 1):
        exponent += 1
    return exponent


def _decimal(value: Fraction, digits: int, *, up: bool) -> tuple[int, int]:
    """Round to ``digits`` significant digits in one direction: value ≈ mantissa·10^exponent."""
    if value == 0:
        return 0, 0
    exponent = _decimal_exponent(abs(value)) - digits + 1
    scaled = value / Fraction(10) ** exponent
    mantissa = math.ceil(scaled) if up else math.floor(scaled)
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


def _format(mantissa: int, exponent: int) -> str:
    sign, text = ("-" if mantissa < 0 else ""), str(abs(mantissa))
    point = len(text) + exponent
    if -4 < point <= 16:
        if exponent >= 0:
            return sign + text + "0" * exponent
        if point > 0:
            return f"{sign}{text[:point]}.{text[point:]}"
        return f"{sign}0.{'0' * -point}{text}"
    return f"{sign}{text[0]}{'.' + text[1:] if len(text) > 1 else ''}e{point - 1:+03d}"


def decimal_upper(value: Fraction, digits: int = 6) -> str:
    """Print an upper bound: the smallest decimal with ``digits`` significant digits that is ≥ value.

    >>> decimal_upper(Fraction(1, 3), 4), decimal_upper(Fraction(-1, 3), 4), decimal_upper(Fraction(1, 10**30), 3)
    ('0.3334', '-0.3333', '1e-30')
    """
    return _format(*_decimal(value, digits, up=True))


def decimal_lower(value: Fraction, digits: int = 6) -> str:
    """Print a lower bound: the largest decimal with ``digits`` significant digits that is ≤ value.

    >>> decimal_lower(Fraction(1, 3), 4), decimal_lower(Fraction(2, 3), 4)
    ('0.3333', '0.6666')
    """
    return _format(*_decimal(value, digits, up=False))


def float_upper(value: Fraction) -> float:
    """Return the smallest float that is ≥ value (inf when there is none).

    >>> Fraction(float_upper(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_lower(value: Fraction) -> float:
    """Return the largest float that is ≤ value (−inf when there is none).

    >>> Fraction(float_lower(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    return -float_upper(-value)


def float_estimate(value: arb) -> float:
    """Return a nearby float, for searches only: nothing is promised about it."""
    return float(value.mid())
