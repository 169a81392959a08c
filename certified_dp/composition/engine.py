"""From phases and a plan to a composed law, and the refinement of the lattice step."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, TypeVar

from certified_dp.composition.compose import Coarsen, Repetition, check_memory, coarsen_down, coarsen_up, compose
from certified_dp.composition.grid import Plan, cells, peak_points, repeated
from certified_dp.composition.law import LatticeLaw
from certified_dp.composition.one_step import Curve, lower_weights, upper_weights
from certified_dp.composition.two_scale import gather, split
from certified_dp.enclosure import working_precision
from certified_dp.errors import ResourceLimitError
from certified_dp.parameters import Phase, log_estimate

#: Default accuracy target of the grid methods, relative.
RELATIVE_SLACK = Fraction(1, 500)
#: Default memory limit, in bytes.
MEMORY_LIMIT = 2 << 30
_MOST_ROUNDS = 8


def upper_composition(phases: Sequence[Phase], curve: Curve, chosen: Plan, memory_limit: int) -> LatticeLaw:
    """Compose the upper laws of all phases.

    Raises:
        ResourceLimitError: the sizes foreseen need more than ``memory_limit``; raised before any work.
    """
    return _composition(phases, curve, chosen, memory_limit, upper=True)


def lower_composition(phases: Sequence[Phase], curve: Curve, chosen: Plan, memory_limit: int) -> LatticeLaw:
    """Compose the lower laws of all phases (raises as `upper_composition`)."""
    return _composition(phases, curve, chosen, memory_limit, upper=False)


def _composition(phases: Sequence[Phase], curve: Curve, chosen: Plan, memory_limit: int, *, upper: bool) -> LatticeLaw:
    grids = [cells(phase, curve, chosen, upper=upper, memory_limit=memory_limit) for phase in phases]
    check_memory(peak_points(phases, grids, chosen), memory_limit)
    one_step = upper_weights if upper else lower_weights
    coarsen: Coarsen = coarsen_up if upper else coarsen_down
    drop, budget = math.exp(chosen.log_drop), chosen.coarsen_budget
    parts: list[tuple[LatticeLaw, Repetition]] = []
    for phase, grid in zip(phases, grids, strict=True):
        weights = one_step(phase, curve, grid, chosen.tilt, prec=chosen.prec, working=chosen.working)
        repetition = repeated(phase, chosen)
        with working_precision(chosen.prec):
            if grid.scale == 1:
                parts.append((weights.dense(grid, chosen.tilt), repetition))
            else:
                both = split(weights, grid, chosen.tilt, coarsen)
                parts += gather(both, repetition, coarsen=coarsen, drop=drop, coarsen_budget=budget)
    with working_precision(chosen.prec):
        return compose(parts, coarsen=coarsen, drop=drop, coarsen_budget=budget, memory_limit=memory_limit)


_R = TypeVar("_R")


@dataclass(frozen=True)
class Trial(Generic[_R]):
    """One run of a search over lattice steps: a result, valid on its own, and what the search wants to know of it."""

    result: _R
    size: float  # what refinement should not move any more: ε, or log δ
    scale: float  # in units of this
    lost: float  # what truncation adds, relative to the rest


def refine_step(run: Callable[[Plan], Trial[_R]], chosen: Plan, relative_slack: Fraction) -> _R:
    """Divide the lattice step until halving it would move the bound by less than ``relative_slack``.

    A heuristic (the error is taken to be proportional to the square of the step): every run is valid on its own, and
    the last one is returned. A refinement that memory does not allow is not made.

    Raises:
        ResourceLimitError: the first, coarsest run is already too large.
    """
    slack = float(relative_slack)
    trial = run(chosen)
    factor = 2
    for _ in range(_MOST_ROUNDS):
        truncated = trial.lost > slack / 20
        if truncated:
            chosen = replace(chosen, log_drop=chosen.log_drop - math.log(trial.lost * 1000 / slack))
        else:
            chosen = chosen.refined(factor)
        try:
            finer = run(chosen)
        except ResourceLimitError:
            break
        halving = 3 * abs(finer.size - trial.size) / (factor**2 - 1) / trial.scale
        trial = finer
        if truncated:
            continue
        if halving <= slack:
            break
        factor = 1 << max(1, min(3, math.ceil(math.log2(1.2 * halving / slack) / 2)))
    return trial.result


def epsilon_trial(result: _R, epsilon: Fraction, chosen: Plan, lost: float) -> Trial[_R]:
    """Ask for ``relative_slack`` of ε, or of a share of the loss's deviation when that is larger."""
    size = float(epsilon)
    return Trial(result, size, max(size, chosen.epsilon_scale), lost)


def delta_trial(result: _R, delta: Fraction, lost: float) -> Trial[_R]:
    """Ask for ``relative_slack`` of log(1/δ), or of 1 when that is larger."""
    size = -log_estimate(delta) if delta > 0 else 1e6
    return Trial(result, size, max(size, 1.0), lost)
