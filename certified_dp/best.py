"""The default method: the smallest of the certified upper bounds, beside the certified floor."""

from collections.abc import Sequence
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
    above another bound. When a grid method is refused, what was found before stands, and a note says so.

    Guarantee: every bound is ≥ the true ε (or δ) for the release of all iterates, and the floor is ≤ it.
    Raises: PrecisionExhaustedError.
    """
    if all(phase.sampling_probability == 1 for phase in phases):
        exact = gaussian_epsilon if quantity == "epsilon" else gaussian_delta
        bound = exact(phases, given, options.digits)
        return {"gaussian": bound}, bound.lower or Fraction(0)
    bounds = {"single_pair_renyi": METHODS["single_pair_renyi"][quantity](phases, given, options)}
    floor = Fraction(0)
    try:
        bounds["kl_hinge"] = METHODS["kl_hinge"][quantity](phases, given, options)
        if quantity == "epsilon":
            floor = floor_epsilon(phases, given, **options.grid).epsilon
        else:
            floor = floor_delta(phases, given, **options.grid).delta
        coarse = replace(options, relative_slack=max(_COARSE, options.relative_slack))
        lossless = METHODS["lossless"][quantity](phases, given, coarse)
        if (lossless.lower or 0) < min(bound.upper for bound in bounds.values()):
            bounds["lossless"] = METHODS["lossless"][quantity](phases, given, options)
    except (ResourceLimitError, PrecisionExhaustedError) as error:
        winner = min(bounds, key=lambda name: bounds[name].upper)
        notes = (*bounds[winner].notes, f"a grid method was refused: {error}")
        bounds[winner] = replace(bounds[winner], notes=notes)
    return bounds, floor
