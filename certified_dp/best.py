"""The default method: the smallest of the certified upper bounds, beside the certified floor."""

from collections.abc import Sequence
from fractions import Fraction

from certified_dp.gaussian import gaussian_delta, gaussian_epsilon
from certified_dp.methods import METHODS, Options
from certified_dp.parameters import Phase
from certified_dp.result import Bound, Quantity


def best_bounds(
    quantity: Quantity, phases: Sequence[Phase], given: Fraction, options: Options
) -> tuple[dict[str, Bound], Fraction]:
    """Compute the upper bounds that can win, and the floor.

    Guarantee: every bound is an upper bound of the true ε (or δ) for the release of all iterates, and the floor a
        lower bound.
    """
    if all(phase.sampling_probability == 1 for phase in phases):
        exact = gaussian_epsilon if quantity == "epsilon" else gaussian_delta
        bound = exact(phases, given, options.digits)
        return {"gaussian": bound}, bound.lower or Fraction(0)
    return {"single_pair_renyi": METHODS["single_pair_renyi"][quantity](phases, given, options)}, Fraction(0)
