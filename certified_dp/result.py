"""What a question returns: an exact bound, where it came from, and its outward-rounded print."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from certified_dp.enclosure import decimal_lower, decimal_upper
from certified_dp.parameters import Phase

if TYPE_CHECKING:
    from certified_dp.certificate import Certificate

Quantity = Literal["epsilon", "delta", "rdp"]
_SYMBOLS: dict[Quantity, str] = {"epsilon": "ε", "delta": "δ", "rdp": "ρ"}


def decimal_exact(value: Fraction) -> str:
    """Print an exact input: as a decimal when it has a short one, else as a fraction.

    Example:
        >>> decimal_exact(Fraction(1, 10**6)), decimal_exact(Fraction(1, 3))
        ('1e-06', '1/3')
    """
    short = decimal_upper(value, 12)
    return short if Fraction(short) == value else str(value)


@dataclass(frozen=True)
class Bound:
    """A certified bound by one method.

    Attributes:
        upper: exact; the true value is at most this.
        lower: exact; the method's own value at its witness is at least this (None: not enclosed from below).
        order: the Rényi order used, if the method has one.
        notes: what a user should know about this bound.
        conversion: from Rényi divergence to (ε, δ), if the method has one.
    """

    upper: Fraction
    lower: Fraction | None = None
    order: Fraction | None = None
    notes: tuple[str, ...] = ()
    conversion: str | None = None


@dataclass(frozen=True)
class Result:
    """The answer to one question about a run.

    Attributes:
        quantity: "epsilon", "delta" or "rdp".
        phases: the run, as exact rationals.
        given: the δ, ε or order asked about.
        method: the method whose bound this is (under "best": the one that won).
        bound: that method's bound.
        bounds: every bound that was computed, by method, this one included.
        floor: exact certified lower bound on the true value for the release of all iterates; None if not computed.
        digits: significant digits printed.
    """

    quantity: Quantity
    phases: tuple[Phase, ...]
    given: Fraction
    method: str
    bound: Bound
    digits: int
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    floor: Fraction | None = None

    @property
    def upper(self) -> Fraction:
        """The exact certified upper bound: nats for ε and ρ, a probability for δ."""
        return self.bound.upper

    @property
    def order(self) -> Fraction | None:
        """The Rényi order of the bound, if its method has one."""
        return self.bound.order

    @property
    def enclosure(self) -> tuple[Fraction, Fraction]:
        """An enclosure [lower, upper]: of the true value if the floor is known, else of the method's own value."""
        lower = self.floor if self.floor is not None else self.bound.lower
        return (lower if lower is not None else Fraction(0), self.upper)

    @property
    def upper_decimal(self) -> str:
        """The upper bound as printed: rounded up to ``digits`` significant digits."""
        return decimal_upper(self.upper, self.digits)

    @property
    def floor_decimal(self) -> str | None:
        """The floor as printed: rounded down to ``digits`` significant digits."""
        return None if self.floor is None else decimal_lower(self.floor, self.digits)

    def certificate(self) -> "Certificate":
        """Write down why this bound holds, for an independent checker; see `certified_dp.certificate.certificate`."""
        from certified_dp.certificate import certificate

        return certificate(self)

    def __str__(self) -> str:
        """Print the bound rounded up, with what was asked and the method."""
        asked = {"epsilon": "δ", "delta": "ε", "rdp": "α"}[self.quantity]
        at_order = f" at order {decimal_exact(self.order)}" if self.order is not None and self.quantity != "rdp" else ""
        return (
            f"{_SYMBOLS[self.quantity]} ≤ {self.upper_decimal} "
            f"({asked} = {decimal_exact(self.given)}, replace adjacency, {self.method}{at_order})"
        )
