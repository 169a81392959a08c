"""Composition: products of lattice laws, repeated squaring, truncation at both ends, coarsening.

Each operation keeps its law on its side. Upper laws: what is dropped is added, as θ-mass, to `dropped`; a spread that
keeps masses and means raises E f for every convex f, also inside a product of independent non-negative factors.
Lower laws: a part of a non-negative measure is a lower bound; a hull below a stop-loss curve is one in the increasing
convex order, which products of independent non-negative factors preserve.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from flint import arb, arb_poly

from certified_dp.composition.hull import hull_masses
from certified_dp.composition.law import LatticeLaw, unit_law
from certified_dp.enclosure import ball, float_estimate, upper_ball
from certified_dp.errors import ResourceLimitError

#: Rough memory per coefficient while two laws are multiplied: operands, product, lists of Python objects.
BYTES_PER_COEFFICIENT = 600
#: Shorter laws are never coarsened: multiplying them is cheap.
COARSEN_ABOVE = 1 << 12


class Coarsen(Protocol):
    """`coarsen_up` or `coarsen_down`."""

    def __call__(self, law: LatticeLaw, factor: int = 2, reference: Fraction | None = None) -> LatticeLaw:
        """Return a law of the same side on a coarser lattice."""


@dataclass(frozen=True)
class Repetition:
    """How often a law is taken, and what coarsening its blocks may cost (guidance, never validity)."""

    count: int
    step: float  # the one-step law's lattice step
    spread: float  # half the quartile distance of the one-step loss under Q: the scale of the bulk
    unit: int = 1  # how many steps the law stands for

    def may_coarsen(self, steps: int, coarse: float, budget: float) -> bool:
        """Return whether blocks of ``steps`` steps may get the lattice step ``coarse``.

        Each gains a variance of about coarse²/8; the shares of successive coarsenings are geometric. The block must be
        smooth on the new lattice, or a hull would lose its mean.
        """
        blocks = self.count * self.unit / steps
        return blocks * coarse**3 / 8 <= budget * self.step and 2 * coarse <= self.spread * math.sqrt(steps)

    def coarsened(
        self, block: LatticeLaw, steps: int, coarsen: Coarsen, budget: float, limit: Fraction | None = None
    ) -> LatticeLaw:
        """Coarsen a long block as often as the budget allows, to the step ``limit`` at most.

        What it does to the θ-mass is measured.
        """
        while len(block) > COARSEN_ABOVE and self.may_coarsen(steps, 2 * float(block.step), budget):
            if block.step == limit:
                break
            coarse = coarsen(block)
            change = float_estimate((coarse.theta_mass() / block.theta_mass()).log())
            if abs(change) * self.count * self.unit / steps > budget:
                break
            block = coarse
        return block


def product(a: LatticeLaw, b: LatticeLaw) -> LatticeLaw:
    """Compose two independent laws on the same lattice step with the same tilt.

    θ-mass is multiplicative, so of the product of (kept + dropped) laws everything but kept·kept has θ-mass at most
    e_A·(|w_B| + e_B) + |w_A|·e_B.
    """
    mass_a, mass_b = a.theta_mass(), b.theta_mass()
    dropped = upper_ball(a.dropped * (mass_b + b.dropped) + mass_a * b.dropped)
    return LatticeLaw(a.weights * b.weights, a.offset + b.offset, a.step, a.tilt, dropped)


def trim(law: LatticeLaw, share: float, of: arb | None = None) -> LatticeLaw:
    """Drop coefficients at both ends, about ``share`` of the θ-mass in all, and add their sum to `dropped`.

    Any cut is valid: the sum of the dropped balls is accounted for exactly, whatever ``share`` is and refers to
    (``of``: a θ-mass, by default the law's own, of which everything may be dropped).
    """
    coefficients = law.weights.coeffs()
    limit = (law.theta_mass() if of is None else of) * share / 2
    low, high, lost = 0, len(coefficients), arb(0)
    tail = arb(0)
    while high > 0 and (tail + coefficients[high - 1]).upper() < limit:
        tail += coefficients[high - 1]
        high -= 1
    lost, tail = tail, arb(0)
    while low < high and (tail + coefficients[low]).upper() < limit:
        tail += coefficients[low]
        low += 1
    dropped = upper_ball(law.dropped + lost + tail)
    return replace(law, weights=arb_poly(coefficients[low:high]), offset=law.loss(low), dropped=dropped)


def coarsen_up(law: LatticeLaw, factor: int = 2, reference: Fraction | None = None) -> LatticeLaw:
    """Bring an upper law to the lattice reference + factor·step·ℤ: spread every atom to its two neighbours there.

    An atom Q at ratio e^ℓ goes to e^{ℓ−a} and e^{ℓ+b}, a + b = H, with the same mass and the same mean of the *ratio*
    (not of the loss): Q·(e^b−1)/(e^b−e^{−a}) and Q·(1−e^{−a})/(e^b−e^{−a}). That is a mean-preserving spread, so E f
    rises for every convex f. Moving atoms to the nearer point, or keeping the mean of the loss, would not be a bound.

    Args:
        law: an upper law.
        factor: how many lattice steps become one.
        reference: a point of the new lattice; the law's lowest point by default.
    """
    phase, start = _position(law, factor, reference)
    step, theta = factor * law.step, law.tilt
    shares = []
    for k in range(factor):  # an atom k + phase fine steps above the coarse point on its left
        a, b = (k + phase) * law.step, (factor - k - phase) * law.step
        left, right = ball(-a).exp(), ball(b).exp()
        down, up = (right - 1) / (right - left), (1 - left) / (right - left)
        shares.append((down * ball(-theta * a).exp(), up * ball(theta * b).exp()))
    coefficients = [arb(0)] * start[1] + law.weights.coeffs()
    weights = arb_poly([])
    for k, (down, up) in enumerate(shares):
        atoms = arb_poly(coefficients[k::factor])
        weights += atoms * down + (atoms * up).left_shift(1)
    return replace(law, weights=weights, offset=start[0], step=step)


def _position(law: LatticeLaw, factor: int, reference: Fraction | None) -> tuple[Fraction, tuple[Fraction, int]]:
    """Locate a law on the lattice reference + factor·step·ℤ.

    Returns the distance, in fine steps and in [0, 1), from the new lattice to the fine points just above it, the
    coarse point at or below the lowest atom, and how many fine points there are between the two.
    """
    if reference is None:
        return Fraction(0), (law.offset, 0)
    step = factor * law.step
    start = reference + (law.offset - reference) // step * step
    distance = (law.offset - start) / law.step
    whole = distance.numerator // distance.denominator
    return distance - whole, (start, whole)


def coarsen_down(law: LatticeLaw, factor: int = 2, reference: Fraction | None = None) -> LatticeLaw:
    """Bring a lower law to the lattice reference + factor·step·ℤ: rebuild the hull below its own stop-loss curve.

    For every event E (also a fractional one), γ ↦ P(E) − γ·Q(E) lies below the stop-loss curve of a measure. In each
    coarse cell the event “above the cell's middle” is used, each atom being counted as if it were spread over one fine
    step: then neighbouring lines of a smooth law meet at lattice points. Arguments as in `coarsen_up`.
    """
    phase, (start, skipped) = _position(law, factor, reference)
    if len(law) < 2 and not phase and not skipped:  # a point of the new lattice, or nothing at all
        return replace(law, step=factor * law.step)
    coefficients = [arb(0)] * skipped + law.weights.coeffs()
    cells = -(-len(coefficients) // factor)
    coefficients += [arb(0)] * (cells * factor - len(coefficients))
    lowest = start + phase * law.step
    q_factors = _geometric(-law.tilt * lowest, -law.tilt * law.step, len(coefficients))
    ratios = _geometric(lowest, law.step, len(coefficients))
    q_masses = [weight * q_factor for weight, q_factor in zip(coefficients, q_factors, strict=True)]
    p_masses = [mass * ratio for mass, ratio in zip(q_masses, ratios, strict=True)]
    shares = [min(max(k + phase + Fraction(1 - factor, 2), Fraction(0)), Fraction(1)) for k in range(factor)]
    above = [(k, ball(share)) for k, share in enumerate(shares) if share > 0]
    total = arb(0), arb(0)
    lines = []
    for left in range((cells - 1) * factor, -1, -factor):
        lines.append(
            (
                total[0] + sum((share * q_masses[left + k] for k, share in above), arb(0)),
                total[1] + sum((share * p_masses[left + k] for k, share in above), arb(0)),
            )
        )
        total = (
            total[0] + sum(q_masses[left : left + factor], arb(0)),
            total[1] + sum(p_masses[left : left + factor], arb(0)),
        )
    nodes = _geometric(start, factor * law.step, cells + 1)
    tilts = _geometric(law.tilt * start, law.tilt * factor * law.step, cells + 1)
    weights = [arb(0)] * (cells + 1)
    for k, mass in hull_masses(nodes, lines[::-1], total):
        weights[k] = mass * tilts[k]
    return replace(law, weights=arb_poly(weights), offset=start, step=factor * law.step)


def _geometric(first: Fraction, step: Fraction, count: int) -> list[arb]:
    """Enclose e^{first + i·step}, i < count."""
    value, factor = ball(first).exp(), ball(step).exp()
    values = []
    for _ in range(count):
        values.append(value)
        value *= factor
    return values


def compose(
    parts: Sequence[tuple[LatticeLaw, Repetition]],
    *,
    coarsen: Coarsen,
    drop: float,
    coarsen_budget: float,
    memory_limit: int,
) -> LatticeLaw:
    """Compose independent laws, each ``count`` times, by repeated squaring.

    Any ``drop`` and ``coarsen_budget`` give a valid law of the same side; they only govern tightness and speed.

    Args:
        parts: laws of one side with the same tilt, on lattice steps that differ by powers of two, and how often each
            is taken.
        coarsen: `coarsen_up` for upper laws, `coarsen_down` for lower ones.
        drop: share of the final θ-mass that may be dropped at each doubling.
        coarsen_budget: see `Repetition.may_coarsen`.
        memory_limit: in bytes.

    Raises:
        ResourceLimitError: a product would need more than ``memory_limit``; it is checked before each product.
    """
    total = sum(repetition.count * repetition.unit for _, repetition in parts)
    result, done = unit_law(parts[0][0].step, parts[0][0].tilt), 0

    def multiplied(a: LatticeLaw, b: LatticeLaw, steps: int) -> LatticeLaw:
        check_memory(len(a) + len(b), memory_limit)
        return trim(product(a, b), drop * steps / total)

    for law, repetition in parts:
        block, steps = law, repetition.unit
        remaining = repetition.count
        while True:
            if remaining & 1:
                done += steps
                result = multiplied(*_on_one_lattice(result, block, coarsen), done)
            remaining >>= 1
            if not remaining:
                break
            block, steps = multiplied(block, block, 2 * steps), 2 * steps
            block = repetition.coarsened(block, steps, coarsen, coarsen_budget)
    return result


def _on_one_lattice(a: LatticeLaw, b: LatticeLaw, coarsen: Coarsen) -> tuple[LatticeLaw, LatticeLaw]:
    while a.step < b.step:
        a = coarsen(a)
    while b.step < a.step:
        b = coarsen(b)
    return a, b


def check_memory(coefficients: int, memory_limit: int) -> None:
    """Refuse a product of this many coefficients when it needs more than ``memory_limit`` bytes.

    Raises:
        ResourceLimitError: with the sizes.
    """
    needed = coefficients * BYTES_PER_COEFFICIENT
    if needed > memory_limit:
        raise ResourceLimitError(
            f"a lattice of {coefficients} points needs about {needed >> 20} MiB, more than the limit of "
            f"{memory_limit >> 20} MiB: allow more memory, a coarser grid_step or a larger relative_slack"
        )
