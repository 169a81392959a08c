"""Composition: products of lattice laws, repeated squaring, truncation at both ends, coarsening.

Each operation keeps its law on its side. Upper laws: what is dropped is added, as θ-mass, to `dropped`; a spread that
keeps masses and means raises E f for every convex f, also inside a product of independent non-negative factors.
Lower laws: a part of a non-negative measure is a lower bound; a hull below a stop-loss curve is one in the increasing
convex order, which products of independent non-negative factors preserve.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, arb_poly

from certified_dp.composition.hull import hull_masses
from certified_dp.composition.law import LatticeLaw, unit_law
from certified_dp.enclosure import ball, float_estimate, upper_ball
from certified_dp.errors import ResourceLimitError

#: Rough memory per coefficient while two laws are multiplied: operands, product, lists of Python objects.
BYTES_PER_COEFFICIENT = 600
#: Shorter laws are never coarsened: multiplying them is cheap.
COARSEN_ABOVE = 1 << 13

Coarsen = Callable[[LatticeLaw], LatticeLaw]


@dataclass(frozen=True)
class Repetition:
    """How often a one-step law is taken, and what coarsening its blocks may cost (guidance, never validity)."""

    count: int
    step: float
    spread: float  # half the quartile distance of the one-step loss under Q: the scale of the bulk

    def may_coarsen(self, steps: int, scale: int, budget: float) -> bool:
        """Return whether the count/steps blocks of ``steps`` steps may get the lattice step scale·step.

        Each gains a variance of about (new step)²/8; the shares of successive coarsenings are geometric. The block must
        be smooth on the new lattice, or a hull would lose its mean.
        """
        coarse = scale * self.step
        return self.count / steps * coarse**2 / 8 <= budget / scale and 2 * coarse <= self.spread * math.sqrt(steps)


def product(a: LatticeLaw, b: LatticeLaw) -> LatticeLaw:
    """Compose two independent laws on the same lattice step with the same tilt.

    θ-mass is multiplicative, so of the product of (kept + dropped) laws everything but kept·kept has θ-mass at most
    e_A·(|w_B| + e_B) + |w_A|·e_B.
    """
    mass_a, mass_b = a.theta_mass(), b.theta_mass()
    dropped = upper_ball(a.dropped * (mass_b + b.dropped) + mass_a * b.dropped)
    return LatticeLaw(a.weights * b.weights, a.offset + b.offset, a.step, a.tilt, dropped)


def trim(law: LatticeLaw, share: float) -> LatticeLaw:
    """Drop coefficients at both ends, about ``share`` of the θ-mass in all, and add their sum to `dropped`.

    Any cut is valid: the sum of the dropped balls is accounted for exactly, whatever ``share`` is.
    """
    coefficients = law.weights.coeffs()
    limit = law.theta_mass() * share / 2
    low, high, lost = 0, len(coefficients), arb(0)
    tail = arb(0)
    while high > 1 and (tail + coefficients[high - 1]).upper() < limit:
        tail += coefficients[high - 1]
        high -= 1
    lost, tail = tail, arb(0)
    while low < high - 1 and (tail + coefficients[low]).upper() < limit:
        tail += coefficients[low]
        low += 1
    dropped = upper_ball(law.dropped + lost + tail)
    return replace(law, weights=arb_poly(coefficients[low:high]), offset=law.loss(low), dropped=dropped)


def coarsen_up(law: LatticeLaw) -> LatticeLaw:
    """Double the lattice step of an upper law: spread every odd atom to its two neighbours.

    An atom Q at ratio e^ℓ goes to e^{ℓ−h} and e^{ℓ+h} with the same mass and the same mean of the *ratio* (not of the
    loss): Q·t/(t+1) and Q/(t+1) with t = e^h. That is a mean-preserving spread, so E f rises for every convex f.
    Moving atoms to the nearer point, or keeping the mean of the loss, would not be a bound.
    """
    coefficients = law.weights.coeffs()
    t = ball(law.step).exp()
    tilt_up = ball(law.tilt * law.step).exp()
    odd = arb_poly(coefficients[1::2])
    down, up = t / (t + 1) / tilt_up, tilt_up / (t + 1)
    weights = arb_poly(coefficients[0::2]) + odd * down + (odd * up).left_shift(1)
    return replace(law, weights=weights, step=2 * law.step)


def coarsen_down(law: LatticeLaw) -> LatticeLaw:
    """Double the lattice step of a lower law: rebuild the hull below its own stop-loss curve.

    For every event E (also a fractional one), γ ↦ P(E) − γ·Q(E) lies below the stop-loss curve of a measure. In each
    coarse cell the event “above the middle lattice point, and half of that point” is used: a supporting line there.
    """
    coefficients = law.weights.coeffs()
    pairs = len(coefficients) // 2
    if pairs == 0:
        return replace(law, step=2 * law.step)
    q_factors = _geometric(-law.tilt * law.offset, -law.tilt * law.step, len(coefficients) + 1)
    ratios = _geometric(law.offset, law.step, len(coefficients) + 1)
    masses = [weight * factor for weight, factor in zip([*coefficients, arb(0)], q_factors, strict=True)]
    q_above = masses[2 * pairs]
    p_above = q_above * ratios[2 * pairs]
    lines = []
    for middle in range(2 * pairs - 1, 0, -2):
        q = masses[middle]
        p = q * ratios[middle]
        lines.append((q_above + q / 2, p_above + p / 2))
        q_above, p_above = q_above + q + masses[middle - 1], p_above + p + masses[middle - 1] * ratios[middle - 1]
    nodes = ratios[: 2 * pairs + 1 : 2]
    weights = [arb(0)] * len(nodes)
    for k, mass in hull_masses(nodes, lines[::-1], (q_above, p_above)):
        weights[k] = mass / q_factors[2 * k]
    return replace(law, weights=arb_poly(weights), step=2 * law.step)


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
        parts: laws of one side with the same tilt and step, and how often each is taken.
        coarsen: `coarsen_up` for upper laws, `coarsen_down` for lower ones.
        drop: share of the final θ-mass that may be dropped at each doubling.
        coarsen_budget: see `Repetition.may_coarsen`.
        memory_limit: in bytes.

    Raises:
        ResourceLimitError: a product would need more than ``memory_limit``; it is checked before each product.
    """
    total = sum(repetition.count for _, repetition in parts)
    result, done = unit_law(parts[0][0].step, parts[0][0].tilt), 0

    def multiplied(a: LatticeLaw, b: LatticeLaw, steps: int) -> LatticeLaw:
        check_memory(len(a) + len(b), memory_limit)
        return trim(product(a, b), drop * steps / total)

    for law, repetition in parts:
        block, steps = law, 1
        remaining = repetition.count
        while True:
            if remaining & 1:
                done += steps
                result = multiplied(*_on_one_lattice(result, block, coarsen), done)
            remaining >>= 1
            if not remaining:
                break
            block, steps = multiplied(block, block, 2 * steps), 2 * steps
            while len(block) > COARSEN_ABOVE and repetition.may_coarsen(
                steps, int(2 * block.step / law.step), coarsen_budget
            ):
                coarse = coarsen(block)
                change = float_estimate((coarse.theta_mass() / block.theta_mass()).log())
                if abs(change) * repetition.count / steps > coarsen_budget:
                    break
                block = coarse
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
