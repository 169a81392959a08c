"""ε and δ of a composed law by its hockey-stick curve: float search, one evaluation in balls, a check, a nudge."""

import math
from collections.abc import Callable
from fractions import Fraction

from certified_dp.composition.law import LatticeLaw, hockey_stick, hockey_stick_upper, lost_estimate, tail_estimates
from certified_dp.enclosure import ball
from certified_dp.errors import PrecisionExhaustedError
from certified_dp.parameters import log_estimate

_NUDGES = 40


def lost_share(law: LatticeLaw, epsilon: Fraction) -> float:
    """Estimate what truncation changed in δ at ε, relative to the rest."""
    return lost_estimate(hockey_stick_upper(law, epsilon), hockey_stick(law, epsilon))


def epsilon_upper(law: LatticeLaw, delta: Fraction, log_scale: float) -> Fraction:
    """Return an ε ≥ 0 with E_Q(R − e^ε)_+ ≤ δ for the ratio R that the upper law dominates.

    Raises:
        PrecisionExhaustedError: what truncation dropped is larger than δ at every ε tried.
    """
    target = ball(delta)
    candidate = _nudged(law, delta, log_scale, 1, lambda epsilon: hockey_stick_upper(law, epsilon) <= target)
    if candidate is None:
        raise PrecisionExhaustedError("the mass that truncation dropped exceeds delta")
    return candidate


def epsilon_lower(law: LatticeLaw, delta: Fraction, log_scale: float) -> Fraction:
    """Return an ε ≥ 0 with E_Q(R − e^ε')_+ > δ for all ε' < ε, for the ratio R that dominates the lower law.

    0 unless certified positive: δ(ε) falls in ε, so δ_law(ε) > δ shows that ε(δ) > ε.
    """
    target = ball(delta)
    candidate = _nudged(law, delta, log_scale, -1, lambda epsilon: hockey_stick(law, epsilon) > target)
    return candidate or Fraction(0)


def _nudged(
    law: LatticeLaw, delta: Fraction, log_scale: float, direction: int, certified: Callable[[Fraction], bool]
) -> Fraction | None:
    root = _root_estimate(law, math.exp(min(600.0, log_estimate(delta) - log_scale)), log_scale)
    root = max(root, 0.0)
    nudge = 1e-12 * max(1e-6, root)
    for _ in range(_NUDGES):
        epsilon = max(Fraction(0), Fraction(root + direction * nudge))
        if certified(epsilon):
            return epsilon
        if epsilon == 0 and direction < 0:
            return None
        nudge *= 2.5
    return None


def _root_estimate(law: LatticeLaw, delta: float, log_scale: float) -> float:
    """Solve E_Q(R − e^ε)_+ = δ·e^{log_scale} in floats: between lattice points the curve is P − Q·e^{ε−ℓ}."""
    loss, p_above, q_above = float(law.loss(len(law) - 1)), 0.0, 0.0
    for here, p_tail, _, q_tail in tail_estimates(law, log_scale):
        if p_tail - q_tail >= delta:
            break
        loss, p_above, q_above = here, p_tail, q_tail
    if p_above > delta and q_above > 0:
        return loss + math.log((p_above - delta) / q_above)
    return loss if p_above == 0 else -math.inf
