"""The KL-hinge accountant: the sharpest certified (ε, δ) bound (domination theorem, Corollary 3).

With L the composed loss of the single pair under P*, h(y) = y − 1 + e^{−y}, F(λ) = E h((L−λ)_+), for every real λ and
c > 0:  δ(λ + log((e^c−1)/c)) ≤ F(λ)/c.  F is taken of an upper law, so it only grows. λ (and c) are found in floats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from certified_dp.composition.engine import (
    MEMORY_LIMIT,
    RELATIVE_SLACK,
    Trial,
    delta_trial,
    epsilon_trial,
    refine_step,
    upper_composition,
)
from certified_dp.composition.grid import Plan, plan
from certified_dp.composition.law import LatticeLaw, kl_hinge, kl_hinge_upper, lost_estimate, tail_estimates
from certified_dp.composition.one_step import Curve
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.parameters import Phase


@dataclass(frozen=True)
class KLHingeBound:
    """δ(epsilon) ≤ delta for the release of all iterates, with the exact numbers that the bound was computed from."""

    epsilon: Fraction
    delta: Fraction
    hinge: Fraction  # λ, in nats
    tilt: Fraction  # θ
    grid_step: Fraction  # the one-step lattice's, in nats
    dropped: Fraction  # bound on the θ-mass that truncation left out
    lattice_points: int


def kl_hinge_epsilon(
    phases: Sequence[Phase],
    delta: Fraction,
    *,
    relative_slack: Fraction = RELATIVE_SLACK,
    memory_limit: int = MEMORY_LIMIT,
) -> KLHingeBound:
    """Bound ε at δ from above.

    Guarantee: every run of the phases, batches and noises fresh at each step, all iterates released, is
    (epsilon, delta)-differentially private under replace adjacency.
    Source: domination theorem, Corollary 3 and “Computing it with balls”.
    Assumes: per-record L2 norm ≤ C; settings of the phases fixed in advance; the rest may be adaptive.

    Args:
        phases: canonical (`as_phases`), at least one.
        delta: in (0, 1).
        relative_slack: the grid is refined until halving it moves ε by less (never affects validity).
        memory_limit: in bytes.

    Returns:
        The bound; epsilon ≥ 0 is exact, rounded up.

    Raises:
        ResourceLimitError: the grid does not fit into ``memory_limit``.
        PrecisionExhaustedError: a ball was not finite.

    >>> from certified_dp.parameters import DPSGD, as_phases
    >>> run = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=100)
    >>> 0.954 < float(kl_hinge_epsilon(as_phases(run), Fraction(1, 10**6)).epsilon) < 0.997
    True
    """
    chosen = plan(phases, delta=delta, relative_slack=relative_slack)

    def run(current: Plan) -> Trial[KLHingeBound]:
        law = upper_composition(phases, Curve.FORWARD, current, memory_limit)
        with working_precision(current.prec):
            hinge = Fraction(_best_hinge(law, current.log_delta))
            total = kl_hinge_upper(law, hinge)
            lost = lost_estimate(total, kl_hinge(law, hinge))
            epsilon = max(Fraction(0), upper_end(ball(hinge) + _log_slope(total / ball(delta))))
            return epsilon_trial(_bound(epsilon, delta, hinge, law, current), epsilon, current, lost)

    return refine_step(run, chosen, relative_slack)


def kl_hinge_delta(
    phases: Sequence[Phase],
    epsilon: Fraction,
    *,
    relative_slack: Fraction = RELATIVE_SLACK,
    memory_limit: int = MEMORY_LIMIT,
) -> KLHingeBound:
    """Bound δ at ε from above; guarantee, arguments and exceptions as in `kl_hinge_epsilon`.

    With c found in floats, λ is the lower end of ε − log((e^c−1)/c): F falls in λ, so F(λ)/c only grows by that.
    """
    chosen = plan(phases, epsilon=epsilon, relative_slack=relative_slack)

    def run(current: Plan) -> Trial[KLHingeBound]:
        law = upper_composition(phases, Curve.FORWARD, current, memory_limit)
        with working_precision(current.prec):
            c = ball(Fraction(_best_slope(law, current.log_delta, float(epsilon))))
            hinge = lower_end(ball(epsilon) - _log_slope(c))
            total = kl_hinge_upper(law, hinge)
            lost = lost_estimate(total, kl_hinge(law, hinge))
            delta = min(Fraction(1), upper_end(total / c))
            return delta_trial(_bound(epsilon, delta, hinge, law, current), delta, lost)

    return refine_step(run, chosen, relative_slack)


def _bound(epsilon: Fraction, delta: Fraction, hinge: Fraction, law: LatticeLaw, current: Plan) -> KLHingeBound:
    return KLHingeBound(epsilon, delta, hinge, law.tilt, current.step, upper_end(law.dropped), len(law))


def _log_slope(c: arb) -> arb:
    """Enclose log((e^c−1)/c), which is 0 at c = 0 (no kept or dropped mass above the hinge)."""
    return arb(0) if c == 0 else (c.expm1() / c).log()


def _log_slope_estimate(c: float) -> float:
    return c / 2 if c < 1e-8 else c + math.log(-math.expm1(-c) / c)


def _best_hinge(law: LatticeLaw, log_delta: float) -> float:
    """Search the lattice for the λ with the least λ + log((e^c−1)/c), c = F(λ)/δ."""
    best, hinge = math.inf, _top(law)
    for loss, p_tail, excess, q_tail in tail_estimates(law, log_delta):
        c = max(0.0, excess - p_tail + q_tail)
        if c > 60:
            break
        epsilon = loss + _log_slope_estimate(c)
        if epsilon < best:
            best, hinge = epsilon, loss
    return hinge


def _top(law: LatticeLaw) -> float:
    """Estimate the largest loss of a law."""
    return float(law.loss(len(law) - 1))


def _best_slope(law: LatticeLaw, log_scale: float, epsilon: float) -> float:
    """Search the lattice points λ < ε for the c with λ + log((e^c−1)/c) = ε and the least F(λ)/c."""
    best, slope = math.inf, 1.0
    for loss, p_tail, excess, q_tail in tail_estimates(law, log_scale):
        if loss >= epsilon:
            continue
        c = _solve_log_slope(epsilon - loss)
        delta = max(0.0, excess - p_tail + q_tail) / c
        if delta < best:
            best, slope = delta, c
        elif delta > 2 * best:
            break
    return slope


def _solve_log_slope(value: float) -> float:
    """Solve log((e^c−1)/c) = value > 0 by Newton's method from above (the function is convex)."""
    c = 2 * value + 1e-300
    for _ in range(60):
        slope = 1 / -math.expm1(-c) - 1 / c if c > 1e-4 else 0.5 + c / 12
        moved = c - (_log_slope_estimate(c) - value) / slope
        if abs(moved - c) <= 1e-13 * c:
            break
        c = moved
    return c
