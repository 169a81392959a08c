"""The lossless accountant: Proposition 1's own ε and δ, enclosed from both sides.

One pair dominates every step in the hockey-stick order; its curve is h(γ) = H_γ(ΔBer(p)+N ‖ N) for γ ≥ 1 and
1 − γ + γ·h(1/γ) for γ < 1. Composed above by a mean-preserving spread ("connect the dots"), below by hulls.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from certified_dp.composition.engine import (
    MEMORY_LIMIT,
    RELATIVE_SLACK,
    lower_composition,
    upper_composition,
)
from certified_dp.composition.grid import Plan, plan
from certified_dp.composition.hockey import epsilon_lower, epsilon_upper, lost_share
from certified_dp.composition.law import hockey_stick, hockey_stick_upper
from certified_dp.composition.one_step import Curve, OneStep, total_variation
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.errors import ResourceLimitError
from certified_dp.parameters import Phase, log_estimate

_MOST_ROUNDS = 8
_AIM = Fraction(3, 5)  # of the slack: one run on a finer lattice costs less than a second run


@dataclass(frozen=True)
class Enclosure:
    """Exact ends of an interval that contains the lossless accountant's own value."""

    lower: Fraction
    upper: Fraction
    grid_step: Fraction


def hockey_stick_ball(
    sampling_probability: Fraction, noise_multiplier: Fraction, gamma: Fraction, *, prec: int = 128
) -> arb:
    """Enclose Proposition 1's one-step hockey-stick curve h(γ), γ > 0.

    Source: Proposition 1 of the paper; spec, section 4, where h(γ) = P{z > x} − γ·Q{z > x} with r(x) = γ.

    >>> float(hockey_stick_ball(Fraction(1, 100), Fraction(2), Fraction(1)).mid()) < 0.01
    True
    """
    with working_precision(prec):
        step = OneStep(Phase(sampling_probability, noise_multiplier, 1))
        if gamma < 1:
            inner = hockey_stick_ball(sampling_probability, noise_multiplier, 1 / gamma, prec=prec)
            return 1 - ball(gamma) + ball(gamma) * inner
        q_mass, p_mass = step.forward_above(step.threshold(ball(gamma)))
        return p_mass - ball(gamma) * q_mass


def lossless_epsilon(
    phases: Sequence[Phase],
    delta: Fraction,
    *,
    relative_slack: Fraction = RELATIVE_SLACK,
    grid_step: Fraction | None = None,
    memory_limit: int = MEMORY_LIMIT,
) -> Enclosure:
    """Enclose the lossless accountant's ε at δ.

    Guarantee: Proposition 1's ε(δ) is in [lower, upper]; so every run of the phases, all iterates released, is
    (upper, δ)-differentially private under replace adjacency.
    Source: Proposition 1; domination theorem, “Floor and other lower bounds”.

    Args:
        phases: canonical (`as_phases`), at least one.
        delta: in (0, 1).
        relative_slack: the grid is refined until the two sides are this close (never affects validity).
        grid_step: use this lattice step in nats, and no refinement (10⁻⁴ is the paper's).
        memory_limit: in bytes.

    Returns:
        The enclosure, ends exact and rounded outward.

    Raises:
        ResourceLimitError: the grid does not fit into ``memory_limit``.

    >>> from certified_dp.parameters import DPSGD, as_phases
    >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=100)
    >>> result = lossless_epsilon(as_phases(run), Fraction(1, 10**6))
    >>> result.lower <= result.upper <= result.lower * Fraction("1.005")
    True
    """
    chosen = plan(phases, delta=delta, relative_slack=_AIM * relative_slack, grid_step=grid_step)
    with working_precision(chosen.prec):
        if total_variation(phases) <= ball(delta):
            return Enclosure(Fraction(0), Fraction(0), chosen.step)

    def sides(current: Plan) -> _Sides:
        above = upper_composition(phases, Curve.SYMMETRIC, current, memory_limit)
        below = lower_composition(phases, Curve.SYMMETRIC, current, memory_limit)
        with working_precision(current.prec):
            upper = epsilon_upper(above, delta, current.log_delta)
            lower = epsilon_lower(below, delta, current.log_delta)
            gap = float(upper - lower) / max(float(upper), current.epsilon_scale)
            return _Sides(lower, upper, gap, lost_share(above, upper))

    return _enclose(sides, chosen, relative_slack, refine=grid_step is None)


def lossless_delta(
    phases: Sequence[Phase],
    epsilon: Fraction,
    *,
    relative_slack: Fraction = RELATIVE_SLACK,
    grid_step: Fraction | None = None,
    memory_limit: int = MEMORY_LIMIT,
) -> Enclosure:
    """Enclose the lossless accountant's δ at ε; guarantee, arguments and exceptions as in `lossless_epsilon`.

    Here ``relative_slack`` is of log(1/δ), or absolute in log δ when δ > 1/e.
    """
    chosen = plan(phases, epsilon=epsilon, relative_slack=_AIM * relative_slack, grid_step=grid_step)

    def sides(current: Plan) -> _Sides:
        above = upper_composition(phases, Curve.SYMMETRIC, current, memory_limit)
        below = lower_composition(phases, Curve.SYMMETRIC, current, memory_limit)
        with working_precision(current.prec):
            upper = min(Fraction(1), upper_end(hockey_stick_upper(above, epsilon)))
            lower = max(Fraction(0), lower_end(hockey_stick(below, epsilon)))
            log_upper = log_estimate(upper)
            gap = (log_upper - log_estimate(lower)) / max(1.0, -log_upper) if lower else 1e6
            return _Sides(lower, upper, gap, lost_share(above, epsilon))

    return _enclose(sides, chosen, relative_slack, refine=grid_step is None)


@dataclass(frozen=True)
class _Sides:
    lower: Fraction
    upper: Fraction
    gap: float  # relative distance, to be brought below relative_slack
    lost: float  # what truncation adds to the upper side, relative to the rest


def _enclose(sides: Callable[[Plan], _Sides], chosen: Plan, relative_slack: Fraction, *, refine: bool) -> Enclosure:
    """Refine until the sides meet; intersect what the runs found, each run being valid on its own."""
    slack = float(relative_slack)
    found = sides(chosen)
    lower, upper = found.lower, found.upper
    for _ in range(_MOST_ROUNDS if refine else 0):
        if found.gap <= slack:
            break
        if found.lost > slack / 20:
            chosen = replace(chosen, log_drop=chosen.log_drop - math.log(found.lost * 1000 / slack))
        else:
            chosen = chosen.refined(1 << max(1, min(3, math.ceil(math.log2(1.1 * found.gap / slack) / 2))))
        try:
            found = sides(chosen)
        except ResourceLimitError:
            break
        lower, upper = max(lower, found.lower), min(upper, found.upper)
    return Enclosure(lower, upper, chosen.step)
