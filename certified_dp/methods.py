"""The table of methods: each bounds ε at δ and δ at ε for a run in canonical form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

from certified_dp.composition.engine import MEMORY_LIMIT, RELATIVE_SLACK
from certified_dp.composition.kl_hinge import kl_hinge_delta, kl_hinge_epsilon
from certified_dp.composition.lossless import lossless_delta, lossless_epsilon
from certified_dp.conversion import CONVERSIONS
from certified_dp.errors import InvalidParameterError
from certified_dp.parameters import Number, Phase, exact_integer, exact_positive
from certified_dp.renyi import RENYI_METHODS, OrderSearch, renyi_delta, renyi_epsilon
from certified_dp.result import Bound, Quantity


@dataclass(frozen=True)
class Options:
    """How an answer is computed and printed; none of it affects validity. Build it with `read_options`."""

    digits: int
    search: OrderSearch
    relative_slack: Fraction
    memory_limit: int

    @property
    def grid(self) -> GridOptions:
        """The keyword arguments of the grid methods."""
        return {"relative_slack": self.relative_slack, "memory_limit": self.memory_limit}


class GridOptions(TypedDict):
    """What the grid methods take beside the question."""

    relative_slack: Fraction
    memory_limit: int


class OptionValues(TypedDict, total=False):
    """The keyword options of every question, unread; see `read_options`."""

    digits: Number
    orders: str
    max_order: Number | None
    conversion: str
    relative_slack: Number
    memory_limit: Number


def read_options(
    *,
    digits: Number = 6,
    orders: str = "real",
    max_order: Number | None = None,
    conversion: str = "balle",
    relative_slack: Number = RELATIVE_SLACK,
    memory_limit: Number = MEMORY_LIMIT,
) -> Options:
    """Validate the options that every question takes.

    Args:
        digits: significant digits, 1 to 50: of printing, and the accuracy of the Rényi methods.
        orders: "real" (default; where a method is certified at real orders) or "integer".
        max_order: largest order used, None for no limit (the paper used 256).
        conversion: "balle" (default), "mironov" or "tangent".
        relative_slack: target of the grid methods, between 1e-6 and 1/2.
        memory_limit: bytes that the grid methods may use.

    Raises:
        InvalidParameterError: naming the option, its value and what is allowed.
    """
    most_digits = 50
    allowed = f"an integer from 1 to {most_digits}"
    count = exact_integer("digits", digits, 1, allowed)
    if count > most_digits:
        raise InvalidParameterError("digits", digits, allowed)
    if orders not in ("real", "integer"):
        raise InvalidParameterError("orders", orders, '"real" or "integer"')
    if conversion not in CONVERSIONS:
        raise InvalidParameterError("conversion", conversion, f"one of {', '.join(CONVERSIONS)}")
    largest = None if max_order is None else exact_integer("max_order", max_order, 2, "an integer ≥ 2")
    slack = exact_positive("relative_slack", relative_slack)
    if not Fraction(1, 10**6) <= slack <= Fraction(1, 2):
        raise InvalidParameterError("relative_slack", relative_slack, "a number from 1e-6 to 0.5")
    memory = exact_integer("memory_limit", memory_limit, 1 << 20, "a number of bytes ≥ 1048576")
    return Options(count, OrderSearch(orders, largest, conversion), slack, memory)


#: ``question(phases, given, options)``: given is δ where ε is asked, ε where δ is.
Question = Callable[[Sequence[Phase], Fraction, Options], Bound]


def _renyi(name: str) -> dict[Quantity, Question]:
    method = RENYI_METHODS[name]
    return {
        "epsilon": lambda phases, given, options: renyi_epsilon(method, phases, given, options.search, options.digits),
        "delta": lambda phases, given, options: renyi_delta(method, phases, given, options.search, options.digits),
    }


def _kl_hinge_epsilon(phases: Sequence[Phase], delta: Fraction, options: Options) -> Bound:
    return Bound(kl_hinge_epsilon(phases, delta, **options.grid).epsilon)


def _kl_hinge_delta(phases: Sequence[Phase], epsilon: Fraction, options: Options) -> Bound:
    return Bound(kl_hinge_delta(phases, epsilon, **options.grid).delta)


def _lossless_epsilon(phases: Sequence[Phase], delta: Fraction, options: Options) -> Bound:
    found = lossless_epsilon(phases, delta, **options.grid)
    return Bound(found.upper, found.lower)


def _lossless_delta(phases: Sequence[Phase], epsilon: Fraction, options: Options) -> Bound:
    found = lossless_delta(phases, epsilon, **options.grid)
    return Bound(found.upper, found.lower)


METHODS: dict[str, dict[Quantity, Question]] = {
    **{name: _renyi(name) for name in RENYI_METHODS},
    "kl_hinge": {"epsilon": _kl_hinge_epsilon, "delta": _kl_hinge_delta},
    "lossless": {"epsilon": _lossless_epsilon, "delta": _lossless_delta},
}
