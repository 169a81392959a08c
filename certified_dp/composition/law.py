"""A likelihood ratio on a lattice of losses, in balls, and the expectations that are read off from it.

A *law* is a finite non-negative measure on the ratios e^{ℓ_i}, ℓ_i = offset + i·step, i = 0, 1, …; mass_i is its
mass under Q. It is stored as the polynomial whose i-th coefficient encloses the tilted mass mass_i·e^{θ·ℓ_i}, so that
the far tail keeps its relative accuracy; multiplying independent ratios multiplies the polynomials.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly

from certified_dp.enclosure import ball, finite, float_estimate, upper_ball

_UNRESOLVED = 1e12


@dataclass(frozen=True)
class LatticeLaw:
    """A non-negative measure on e^{offset + i·step}, and a bound on what is missing from it.

    Every coefficient *encloses* the mass of one fixed law, so a coefficient's ball may reach below 0 by rounding.
    An upper law plus a part of θ-mass E_Q r^θ at most ``dropped`` dominates the true ratio; a lower law is dominated
    by it as it stands, and its ``dropped`` is only informative.
    """

    weights: arb_poly
    offset: Fraction
    step: Fraction
    tilt: Fraction
    dropped: arb

    def __len__(self) -> int:
        """Return the number of lattice points."""
        return int(self.weights.length())

    def loss(self, index: int) -> Fraction:
        """Return ℓ_index, exactly."""
        return self.offset + index * self.step

    def theta_mass(self) -> arb:
        """Enclose Σ mass_i·e^{θℓ_i}, the θ-mass of what was kept."""
        return finite(self.weights(arb(1)), "the θ-mass of a law")


def unit_law(step: Fraction, tilt: Fraction) -> LatticeLaw:
    """Return the law of the ratio 1: the composition of no steps."""
    return LatticeLaw(arb_poly([1]), Fraction(0), step, tilt, arb(0))


def _moments_above(law: LatticeLaw, threshold: Fraction) -> tuple[arb, arb, arb]:
    """Enclose P(L > t), E_P[(L − t)·1{L > t}] and Q(L > t) over the kept masses, t = threshold.

    P has the mass mass_i·e^{ℓ_i}. With V the polynomial of the coefficients above t, and ℓ the loss of its first one,
    ΣP = e^{(1−θ)ℓ}V(x), x = e^{(1−θ)h}; Σ P·i = e^{(1−θ)ℓ}·x·V'(x); ΣQ = e^{−θℓ}V(e^{−θh}).
    """
    first = max(0, math.floor((threshold - law.offset) / law.step) + 1)
    if first >= len(law):
        return arb(0), arb(0), arb(0)
    above = law.weights.right_shift(first)
    loss, step, theta = law.loss(first), law.step, law.tilt
    x = ball((1 - theta) * step).exp()
    scale = ball((1 - theta) * loss).exp()
    p_mass = scale * above(x)
    excess = ball(loss - threshold) * p_mass + ball(step) * scale * x * above.derivative()(x)
    q_mass = ball(-theta * loss).exp() * above(ball(-theta * step).exp())
    return finite(p_mass, "a P-mass"), finite(excess, "a mean excess"), finite(q_mass, "a Q-mass")


def total_masses(law: LatticeLaw) -> tuple[arb, arb]:
    """Enclose the Q-mass and the P-mass that was kept."""
    p_mass, _, q_mass = _moments_above(law, law.offset - law.step)
    return q_mass, p_mass


def hockey_stick(law: LatticeLaw, epsilon: Fraction) -> arb:
    """Enclose E_Q (R − e^ε)_+ of the kept masses."""
    p_mass, _, q_mass = _moments_above(law, epsilon)
    return p_mass - ball(epsilon).exp() * q_mass


def hockey_stick_upper(law: LatticeLaw, epsilon: Fraction) -> arb:
    """Return an exact ball ≥ E_Q (R − e^ε)_+ of the kept and the dropped masses (law: an upper law).

    Why the second term: with K = e^ε and θ > 1, (t−K)_+ ≤ ((θ−1)^{θ−1}/θ^θ)·K^{1−θ}·t^θ for all t ≥ 0 (the maximum of
    (t−1)/t^θ is at t = θ/(θ−1)), so a dropped part of θ-mass e contributes at most e times that.
    """
    theta = ball(law.tilt)
    factor = ((theta - 1) * (theta - 1).log() - theta * theta.log() + ball((1 - law.tilt) * epsilon)).exp()
    return upper_ball(hockey_stick(law, epsilon) + law.dropped * factor)


def kl_hinge(law: LatticeLaw, hinge: Fraction) -> arb:
    """Enclose E_P[h((L−λ)_+)] = E_P[(L−λ)_+] − P(L > λ) + e^λ·Q(L > λ) of the kept masses, h(y) = y − 1 + e^{−y}."""
    p_mass, excess, q_mass = _moments_above(law, hinge)
    return excess - p_mass + ball(hinge).exp() * q_mass


def kl_hinge_upper(law: LatticeLaw, hinge: Fraction) -> arb:
    """Return an exact ball ≥ E_P[h((L−λ)_+)] of the kept and the dropped masses (law: an upper law).

    Why the second term: with γ = e^λ, f_γ(t) ≤ t·log(t/γ)·1{t > γ} ≤ γ·(t/γ)^θ/(e·(θ−1)), as log u ≤ u^{θ−1}/(e(θ−1));
    so a part of θ-mass m contributes at most m·γ^{1−θ}/(e(θ−1)), e = 2.718….
    """
    factor = ball((1 - law.tilt) * hinge - 1).exp() / ball(law.tilt - 1)
    return upper_ball(kl_hinge(law, hinge) + law.dropped * factor)


def lost_estimate(total: arb, kept: arb) -> float:
    """Estimate what truncation adds to an expectation, relative to the rest; large when the rest is not resolved."""
    middle, radius = float_estimate(kept), float_estimate(kept.rad())
    if middle <= 1000 * radius:
        return _UNRESOLVED if total > 0 else 0.0
    return min(1e30, float_estimate(total / kept) - 1)


def tail_estimates(law: LatticeLaw, log_scale: float) -> Iterator[tuple[float, float, float, float]]:
    """Yield (ℓ_i, P(L ≥ ℓ_i), E_P(L−ℓ_i)_+, E_P e^{−(L−ℓ_i)}1{L ≥ ℓ_i}), i falling; masses over e^{log_scale}.

    Floats, for searches only.
    """
    total = law.theta_mass()
    log_total = float_estimate(total.log()) - log_scale
    step, tilt_excess, offset = float(law.step), float(1 - law.tilt), float(law.offset)
    decay = math.exp(-step)
    p_tail = excess = q_tail = 0.0
    coefficients = law.weights.coeffs()
    for index in range(len(coefficients) - 1, -1, -1):
        loss = offset + index * step
        share = float((coefficients[index] / total).mid())
        mass = max(share, 0.0) * math.exp(min(600.0, tilt_excess * loss + log_total))
        excess += step * p_tail
        p_tail += mass
        q_tail = mass + decay * q_tail
        yield loss, p_tail, excess, q_tail
