"""Calibration: the least noise, or the most steps, that meets a target ε — as printed, not before rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from certified_dp.accountant import epsilon
from certified_dp.enclosure import decimal_upper, float_upper
from certified_dp.errors import InvalidParameterError, PrecisionExhaustedError
from certified_dp.parameters import DPSGD, Number, exact_delta, exact_epsilon, exact_integer
from certified_dp.result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.methods import OptionValues

_LARGEST_NOISE_MULTIPLIER = 10**12
_LARGEST_STEPS = 10**18


@dataclass(frozen=True)
class Calibration:
    """A calibrated parameter and the certified result at exactly that value.

    Attributes:
        value: the noise multiplier or the number of steps, exact; its decimal print is the same number.
        result: the bound at ``value``; ``result.upper`` meets the target.
    """

    value: Fraction
    result: Result

    @property
    def value_decimal(self) -> str:
        """The value as printed (exact)."""
        return decimal_upper(self.value, 60)


def calibrate_noise_multiplier(
    target_epsilon: Number,
    delta: Number,
    *,
    steps: Number,
    dataset_size: Number | None = None,
    batch_size: Number | None = None,
    sampling_probability: Number | None = None,
    value_digits: Number = 5,
    method: str = "best",
    **options: Unpack[OptionValues],
) -> Calibration:
    """Find the smallest noise multiplier, of ``value_digits`` significant digits, that meets a target ε.

    Guarantee: the run with exactly the returned decimal is (result.upper, δ)-DP with result.upper ≤ target. That
        the next smaller decimal misses the target is checked, for this method and these options.
    Args: target_epsilon: ≥ 0.  value_digits: 1 to 15.  The others as in `DPSGD` and `epsilon`.
    Raises: InvalidParameterError, PrecisionExhaustedError, ResourceLimitError.

    Example:
        >>> calibrate_noise_multiplier(1, "1e-5", steps=100, sampling_probability="0.01",
        ...     method="single_pair_renyi").value_decimal
        '2.1604'
    """
    target, at = exact_epsilon(target_epsilon), exact_delta(delta)
    digits = exact_integer("value_digits", value_digits, 1, "an integer from 1 to 15")
    if digits > 15:
        raise InvalidParameterError("value_digits", value_digits, "an integer from 1 to 15")

    def bound(sigma: Fraction) -> Result:
        run = DPSGD(
            dataset_size=dataset_size,
            batch_size=batch_size,
            sampling_probability=sampling_probability,
            noise_multiplier=sigma,
            steps=steps,
        )
        return epsilon(run, at, method=method, **options)

    low, high = Fraction(1), Fraction(1)
    results = {high: bound(high)}
    while results[high].upper > target:
        low, high = high, 4 * high
        if high > _LARGEST_NOISE_MULTIPLIER:
            raise PrecisionExhaustedError(f"no noise multiplier up to {_LARGEST_NOISE_MULTIPLIER} meets the target")
        results[high] = bound(high)
    while results[low].upper <= target:
        low, high = low / 4, low
        if low < Fraction(1, _LARGEST_NOISE_MULTIPLIER):
            raise InvalidParameterError("target_epsilon", target_epsilon, "a target that some noise multiplier misses")
        results[low] = bound(low)
    low, high = _round_down(low, digits), _round_up(high, digits)
    for end in (low, high):
        results.setdefault(end, bound(end))
    return _search(bound, results, target, low, high, lambda x: _round_up(x, digits), lambda x: _next_up(x, digits))


def calibrate_steps(
    target_epsilon: Number,
    delta: Number,
    *,
    noise_multiplier: Number,
    dataset_size: Number | None = None,
    batch_size: Number | None = None,
    sampling_probability: Number | None = None,
    method: str = "best",
    **options: Unpack[OptionValues],
) -> Calibration:
    """Find the largest number of steps that meets a target ε; guarantee and errors as `calibrate_noise_multiplier`.

    Example:
        >>> int(calibrate_steps(1, "1e-5", noise_multiplier=3, sampling_probability="0.01",
        ...     method="single_pair_renyi").value)
        975
    """
    target, at = exact_epsilon(target_epsilon), exact_delta(delta)

    def bound(count: Fraction) -> Result:
        run = DPSGD(
            dataset_size=dataset_size,
            batch_size=batch_size,
            sampling_probability=sampling_probability,
            noise_multiplier=noise_multiplier,
            steps=count,
        )
        return epsilon(run, at, method=method, **options)

    # The search is for the smallest −steps, so that both calibrations look for a least value.
    low, high = Fraction(1), Fraction(0)
    results = {Fraction(0): bound(Fraction(0)), Fraction(-1): bound(Fraction(1))}
    while results[-low].upper <= target:
        low, high = 2 * low, low
        if low > _LARGEST_STEPS:
            raise InvalidParameterError("target_epsilon", target_epsilon, f"a target missed by {_LARGEST_STEPS} steps")
        results[-low] = bound(low)
    found = _search(lambda x: bound(-x), results, target, -low, -high, _ceil, lambda x: x + 1)
    return Calibration(-found.value, found.result)


def _search(
    bound: Callable[[Fraction], Result],
    results: dict[Fraction, Result],
    target: Fraction,
    low: Fraction,
    high: Fraction,
    round_up: Callable[[Fraction], Fraction],
    next_up: Callable[[Fraction], Fraction],
) -> Calibration:
    """Find the least grid value that meets the target, given that ``low`` misses it and ``high`` meets it."""
    turn = 0
    while next_up(low) < high:
        turn += 1
        share = _interpolate(results[low].upper, results[high].upper, target) if turn % 3 else Fraction(1, 2)
        guess = min(max(round_up(low + (high - low) * share), next_up(low)), _previous(high, low, next_up))
        results[guess] = bound(guess)
        if results[guess].upper <= target:
            high = guess
        else:
            low = guess
    return Calibration(high, results[high])


def _interpolate(at_low: Fraction, at_high: Fraction, target: Fraction) -> Fraction:
    """Return where log ε crosses log target, as a share of the way; any value is valid."""
    if at_high <= 0 or target <= 0:
        return Fraction(1, 2)
    a, b, c = (math.log(max(float_upper(x), 1e-300)) for x in (at_low, at_high, target))
    return Fraction(min(1.0, max(0.0, (a - c) / (a - b)))) if a > b else Fraction(1, 2)


def _previous(high: Fraction, low: Fraction, next_up: Callable[[Fraction], Fraction]) -> Fraction:
    """Return the grid value just below ``high``, or ``low``'s successor if that is the same."""
    gap = next_up(high) - high
    below = high - gap
    # Just above a power of ten the grid below is ten times finer; one bisection step less precise is harmless.
    return max(below, next_up(low))


def _ceil(x: Fraction) -> Fraction:
    return Fraction(math.ceil(x))


def _round_up(x: Fraction, digits: int) -> Fraction:
    return Fraction(decimal_upper(x, digits))


def _round_down(x: Fraction, digits: int) -> Fraction:
    return -Fraction(decimal_upper(-x, digits))


def _next_up(x: Fraction, digits: int) -> Fraction:
    """Return the smallest decimal of that many digits above x > 0, itself such a decimal."""
    return Fraction(decimal_upper(x * (1 + Fraction(1, 10 ** (digits + 2))), digits))
