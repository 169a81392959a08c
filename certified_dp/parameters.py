"""Exact inputs: everything a user types becomes a Fraction once, here, or is refused with one clear line."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeAlias

from certified_dp.errors import InvalidParameterError

#: What is accepted as a number: int, Fraction, Decimal, decimal string (or "1/3"), float, numpy scalars.
Number: TypeAlias = int | float | str | Fraction | Decimal | Rational | Real

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,5})?\s*|\s*[+-]?\d+/\d+\s*", re.ASCII)
_MAX_CHARACTERS = 4000
_MAX_BITS = 13_000  # Python prints integers of up to 4300 digits
_MAX_EXPONENT = 3000


def exact(name: str, value: Number, allowed: str = "a number") -> Fraction:
    """Read a number exactly; a float is read as the decimal that it prints as.

    Raises:
        InvalidParameterError: bool, NaN, ±inf, not a number, or more than about 3,900 digits.

    >>> exact("p", 0.01), exact("p", "1e-3"), exact("p", "1/3")
    (Fraction(1, 100), Fraction(1, 1000), Fraction(1, 3))
    """
    if isinstance(value, bool) or type(value).__name__ in {"bool", "bool_"}:
        raise InvalidParameterError(name, value, f"{allowed}, not a bool")
    if isinstance(value, Rational):  # int and numpy's integers are Rationals
        number = Fraction(int(value.numerator), int(value.denominator))
    else:
        text = value if isinstance(value, str) else str(value) if isinstance(value, (Real, Decimal)) else ""
        if len(text) > _MAX_CHARACTERS or not _NUMBER.fullmatch(text):
            raise InvalidParameterError(name, value, allowed)
        mantissa, _, exponent = text.lower().partition("e")
        if abs(int(exponent or 0)) > _MAX_EXPONENT:
            raise InvalidParameterError(name, value, f"{allowed}, with an exponent within ±{_MAX_EXPONENT}")
        try:
            number = Fraction(mantissa.strip()) * Fraction(10) ** int(exponent or 0)
        except ZeroDivisionError:
            raise InvalidParameterError(name, value, allowed) from None
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MAX_BITS:
        raise InvalidParameterError(name, value, f"{allowed}, a fraction of at most {_MAX_BITS} bits")
    return number


def exact_integer(name: str, value: Number, least: int, allowed: str) -> int:
    """Read an integer ≥ ``least`` (1e6 and "8000.0" are integers; 2.5 is refused)."""
    number = exact(name, value, allowed)
    if number.denominator != 1 or number < least:
        raise InvalidParameterError(name, value, allowed)
    return number.numerator


def exact_positive(name: str, value: Number) -> Fraction:
    """Read a number > 0."""
    number = exact(name, value, "a number > 0")
    if number <= 0:
        raise InvalidParameterError(name, value, "a number > 0")
    return number


def exact_delta(value: Number) -> Fraction:
    """Read δ in (0, 1).

    >>> exact_delta("1e-6")
    Fraction(1, 1000000)
    """
    allowed = "a probability strictly between 0 and 1"
    number = exact("delta", value, allowed)
    if not 0 < number < 1:
        raise InvalidParameterError("delta", value, allowed)
    return number


def exact_epsilon(value: Number) -> Fraction:
    """Read ε ≥ 0."""
    number = exact("epsilon", value, "a number ≥ 0")
    if number < 0:
        raise InvalidParameterError("epsilon", value, "a number ≥ 0")
    return number


def exact_order(value: Number) -> Fraction:
    """Read a Rényi order α > 1."""
    number = exact("order", value, "a number > 1")
    if number <= 1:
        raise InvalidParameterError("order", value, "a number > 1")
    return number


@dataclass(frozen=True, order=True)
class Phase:
    """A stretch of DP-SGD steps with one sampling probability and one noise multiplier, all exact.

    Build it with `DPSGD`, which validates. The noise standard deviation is noise_multiplier·C/batch_size on
    the mean gradient, C the clip norm (so the L2 sensitivity under replacement is 2C, not C).
    """

    sampling_probability: Fraction
    noise_multiplier: Fraction
    steps: int

    @property
    def sensitivity(self) -> Fraction:
        """Δ = 2/σ: the effective sensitivity under replacement, in units of the noise."""
        return 2 / self.noise_multiplier

    def __str__(self) -> str:
        """Show the exact rationals."""
        return (
            f"sampling probability {self.sampling_probability}, noise multiplier {self.noise_multiplier}, "
            f"{self.steps} steps"
        )


def DPSGD(  # noqa: N802 -- reads as the name of the thing it describes
    *,
    noise_multiplier: Number,
    steps: Number,
    dataset_size: Number | None = None,
    batch_size: Number | None = None,
    sampling_probability: Number | None = None,
) -> Phase:
    """Describe fixed-batch-size DP-SGD under replace adjacency (spec, section 1; Definition 4 of the paper).

    Give ``dataset_size`` and ``batch_size``, or ``sampling_probability`` = batch_size/dataset_size. The batch
    is a uniform subset of exactly ``batch_size`` records, drawn afresh at each step (not Poisson, not shuffled).

    Raises:
        InvalidParameterError: naming the parameter, its value and what is allowed.

    >>> DPSGD(dataset_size=60_000, batch_size=600, noise_multiplier="2", steps=8_000)
    Phase(sampling_probability=Fraction(1, 100), noise_multiplier=Fraction(2, 1), steps=8000)
    """
    sigma = exact_positive("noise_multiplier", noise_multiplier)
    count = exact_integer("steps", steps, 0, "an integer ≥ 0")
    if sampling_probability is not None:
        if dataset_size is not None or batch_size is not None:
            raise InvalidParameterError(
                "sampling_probability", sampling_probability, "left out when dataset_size or batch_size is given"
            )
        allowed = "a number > 0 and ≤ 1"
        p = exact("sampling_probability", sampling_probability, allowed)
        if not 0 < p <= 1:
            raise InvalidParameterError("sampling_probability", sampling_probability, allowed)
        return Phase(p, sigma, count)
    if dataset_size is None or batch_size is None:
        missing = "dataset_size" if dataset_size is None else "batch_size"
        raise InvalidParameterError(missing, None, "given (with dataset_size and batch_size, or sampling_probability)")
    n = exact_integer("dataset_size", dataset_size, 1, "an integer ≥ 1")
    allowed = f"an integer from 1 to dataset_size = {n}"
    b = exact_integer("batch_size", batch_size, 1, allowed)
    if b > n:
        raise InvalidParameterError("batch_size", batch_size, allowed)
    return Phase(Fraction(b, n), sigma, count)


Run: TypeAlias = Phase | Iterable[Phase]


def as_phases(run: Run) -> tuple[Phase, ...]:
    """Bring one phase or several into canonical form: like phases merged, empty ones dropped, sorted.

    The privacy of a composition does not depend on the order or the splitting of its steps, and after this
    neither does a result.

    >>> a = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=60)
    >>> [phase.steps for phase in as_phases([a, a])]
    [120]
    """
    steps: Counter[tuple[Fraction, Fraction]] = Counter()
    for phase in [run] if isinstance(run, Phase) else run:
        if not isinstance(phase, Phase):
            raise InvalidParameterError("run", phase, "a DPSGD(...) or several of them")
        steps[phase.sampling_probability, phase.noise_multiplier] += phase.steps
    return tuple(sorted(Phase(p, sigma, count) for (p, sigma), count in steps.items() if count))


def log_estimate(value: Fraction) -> float:
    """Return log(value) as a float, for searches: works where float(value) would under- or overflow."""
    return math.log(value.numerator) - math.log(value.denominator)
