"""Rényi accounting: one-step bounds added per order over phases, the best order, and the conversion to (ε, δ)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from flint import arb

from certified_dp.conversion import delta_from_rdp_ball, epsilon_from_rdp_ball
from certified_dp.divergence.birrell import rdp_birrell_ball
from certified_dp.divergence.forward_differences import MAX_ORDER
from certified_dp.divergence.single_pair import rdp_single_pair_ball
from certified_dp.divergence.theorem1 import rdp_theorem1, rdp_theorem1_estimate
from certified_dp.divergence.wang import rdp_wang_ball
from certified_dp.enclosure import (
    float_estimate,
    hull_ball,
    lower_end,
    refine,
    relative_accuracy_bits,
    upper_end,
    working_precision,
)
from certified_dp.errors import InvalidParameterError, PrecisionExhaustedError
from certified_dp.gaussian import rdp_gaussian_ball
from certified_dp.orders import best_integer_order, best_real_order, scan_integer_orders
from certified_dp.parameters import Phase
from certified_dp.result import Bound

_BITS_PER_DIGIT = 3.33


@dataclass(frozen=True)
class RenyiMethod:
    """A one-step Rényi bound.

    ``rdp(noise_multiplier, sampling_probability, order, accuracy, prec)`` encloses the bound, for p < 1, with
    absolute error about ``accuracy`` where it is not closed-form; ``estimate`` is a float near it, for searches.
    ``quasiconvex`` tells whether ε(α) is (the paper's Proposition 3), so that a bracketed minimum is the minimum.
    """

    name: str
    rdp: Callable[[Fraction, Fraction, Fraction, Fraction, int], arb]
    estimate: Callable[[Fraction, Fraction, Fraction], float]
    real_orders: bool
    quasiconvex: bool = True


def _theorem1(noise_multiplier: Fraction, p: Fraction, order: Fraction, accuracy: Fraction, prec: int) -> arb:
    bound = rdp_theorem1(noise_multiplier, p, order.numerator, accuracy=accuracy)
    return hull_ball(bound.lower, bound.upper)


def _single_pair(noise_multiplier: Fraction, p: Fraction, order: Fraction, accuracy: Fraction, prec: int) -> arb:
    return rdp_single_pair_ball(noise_multiplier, p, order, prec=prec)


def _single_pair_estimate(noise_multiplier: Fraction, p: Fraction, order: Fraction) -> float:
    # The moment is 1 + O(p²): that many bits are lost in its logarithm.
    prec = 64 + 2 * max(0, p.denominator.bit_length() - p.numerator.bit_length())
    return float_estimate(rdp_single_pair_ball(noise_multiplier, p, order, prec=prec))


def _earlier_method(name: str, one_step: Callable[..., arb]) -> RenyiMethod:
    """Wrap a bound given at integer orders only, by a formula in closed form."""

    def rdp(noise_multiplier: Fraction, p: Fraction, order: Fraction, accuracy: Fraction, prec: int) -> arb:
        return one_step(noise_multiplier, p, order.numerator, prec=prec)

    @lru_cache(maxsize=4096)
    def estimate(noise_multiplier: Fraction, p: Fraction, order: Fraction) -> float:
        if order > MAX_ORDER:
            return math.inf
        return float_estimate(one_step(noise_multiplier, p, order.numerator, prec=64))

    return RenyiMethod(name, rdp, estimate, real_orders=False, quasiconvex=False)


RENYI_METHODS = {
    "theorem1": RenyiMethod(
        "theorem1", _theorem1, lambda sigma, p, order: rdp_theorem1_estimate(sigma, p, order.numerator), False
    ),
    "single_pair_renyi": RenyiMethod("single_pair_renyi", _single_pair, _single_pair_estimate, True),
    "wang": _earlier_method("wang", rdp_wang_ball),
    "birrell": _earlier_method("birrell", rdp_birrell_ball),
}


@dataclass(frozen=True)
class OrderSearch:
    """Which orders may be used: ``orders`` is "integer" or "real"; ``max_order`` caps integer orders."""

    orders: str = "real"
    max_order: int | None = None
    conversion: str = "balle"


def total_rdp_ball(
    method: RenyiMethod, phases: Sequence[Phase], order: Fraction, *, accuracy: Fraction, prec: int
) -> arb:
    """Enclose the sum of the one-step bounds over all steps of all phases.

    Guarantee: an upper bound of the order-α Rényi divergence of the (adaptive) composition, or an exception.
    Source: Mironov 2017, Proposition 1; Gaussian steps (p = 1) are exact.
    Args: accuracy: absolute, of the total, for the methods that search.
    """
    if order.denominator != 1 and not method.real_orders:
        raise InvalidParameterError("order", str(order), f"an integer for {method.name}")
    with working_precision(prec):
        steps = sum(phase.steps for phase in phases)
        total = arb(0)
        for phase in phases:
            if phase.sampling_probability == 1:
                one = rdp_gaussian_ball(phase.noise_multiplier, order)
            else:
                one = method.rdp(
                    phase.noise_multiplier, phase.sampling_probability, order, accuracy / max(steps, 1), prec
                )
            total += one * phase.steps
        return total


def _total_estimate(method: RenyiMethod, phases: Sequence[Phase], order: Fraction) -> arb:
    total = arb(0)
    for phase in phases:
        if phase.sampling_probability == 1:
            one = rdp_gaussian_ball(phase.noise_multiplier, order)
        else:
            one = arb(method.estimate(phase.noise_multiplier, phase.sampling_probability, order))
        total += one * phase.steps
    return total


def renyi_rdp(method: RenyiMethod, phases: Sequence[Phase], order: Fraction, digits: int) -> Bound:
    """Bound the total order-α Rényi divergence, as `total_rdp_ball`, to ``digits`` significant digits."""
    first_prec, size = 64 + 4 * digits, [Fraction(1)]

    def evaluate(prec: int) -> arb:
        value = total_rdp_ball(method, phases, order, accuracy=size[0] / 10 ** (digits + 1), prec=prec)
        size[0] = max(upper_end(value), Fraction(1, 1 << prec))
        return value

    def accept(value: arb) -> bool:
        return relative_accuracy_bits(value) >= _BITS_PER_DIGIT * digits + 3

    value = refine(evaluate, accept, prec=first_prec, what=f"{method.name} at order {order}")
    return Bound(upper_end(value), max(lower_end(value), Fraction(0)), order)


def renyi_epsilon(
    method: RenyiMethod, phases: Sequence[Phase], delta: Fraction, search: OrderSearch, digits: int
) -> Bound:
    """Bound ε at δ by the best order found.

    Guarantee: the composition is (upper, δ)-DP, or an exception is raised; [lower, upper] encloses the bound at
        ``order`` to ``digits`` significant digits. ε is never below 0.
    Source: (6) (or another conversion), with the orders bracketed by Proposition 3.
    """

    def convert(rdp: arb, order: Fraction) -> arb:
        return epsilon_from_rdp_ball(rdp, order, delta, search.conversion)

    return _best_order_bound(method, phases, convert, search, digits)


def renyi_delta(
    method: RenyiMethod, phases: Sequence[Phase], epsilon: Fraction, search: OrderSearch, digits: int
) -> Bound:
    """Bound δ at ε by the best order found; the guarantee of `renyi_epsilon` with δ, never above 1."""

    def convert(rdp: arb, order: Fraction) -> arb:
        return delta_from_rdp_ball(rdp, order, epsilon, search.conversion)

    bound = _best_order_bound(method, phases, convert, search, digits, logarithmic=True)
    return replace(bound, upper=min(bound.upper, Fraction(1)), lower=min(bound.lower or Fraction(0), Fraction(1)))


def _best_order_bound(
    method: RenyiMethod,
    phases: Sequence[Phase],
    convert: Callable[[arb, Fraction], arb],
    search: OrderSearch,
    digits: int,
    *,
    logarithmic: bool = False,
) -> Bound:
    def objective(order: Fraction | int) -> float:
        order = Fraction(order)
        if search.max_order is not None and order > search.max_order:
            return math.inf
        try:
            with working_precision(64):
                value = convert(_total_estimate(method, phases, order), order)
                return float_estimate(value.log() if logarithmic else value)
        except PrecisionExhaustedError:  # an order that cannot be computed is no candidate
            return math.inf

    notes: list[str] = []
    integer = (best_integer_order if method.quasiconvex else scan_integer_orders)(objective, search.max_order)
    order = Fraction(integer)
    if search.orders == "real" and method.real_orders:
        order = best_real_order(objective, integer)
        if objective(order) >= objective(integer):
            order = Fraction(integer)
    elif integer == 2:
        notes.append("the smallest integer order was reached; real orders may be far smaller")
    if integer == search.max_order:
        notes.append(f"the largest order allowed, {search.max_order}, was reached")
    first_prec = 64 + 4 * digits
    # A total Rényi divergence enters ε with factor 1 and log δ with factor α−1.
    size = 1 / (order - 1) if logarithmic else max(Fraction(abs(objective(order))), Fraction(1, 10**12))

    def evaluate(prec: int) -> arb:
        accuracy = size / 10 ** (digits + 1) / (prec // first_prec) ** 4
        return convert(total_rdp_ball(method, phases, order, accuracy=accuracy, prec=prec), order)

    def accept(value: arb) -> bool:
        return relative_accuracy_bits(value) >= _BITS_PER_DIGIT * digits + 3 or bool(value <= 0)

    value = refine(evaluate, accept, prec=first_prec, what=f"{method.name} at order {order}")
    zero = Fraction(0)
    return Bound(max(upper_end(value), zero), max(lower_end(value), zero), order, tuple(notes), search.conversion)
