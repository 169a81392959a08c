"""Calibrated values meet their target exactly as printed, and the next better value does not."""

from fractions import Fraction
from typing import Any

import pytest

from certified_dp import DPSGD, InvalidParameterError, epsilon
from certified_dp.calibration import calibrate_noise_multiplier, calibrate_steps


def single_pair(p: str, sigma: Any, steps: Any, at: str) -> Fraction:
    return epsilon(
        DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps), at, method="single_pair_renyi"
    ).upper


@pytest.mark.parametrize(
    ("target", "p", "steps", "at", "digits"),
    [
        ("1", "0.01", 1000, "1e-5", 4),
        ("0.1", "0.1", 128, "1e-9", 3),
        ("1000", "0.1", 128, "1e-9", 7),
        ("8", "1", 10, "1e-5", 5),
    ],
)
def test_noise_multiplier_as_printed(target: str, p: str, steps: int, at: str, digits: int) -> None:
    """The printed decimal meets the target when fed back; one unit less in the last digit misses it."""
    found = calibrate_noise_multiplier(
        target, at, steps=steps, sampling_probability=p, value_digits=digits, method="single_pair_renyi"
    )
    printed = Fraction(found.value_decimal)
    assert printed == found.value
    assert len(found.value_decimal.replace(".", "").strip("0")) <= digits
    assert single_pair(p, found.value_decimal, steps, at) <= Fraction(target)
    unit = Fraction(10) ** (len(str(int(printed))) - digits) if printed >= 1 else Fraction(1, 10**digits)
    assert single_pair(p, printed - unit, steps, at) > Fraction(target)


@pytest.mark.parametrize(("target", "p", "sigma", "at"), [("1", "0.01", 3, "1e-5"), ("20", "0.2", "1.5", "1e-6")])
def test_most_steps(target: str, p: str, sigma: Any, at: str) -> None:
    """The found number of steps meets the target and one more does not."""
    found = calibrate_steps(target, at, noise_multiplier=sigma, sampling_probability=p, method="single_pair_renyi")
    assert single_pair(p, sigma, found.value, at) <= Fraction(target)
    assert single_pair(p, sigma, found.value + 1, at) > Fraction(target)


def test_no_step_fits() -> None:
    """A target that one step already misses allows 0 steps."""
    assert calibrate_steps("1e-9", "1e-5", noise_multiplier=1, sampling_probability="0.5", method="theorem1").value == 0


def test_target_met_by_any_noise() -> None:
    """With no steps every noise multiplier will do: that is refused, not searched for."""
    with pytest.raises(InvalidParameterError, match=r"^target_epsilon"):
        calibrate_noise_multiplier(1, "1e-5", steps=0, sampling_probability="0.5")
