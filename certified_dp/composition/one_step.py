"""One step of DP-SGD as a law on the lattice: spread upwards (upper laws) or put below by a hull (lower laws).

Three curves, all cut along the one noise coordinate z at thresholds x, with r(z) = q + p·e^{Δz − Δ²/2}:

* forward: the single pair (ΔBer(p)+N ‖ N), ratio r; {z > x} has masses (Q, P) = (Φ(−x), qΦ(−x) + pΦ(Δ−x));
* reversed: (N ‖ ΔBer(p)+N), ratio 1/r; {z < x} has masses (qΦ(x) + pΦ(x−Δ), Φ(x));
* symmetric: Proposition 1's, h(γ) = forward's for γ ≥ 1 and 1 − γ + γ·h(1/γ) for γ < 1. There, for any event E,
  1 − γ + γ·(P(E) − Q(E)/γ) = (1 − Q(E)) − γ·(1 − P(E)): the reversed curve, cut at the complement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly

from certified_dp.composition.hull import Line, hull_masses
from certified_dp.composition.law import LatticeLaw
from certified_dp.enclosure import ball, finite, lower_ball, upper_ball, working_precision
from certified_dp.gaussian import normal_cdf
from certified_dp.parameters import Phase


class Curve(Enum):
    """Which pair's one-step likelihood ratio."""

    FORWARD = "forward"
    REVERSED = "reversed"
    SYMMETRIC = "symmetric"


@dataclass(frozen=True)
class Cells:
    """The lattice of one step: losses i·step + shift, and the (increasing) indices that bound the cells."""

    indices: Sequence[int]
    shift: Fraction
    step: Fraction
    touching: Sequence[Fraction] = ()  # lower laws: a loss in each cell, where the line touches the curve
    window: int = 0  # indices beyond ±window are multiples of scale
    scale: int = 1

    def loss(self, index: int) -> Fraction:
        """Return the loss of lattice point ``index``."""
        return self.shift + index * self.step


def _is_forward(curve: Curve, loss: Fraction) -> bool:
    """Return whether the curve at this loss is the forward pair's."""
    return curve is Curve.FORWARD or (curve is Curve.SYMMETRIC and loss >= 0)


class OneStep:
    """p, q, Δ in balls at the precision where it is built, and the masses of half lines of z."""

    def __init__(self, phase: Phase) -> None:
        """Enclose the parameters of one phase."""
        self.p = ball(phase.sampling_probability)
        self.q = ball(1 - phase.sampling_probability)
        self.sensitivity = ball(phase.sensitivity)

    def threshold(self, gamma: arb) -> arb:
        """Enclose x with r(x) = γ, for γ > q."""
        return ((gamma - self.q) / self.p).log() / self.sensitivity + self.sensitivity / 2

    def forward_above(self, x: arb) -> Line:
        """Enclose the masses (Q, P) of {z > x} under (N, ΔBer(p)+N)."""
        q_mass = normal_cdf(-x)
        return q_mass, self.q * q_mass + self.p * normal_cdf(self.sensitivity - x)

    def reversed_above(self, x: arb) -> Line:
        """Enclose the masses (Q, P) of {z < x}, where the reversed ratio is > 1/r(x)."""
        p_mass = normal_cdf(x)
        return self.q * p_mass + self.p * normal_cdf(x - self.sensitivity), p_mass

    def above(self, curve: Curve, loss: Fraction) -> Line:
        """Enclose the masses (Q, P) of {ratio > e^loss}; at loss = 0 of the symmetric curve, its forward part's."""
        if _is_forward(curve, loss):
            gamma = ball(loss).exp()
            if gamma <= self.q:
                return arb(1), arb(1)
            return self.forward_above(finite(self.threshold(gamma), "a threshold"))
        inverse = ball(-loss).exp()
        if inverse <= self.q:
            return arb(0), arb(0)
        return self.reversed_above(finite(self.threshold(inverse), "a threshold"))

    def theta_mass_above(self, z_max: arb, theta: arb) -> arb:
        """Return an exact ball ≥ E r^θ·1{z > z_max}, θ > 1.

        It is τ = 2^{θ−1}(q^θ Φ(−z_max) + p^θ e^{θ(θ−1)Δ²/2} Φ(θΔ−z_max)), since (a+b)^θ ≤ 2^{θ−1}(a^θ+b^θ).
        """
        shift = theta * self.sensitivity
        mass = self.p**theta * (shift * (shift - self.sensitivity) / 2).exp() * normal_cdf(shift - z_max)
        if self.q > 0:
            mass += self.q**theta * normal_cdf(-z_max)
        return upper_ball(2 ** (theta - 1) * mass)


def total_variation(phases: Sequence[Phase]) -> arb:
    """Enclose Σ T_k·p_k·(2Φ(Δ_k/2)−1): total variation is subadditive, so it is ≥ every pair's composed δ at ε = 0.

    It bounds both directions of the single pair and Proposition 1's curve, whose one-step δ at ε = 0 is each term.
    """
    total = arb(0)
    for phase in phases:
        half = ball(phase.sensitivity) / 2
        total += ball(phase.steps * phase.sampling_probability) * (2 * normal_cdf(half) - 1)
    return total


