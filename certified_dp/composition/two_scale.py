"""Very many steps with a tiny p: the bulk of a law on a fine lattice, its rare far tail on a coarse one.

A fine lattice over all losses would have millions of points. A law is therefore kept as a sum of two non-negative
measures, bulk + tail; its square is bulk² + 2·bulk·tail + tail², where the last two live on the coarse lattice, so the
bulk is coarsened in the second one: for the few blocks with a far loss only. Being a sum, a product or a coarsened part
of laws of one side, everything here is a law of that side.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

from flint import arb, arb_poly

from certified_dp.composition.compose import COARSEN_ABOVE, Coarsen, Repetition, trim
from certified_dp.composition.compose import product as compose_pair
from certified_dp.composition.law import LatticeLaw, total_masses
from certified_dp.composition.one_step import Cells, Weights
from certified_dp.enclosure import float_estimate, upper_ball

_SLIGHTLY = 1 << 20


@dataclass(frozen=True)
class TwoScaleLaw:
    """The measure bulk + tail. The bulk's mean is just above a point of the tail's lattice (a hull needs that)."""

    bulk: LatticeLaw
    tail: LatticeLaw

    def theta_mass(self) -> arb:
        """Enclose the θ-mass of what was kept."""
        return self.bulk.theta_mass() + self.tail.theta_mass()

    def rare(self, coarsen: Coarsen) -> LatticeLaw:
        """Bring the bulk to the tail's lattice."""
        factor = self.tail.step / self.bulk.step
        if factor.denominator != 1:
            raise ValueError("the bulk's lattice is coarser than the tail's")
        return coarsen(self.bulk, factor.numerator, self.tail.offset)


def split(weights: Weights, cells: Cells, tilt: Fraction, coarsen: Coarsen) -> TwoScaleLaw:
    """Split a one-step law at ±cells.window; beyond, its masses sit at multiples of cells.scale."""
    first, last = cells.indices[0], cells.indices[-1]
    low, high = max(first, 1 - cells.window), min(last, cells.window - 1)
    start = first if first <= -cells.window else cells.window
    far = {index: mass for index, mass in weights.masses.items() if abs(index) >= cells.window}
    nothing = arb(0)
    bulk = arb_poly([weights.masses.get(index, nothing) for index in range(low, high + 1)])
    tail = arb_poly([far.pop(index, nothing) for index in range(start, last + 1, cells.scale)])
    if far:
        raise ValueError("a mass beyond the window that is not on the coarse lattice")
    return _aligned(
        LatticeLaw(bulk, cells.loss(low), cells.step, tilt, weights.dropped),
        LatticeLaw(tail, cells.loss(start), cells.scale * cells.step, tilt, arb(0)),
        coarsen,
    )


def _aligned(bulk: LatticeLaw, tail: LatticeLaw, coarsen: Coarsen) -> TwoScaleLaw:
    """Move the tail to a lattice with a point just below the bulk's mean, unless it has one."""
    q_mass, p_mass = total_masses(bulk)
    if not (q_mass > 0 and p_mass > 0):  # nothing left to align with
        return TwoScaleLaw(bulk, tail)
    mean = Fraction(float_estimate((p_mass / q_mass).log())) - tail.step / _SLIGHTLY
    if (mean - tail.offset) / tail.step % 1 > Fraction(1, 16):
        tail = coarsen(tail, 1, mean)
    return TwoScaleLaw(bulk, tail)


def add(a: LatticeLaw, b: LatticeLaw) -> LatticeLaw:
    """Add two measures on one lattice."""
    if not len(a) or not len(b):  # an empty measure's offset means nothing
        return replace(a if len(a) else b, dropped=upper_ball(a.dropped + b.dropped))
    low, high = (a, b) if a.offset <= b.offset else (b, a)
    shift = (high.offset - low.offset) / low.step
    if low.step != high.step or shift.denominator != 1:
        raise ValueError("the measures are on different lattices")
    weights = low.weights + high.weights.left_shift(shift.numerator)
    return replace(low, weights=weights, dropped=upper_ball(low.dropped + high.dropped))


def product(a: TwoScaleLaw, b: TwoScaleLaw, share: float, coarsen: Coarsen) -> TwoScaleLaw:
    """Compose two laws with the same coarse lattice step, and drop ``share`` of the θ-mass."""
    fine = max(a.bulk.step, b.bulk.step)
    bulk_a, bulk_b = (
        x.bulk if x.bulk.step == fine else coarsen(x.bulk, (fine / x.bulk.step).numerator) for x in (a, b)
    )
    mass = a.theta_mass() * b.theta_mass()
    tail = compose_pair(a.tail, b.tail)
    for other in (compose_pair(a.rare(coarsen), b.tail), compose_pair(a.tail, b.rare(coarsen))):
        tail = add(tail, other)
    bulk, outside = _window(trim(compose_pair(bulk_a, bulk_b), share, mass), 16 * COARSEN_ABOVE)
    for part in outside:
        tail = add(tail, TwoScaleLaw(part, tail).rare(coarsen))
    return _aligned(bulk, trim(tail, share, mass), coarsen)


def _window(law: LatticeLaw, length: int) -> tuple[LatticeLaw, list[LatticeLaw]]:
    """Cut out the ``length`` consecutive points with the most θ-mass, and return what is on both sides."""
    if len(law) <= length:
        return law, []
    coefficients = law.weights.coeffs()
    sums = list(accumulate((float_estimate(c) for c in coefficients), initial=0.0))
    start = max(range(len(law) - length + 1), key=lambda k: sums[k + length] - sums[k])
    pieces = [coefficients[:start], coefficients[start : start + length], coefficients[start + length :]]
    below, inside, above = (
        replace(law, weights=arb_poly(piece), offset=law.loss(at), dropped=arb(0))
        for piece, at in zip(pieces, (0, start, start + length), strict=True)
    )
    return replace(inside, dropped=law.dropped), [part for part in (below, above) if len(part)]


def merge(law: TwoScaleLaw, coarsen: Coarsen) -> LatticeLaw:
    """Put all of a law on its coarse lattice."""
    return add(law.rare(coarsen), law.tail)


def gather(
    law: TwoScaleLaw, repetition: Repetition, *, coarsen: Coarsen, drop: float, coarsen_budget: float
) -> list[tuple[LatticeLaw, Repetition]]:
    """Square until the bulk's lattice has become the coarse one, and return laws for `compose` with their repetitions.

    They are the block of 2^k steps, taken count // 2^k times, and the remaining count % 2^k steps, taken once.
    """
    block, steps, rest, done = law, 1, None, 0
    remaining = repetition.count
    while remaining > 1 and block.bulk.step < block.tail.step:
        if remaining & 1:
            done += steps
            rest = block if rest is None else product(rest, block, drop * done / repetition.count, coarsen)
        remaining >>= 1
        steps *= 2
        block = product(block, block, drop * steps / repetition.count, coarsen)
        block = replace(block, bulk=repetition.coarsened(block.bulk, steps, coarsen, coarsen_budget, block.tail.step))
    parts = [(merge(block, coarsen), replace(repetition, count=remaining, unit=steps))]
    if rest is not None:
        parts.append((merge(rest, coarsen), replace(repetition, count=1, unit=done)))
    return parts
