"""The witness of a KL-hinge bound: tilt, hinge and a lattice on which the checker composes the run again.

The checker's lattice has a point at 0 and is never coarsened. The composition is done here first, on the same cells,
so that the claim is known before the checker proves it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise

from certified_dp.composition.compose import coarsen_up, compose
from certified_dp.composition.engine import MEMORY_LIMIT
from certified_dp.composition.grid import Plan, cells, plan, repeated
from certified_dp.composition.law import LatticeLaw, kl_hinge_upper
from certified_dp.composition.one_step import Cells, Curve, upper_law
from certified_dp.enclosure import ball, decimal_upper, upper_end, working_precision
from certified_dp.errors import PrecisionExhaustedError, ResourceLimitError
from certified_dp.parameters import Phase, log_estimate
from certified_dp.witnesses import Step

#: Targets of the lattice's own loss, tried in turn until the whole loss is at most _LARGEST_LOSS.
_SLACKS = (Fraction(1, 1000), Fraction(1, 4000), Fraction(1, 16000))
_LARGEST_LOSS = Fraction(1, 200)
#: The checker rounds and drops more than the composition here; both are far below this.
_MARGIN = Fraction(1, 10**6)
_SPARE_DIGITS = 2
#: How much the lattice step may shrink to reach log q.
_MOST_REFINED = 16
#: The checker's limits, or less.
_LARGEST_DIGITS, _LARGEST_WORK, _LARGEST_LAW, _LARGEST_CELLS = 100, 600_000_000, 200_000, 20_000


@dataclass(frozen=True)
class HingeWitness:
    """A step of rule ``kl_hinge``, the ε that it is expected to prove, and the bits that the checker needs."""

    step: Step
    epsilon: Fraction
    bits: int


def hinge_witness(phases: Sequence[Phase], delta: Fraction, epsilon: Fraction) -> HingeWitness:
    """Find a lattice within the checker's limits that proves at most 0.5% more than ``epsilon``.

    Args: epsilon: the sharper bound found by `kl_hinge_epsilon`.
    Raises: ResourceLimitError: there is none; PrecisionExhaustedError.
    """
    for slack in _SLACKS:
        witness = _try(phases, delta, epsilon, _anchored(plan(phases, delta=delta, relative_slack=slack), phases))
        if witness.epsilon <= epsilon * (1 + _LARGEST_LOSS):
            return witness
    raise ResourceLimitError(
        f"kl_hinge: no lattice tried is within 0.5% (the last one gives {decimal_upper(witness.epsilon)})"
    )


def _anchored(chosen: Plan, phases: Sequence[Phase]) -> Plan:
    """Shrink the lattice step a little, so that log q of the longest phase is a lattice point, rounded down.

    Much of the mass sits just above q. Left alone when the step is far longer than |log q|, and when p = 1.
    """
    longest = max((phase for phase in phases), key=lambda phase: (phase.sampling_probability < 1, phase.steps))
    if longest.sampling_probability == 1:
        return chosen
    with working_precision(256):
        depth = upper_end(-ball(1 - longest.sampling_probability).log())
    count = math.ceil(depth / chosen.step)
    if _MOST_REFINED * depth < chosen.step:
        return chosen
    step = Fraction(decimal_upper(depth / count, 20))
    return replace(chosen, step=step)


def _try(phases: Sequence[Phase], delta: Fraction, epsilon: Fraction, chosen: Plan) -> HingeWitness:
    grids = [
        Cells(cells(phase, Curve.FORWARD, chosen, upper=True).indices, Fraction(0), chosen.step) for phase in phases
    ]
    digits = _digits(chosen)
    if digits > _LARGEST_DIGITS or max(len(grid.indices) for grid in grids) > _LARGEST_CELLS:
        raise ResourceLimitError("kl_hinge: the checker would need more digits or cells than it allows")
    parts = [
        (
            upper_law(phase, Curve.FORWARD, grid, chosen.tilt, prec=chosen.prec, working=chosen.working),
            repeated(phase, chosen),
        )
        for phase, grid in zip(phases, grids, strict=True)
    ]
    with working_precision(chosen.prec):
        law = compose(
            parts, coarsen=coarsen_up, drop=math.exp(chosen.log_drop), coarsen_budget=0.0, memory_limit=MEMORY_LIMIT
        )
        if len(law) > _LARGEST_LAW or 100 * digits * len(law) > _LARGEST_WORK:
            raise ResourceLimitError(f"kl_hinge: {len(law)} lattice points are too many for the checker")
        hinge = _best_hinge(law, delta, epsilon)
        proved = _epsilon_at(law, delta, hinge)
    step: Step = {
        "rule": "kl_hinge",
        "tilt": str(chosen.tilt),
        "hinge": str(hinge),
        "digits": digits,
        "drop_digits": _SPARE_DIGITS,
        "grids": [_grid(grid) for grid in grids],
    }
    return HingeWitness(step, max(proved * (1 + _MARGIN), Fraction(0)), _bits(chosen, grids, digits))


def _digits(chosen: Plan) -> int:
    """Choose the digits of the checker's masses: what T steps lose stays far below the θ-mass above the hinge.

    The plan's log_drop is 20 below the share of the θ-mass there.
    """
    share = -(chosen.log_drop + 20) / math.log(10)
    return max(12, math.ceil(math.log10(chosen.steps) + share + 12)) + _SPARE_DIGITS


def _bits(chosen: Plan, grids: Sequence[Cells], digits: int) -> int:
    """Choose the checker's bits: masses are second differences on the lattice, and are multiplied by e^{θx}."""
    top = max(float(grid.loss(grid.indices[-1])) for grid in grids)
    tilted = math.ceil((float(chosen.tilt) + 1) * max(top, 0.0) / math.log(2))
    return math.ceil(digits * math.log2(10)) + tilted + 2 * math.ceil(-log_estimate(chosen.step) / math.log(2)) + 96


def _grid(grid: Cells) -> Step:
    widths = groupby(right - left for left, right in pairwise(grid.indices))
    runs = [[width, len(list(same))] for width, same in widths]
    return {"grid_step": str(grid.step), "first": grid.indices[0], "cells": runs}


def _epsilon_at(law: LatticeLaw, delta: Fraction, hinge: Fraction) -> Fraction:
    """Evaluate Corollary 3 at λ = hinge; infinite values are refused."""
    c = kl_hinge_upper(law, hinge) / ball(delta)
    return upper_end(ball(hinge) + (c.expm1() / c).log())


def _best_hinge(law: LatticeLaw, delta: Fraction, epsilon: Fraction) -> Fraction:
    """Search for λ below ε; the bound is nearly unimodal in it."""
    epsilon = max(epsilon, Fraction(1, 10**6))
    unit = Fraction(decimal_upper(epsilon / 10**5, 1))
    low, high = -math.floor(epsilon / unit), math.ceil(epsilon / unit)

    def bound(n: int) -> Fraction | float:
        try:
            return _epsilon_at(law, delta, n * unit)
        except PrecisionExhaustedError:
            return math.inf

    while high - low > 2:
        left, right = (2 * low + high) // 3, (low + 2 * high + 2) // 3
        at_left = bound(left)  # infinite where λ is far too small
        low, high = (low, right - 1) if at_left < math.inf and at_left <= bound(right) else (left + 1, high)
    return min(range(low, high + 1), key=bound) * unit