@dataclass(frozen=True)
class Weights:
    """A one-step law before it is put on a polynomial: tilted masses by lattice index, and the θ-mass left out."""

    masses: dict[int, arb]
    dropped: arb

    def dense(self, cells: Cells, tilt: Fraction) -> LatticeLaw:
        """Put all of it on one polynomial."""
        first, last = cells.indices[0], cells.indices[-1]
        nothing = arb(0)
        poly = arb_poly([self.masses.get(index, nothing) for index in range(first, last + 1)])
        return LatticeLaw(poly, cells.loss(first), cells.step, tilt, self.dropped)


def upper_law(phase: Phase, curve: Curve, cells: Cells, tilt: Fraction, *, prec: int, working: int) -> LatticeLaw:
    """Spread the one-step ratio to the cells' end points: an upper law (forward or symmetric curve)."""
    return upper_weights(phase, curve, cells, tilt, prec=prec, working=working).dense(cells, tilt)


def lower_law(phase: Phase, curve: Curve, cells: Cells, tilt: Fraction, *, prec: int, working: int) -> LatticeLaw:
    """Put a lattice law below the one-step ratio in the increasing convex order."""
    return lower_weights(phase, curve, cells, tilt, prec=prec, working=working).dense(cells, tilt)


def upper_weights(phase: Phase, curve: Curve, cells: Cells, tilt: Fraction, *, prec: int, working: int) -> Weights:
    """Spread the one-step ratio to the cells' end points: an upper law (forward or symmetric curve).

    Why it is an upper bound: within a cell [γ_i, γ_j] the ratio is replaced by the two end points with the same mass
    and mean, below the first lattice point by 0 and that point: a mean-preserving spread. An atom at 0 adds nothing to
    E f for f = 0 near 0. Ratios above the last lattice point (z > z_max) are cut off first, under the original law;
    their θ-mass goes to `dropped`.
    """
    with working_precision(working):
        step = OneStep(phase)
        points = [(index, step.above(curve, cells.loss(index))) for index in cells.indices]
        if curve is Curve.SYMMETRIC:  # its kink at γ = 1: the ratio is 1 with probability q·(2Φ(Δ/2)−1)
            zero = next(k for k, (index, _) in enumerate(points) if cells.loss(index) == 0)
            points.insert(zero, (points[zero][0], step.reversed_above(step.sensitivity / 2)))
        masses = _spread(points, cells, ball(tilt))
        top = ball(cells.loss(cells.indices[-1])).exp()
        lost = step.theta_mass_above(lower_ball(finite(step.threshold(top), "the cut")), ball(tilt))
    with working_precision(prec):
        return Weights(_rounded(masses), lost)


def lower_weights(phase: Phase, curve: Curve, cells: Cells, tilt: Fraction, *, prec: int, working: int) -> Weights:
    """Put a lattice law below the one-step ratio in the increasing convex order: the hull of one line for each cell.

    The line of the event {ratio > e^ℓ}, ℓ = cells.touching, is below the curve and touches it there; any ℓ is valid.
    Below the lattice the line 1 − γ is used. The symmetric curve's kink γ = 1 must be one of the cells' ends and each
    ℓ in its cell, because the two sides' lines are below the curve on their own side only.
    """
    ends = cells.indices
    if curve is Curve.SYMMETRIC and not any(cells.loss(index) == 0 for index in ends):
        raise ValueError("the kink of the symmetric curve is not a lattice point")
    if any(not cells.loss(i) < x < cells.loss(j) for (i, j), x in zip(pairwise(ends), cells.touching, strict=True)):
        raise ValueError("a touching point outside its cell")
    with working_precision(working):
        step = OneStep(phase)
        lines = [step.above(curve, loss) for loss in cells.touching]
        nodes = [ball(cells.loss(index)).exp() for index in ends]
        masses = {ends[k]: mass * nodes[k] ** ball(tilt) for k, mass in hull_masses(nodes, lines, (arb(1), arb(1)))}
    with working_precision(prec):
        return Weights(_rounded(masses), arb(0))


def _rounded(masses: dict[int, arb]) -> dict[int, arb]:
    return {index: mass * 1 for index, mass in masses.items()}


def _spread(points: Sequence[tuple[int, Line]], cells: Cells, theta: arb) -> dict[int, arb]:
    """Return the tilted masses of the mean-preserving spread; equal consecutive indices mean an atom."""
    first, before = points[0][0], (arb(1), arb(1))
    masses = {}
    # below the first point: mass and mean of (0, γ] go to 0 and γ, so γ receives mean/γ
    left, left_gamma, left_mass = first, ball(cells.loss(first)).exp(), arb(0)
    for index, tail in points:
        mass, mean = before[0] - tail[0], before[1] - tail[1]
        gamma = ball(cells.loss(index)).exp()
        if index == left:
            left_mass += mean / gamma
        else:
            width = gamma - left_gamma
            masses[left] = (left_mass + (gamma * mass - mean) / width) * left_gamma**theta
            left, left_mass = index, (mean - left_gamma * mass) / width
            left_gamma = gamma
        before = tail
    masses[left] = left_mass * left_gamma**theta
    return masses
