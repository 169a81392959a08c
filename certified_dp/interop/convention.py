"""What a noise multiplier is relative to: the trap that halves or doubles the sensitivity under replacement."""

from fractions import Fraction
from typing import Literal

from certified_dp.errors import InvalidParameterError
from certified_dp.parameters import Number, exact_positive

#: "clip_norm": noise standard deviation / C, this package's; "sensitivity": noise standard deviation / (2C).
Convention = Literal["clip_norm", "sensitivity"]
CONVENTIONS: dict[str, int] = {"clip_norm": 1, "sensitivity": 2}


def _norms_per_unit(convention: str) -> int:
    if convention not in CONVENTIONS:
        allowed = f"one of {', '.join(CONVENTIONS)} (noise / clip norm C, or noise / the sensitivity 2C)"
        raise InvalidParameterError("noise_multiplier_convention", convention, allowed)
    return CONVENTIONS[convention]


def clip_norm_multiplier(noise_multiplier: Number, convention: str) -> Fraction:
    """Return the noise multiplier relative to the clip norm C, given one in ``convention``.

    Example:
        >>> clip_norm_multiplier("1.1", "sensitivity")
        Fraction(11, 5)
    """
    return exact_positive("noise_multiplier", noise_multiplier) * _norms_per_unit(convention)


def from_clip_norm(noise_multiplier: Fraction, convention: str) -> Fraction:
    """Return a noise multiplier in ``convention``, given one relative to the clip norm.

    Example:
        >>> from_clip_norm(Fraction(2), "sensitivity")
        Fraction(1, 1)
    """
    return noise_multiplier / _norms_per_unit(convention)
