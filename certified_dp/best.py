"""The default method: the smallest of the certified upper bounds, beside the certified floor."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from certified_dp.composition.floor import floor_delta, floor_epsilon
from certified_dp.errors import PrecisionExhaustedError, ResourceLimitError
from certified_dp.gaussian import gaussian_delta, gaussian_epsilon
from certified_dp.methods import METHODS, Options
from certified_dp.parameters import Phase
from certified_dp.result import Bound, Quantity

#: A coarse lossless enclosure decides whether a fine one could win.
_COARSE = Fraction(1, 20)


def best_bounds(
    quantity: Quantity, phases: Sequence[Phase], given: Fraction, options: Options
) -> tuple[dict[str, Bound], Fraction]:
    """Compute the upper bounds that can win, and the floor.

    theorem1 is left out: it is never below single_pair_renyi. lossless is left out when its certified lower end lies
    above another bound. When a method is refused, the others stand, and a note says so.

    Guarantee: every bound is ≥ the true ε (or δ) for the release of all iterates, and the floor is ≤ it.
    Raises: PrecisionExhaustedError.
    """
    if all(phase.sampling_probability == 1 for phase in phases):
        exact = gaussian_epsilon if quantity == "epsilon" else gaussian_delta
        bound = exact(phases, given, options.digits)
        return {"gaussian": bound}, bound.lower or Fraction(0)
    bounds: dict[str, Bound] = {}
    floor, refusals = Fraction(0), list[str]()

    def attempt(name: str, step: Callable[[], None]) -> None:
        try:
            step()
        except (ResourceLimitError, PrecisionExhaustedError, ArithmeticError) as error:
            refusals.append(f"{name} was refused: {error}")

    def upper(name: str) -> None:
        bounds[name] = METHODS[name][quantity](phases, given, options)

    def lower() -> None:
        nonlocal floor
        if quantity == "epsilon":
            floor = floor_epsilon(phases, given, **options.grid).epsilon
        else:
            floor = floor_delta(phases, given, **options.grid).delta

    def lossless() -> None:
        coarse = replace(options, relative_slack=max(_COARSE, options.relative_slack))
        found = METHODS["lossless"][quantity](phases, given, coarse)
        if not bounds or (found.lower or 0) < min(bound.upper for bound in bounds.values()):
            upper("lossless")

    attempt("single_pair_renyi", lambda: upper("single_pair_renyi"))
    attempt("kl_hinge", lambda: upper("kl_hinge"))
    attempt("the floor", lower)
    attempt("lossless", lossless)
    if not bounds:
        raise PrecisionExhaustedError("; ".join(refusals))
    winner = min(bounds, key=lambda name: bounds[name].upper)
    bounds[winner] = replace(bounds[winner], notes=(*bounds[winner].notes, *refusals))
    return bounds, floor
