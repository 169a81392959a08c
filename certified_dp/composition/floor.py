"""The floor: a certified lower bound on what any sound accountant for the release of all iterates can report.

The run that attains it: every other record has gradient −C·e (e a unit vector), the replaced record has +C·e in one
dataset and −C·e in the other, at every step. Its view is T independent copies of (ΔBer(p)+N ‖ N), one direction
forward and the other reversed, so its own ε(δ), the larger of the two, cannot be undercut.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from certified_dp.composition.engine import (
    MEMORY_LIMIT,
    RELATIVE_SLACK,
    Trial,
    delta_trial,
    epsilon_trial,
    lower_composition,
    refine_step,
)
from certified_dp.composition.grid import Plan, plan
from certified_dp.composition.hockey import epsilon_lower, lost_share
from certified_dp.composition.law import hockey_stick
from certified_dp.composition.one_step import Curve, total_variation
from certified_dp.enclosure import ball, lower_end, working_precision
from certified_dp.parameters import Phase


@dataclass(frozen=True)
class FloorBound:
    """The explicit run is not (ε', delta)-differentially private for any ε' < epsilon: its δ at epsilon is ≥ delta."""

    epsilon: Fraction
    delta: Fraction
    curve: Curve  # the direction that gave it
    grid_step: Fraction


def floor_epsilon(
    phases: Sequence[Phase],
    delta: Fraction,
    *,
    relative_slack: Fraction = RELATIVE_SLACK,
    memory_limit: int = MEMORY_LIMIT,
) -> FloorBound:
    """Bound the true ε at δ from below.

    Guarantee: no accountant that covers the release of all iterates of these phases may report less than epsilon (0
    when nothing positive is certified).
    Source: domination theorem, “Floor” and “Floor and other lower bounds”.

    Args:
        phases: canonical (`as_phases`), at least one.
        delta: in (0, 1).
        relative_slack: the grid is refined until halving it moves the floor by less (never affects validity).
        memory_limit: in bytes.

    Returns:
        The bound; epsilon is exact, rounded down.

    Raises:
        ResourceLimitError: the grid does not fit into ``memory_limit``.

    >>> from certified_dp.parameters import DPSGD, as_phases
    >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=100)
    >>> float(floor_epsilon(as_phases(run), Fraction(1, 10**6)).epsilon) > 0.63
    True
    """
    chosen = plan(phases, delta=delta, relative_slack=relative_slack)
    with working_precision(chosen.prec):
        if total_variation(phases) <= ball(delta):
            return FloorBound(Fraction(0), delta, Curve.FORWARD, chosen.step)

    def trial(curve: Curve, current: Plan) -> Trial[FloorBound]:
        law = lower_composition(phases, curve, current, memory_limit)
        with working_precision(current.prec):
            epsilon = epsilon_lower(law, delta, current.log_delta)
            lost = lost_share(law, epsilon)
        return epsilon_trial(FloorBound(epsilon, delta, curve, current.step), epsilon, current, lost)

    return _better_direction(trial, chosen, relative_slack)


def floor_delta(
    phases: Sequence[Phase],
    epsilon: Fraction,
    *,
    relative_slack: Fraction = RELATIVE_SLACK,
    memory_limit: int = MEMORY_LIMIT,
) -> FloorBound:
    """Bound the true δ at ε from below; guarantee, arguments and exceptions as in `floor_epsilon`."""
    chosen = plan(phases, epsilon=epsilon, relative_slack=relative_slack)

    def trial(curve: Curve, current: Plan) -> Trial[FloorBound]:
        law = lower_composition(phases, curve, current, memory_limit)
        with working_precision(current.prec):
            delta = max(Fraction(0), lower_end(hockey_stick(law, epsilon)))
            lost = lost_share(law, epsilon)
        return delta_trial(FloorBound(epsilon, delta, curve, current.step), delta, lost)

    return _better_direction(trial, chosen, relative_slack)


def _better_direction(
    trial: Callable[[Curve, Plan], Trial[FloorBound]], chosen: Plan, relative_slack: Fraction
) -> FloorBound:
    """Refine the forward direction, and the reversed one when its coarsest run is not clearly behind."""
    forward = refine_step(lambda current: trial(Curve.FORWARD, current), chosen, relative_slack)
    backward = trial(Curve.REVERSED, chosen).result
    near = 1 - 20 * relative_slack
    if backward.epsilon > forward.epsilon * near and backward.delta > forward.delta * near:
        backward = refine_step(lambda current: trial(Curve.REVERSED, current), chosen, relative_slack)
    return max(forward, backward, key=lambda bound: (bound.epsilon, bound.delta))
