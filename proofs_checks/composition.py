"""domination_theorem.md, Corollary 2: adaptive compositions against independent single pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from certified_dp.divergence.moments import moment_gram_ball
from certified_dp.enclosure import ball, certainly_less, finite, working_precision
from proofs_checks.kl_hinge import sparse_grid
from proofs_checks.pairs import Pair, random_pair, single_pair_tails, tails
from proofs_checks.points import Points
from proofs_checks.registry import claim, require

_BITS, _PREC = 45, 80
_NEGLIGIBLE = arb(2) ** -30


@dataclass(frozen=True)
class Member:
    """A member f ≥ 0 of C₁ with f(t) ≤ square·(1 + t²)."""

    name: str
    value: Callable[[arb], arb]
    square: arb


def _relative_entropy(t: arb) -> arb:
    if t.is_zero():
        return arb(1)
    return finite(t * t.log() - t + 1, "t log t − t + 1")


def _hinge(level: Fraction) -> Member:
    gamma = ball(level)

    def value(t: arb) -> arb:
        # Where t straddles γ the hull of 0 and the smooth branch is taken: the branch is ≥ 0 on both sides.
        if t <= gamma:
            return arb(0)
        branch = t * (t / gamma).log() - t + gamma
        return branch if t > gamma else arb(0).union(branch)

    # log(x)/x ≤ 1/e gives t·log(t/γ) ≤ t²/(eγ).
    return Member(f"f_γ at γ = {level}", value, 1 / (gamma * arb(1).exp()))


@dataclass(frozen=True)
class Cells:
    """The law of r under Q restricted to r ≤ the last grid point, cell by cell.

    Attributes:
        grid: the cell boundaries, from 0.
        shares: per cell, the masses at its two ends with the cell's mass and mean.
        atoms: per cell, its mass and mean.
        second, fourth: upper bounds of E r² and E r⁴ under Q.
    """

    grid: tuple[arb, ...]
    shares: tuple[tuple[arb, arb], ...]
    atoms: tuple[tuple[arb, arb], ...]
    second: arb
    fourth: arb


def _cells(levels: list[Fraction], tail: Callable[[Fraction], tuple[arb, arb]], second: arb, fourth: arb) -> Cells:
    table = [(arb(1), arb(1)), *(tail(level) for level in levels[1:])]
    shares, atoms = [], []
    for low, high, (q_low, p_low), (q_high, p_high) in zip(levels, levels[1:], table, table[1:], strict=False):
        mass, moment = q_low - q_high, p_low - p_high
        width = ball(high - low)
        shares.append(((ball(high) * mass - moment) / width, (moment - ball(low) * mass) / width))
        atoms.append((mass, moment))
    return Cells(tuple(ball(level) for level in levels), tuple(shares), tuple(atoms), second, fourth)


def _levels(steps: int) -> list[Fraction]:
    """Return the grid: finer for two steps than for three, which take the product of three grids."""
    fine = {2: (Fraction(1, 60), Fraction(9, 8)), 3: (Fraction(1, 16), Fraction(3, 2))}
    step, growth = fine[steps]
    above = sparse_grid(Fraction(1), step=step, growth=growth)
    below = [1 / level for level in above[1:] if level < 30]
    return [Fraction(0), *reversed(below), *above]


def _single(sensitivity: Fraction, p: Fraction, levels: list[Fraction], *, backwards: bool) -> Cells:
    """Return the law of the single pair, or of the same pair with P and Q swapped (r → 1/r)."""

    def tail(level: Fraction) -> tuple[arb, arb]:
        if not backwards:
            return single_pair_tails(sensitivity, p, level)
        of_q, of_p = single_pair_tails(sensitivity, p, 1 / level)
        return 1 - of_p, 1 - of_q

    square = sensitivity * sensitivity
    gram = (Fraction(0), square, Fraction(0)) if backwards else (square, Fraction(0), Fraction(0))
    return _cells(levels, tail, *(moment_gram_ball(*gram, p, order, prec=_PREC) for order in (2, 4)))


def _planar(pair: Pair, levels: list[Fraction]) -> Cells:
    moments = (moment_gram_ball(*pair.gram, pair.p, order, prec=_PREC) for order in (2, 4))
    return _cells(levels, lambda level: tails(pair, level, bits=_BITS), *moments)


def _upper(laws: list[Cells], rule: Callable[[tuple[int, ...]], int], steps: int, member: Member) -> arb:
    """Bound E f(r₁⋯r_T) from above when step k uses laws[rule(cells of the earlier steps)].

    Each cell's part of the law is spread to the cell's ends: t ↦ E f(t·later steps) is convex for a fixed rule, and the
    rule is constant on a cell. Outcomes with some r_k > u, u the last grid point, add at most
    square·Σ_k E[1 + R²; r_k > u] ≤ T·square·(max E r² + max E r⁴·(max E r²)^{T−1})/u².
    """

    def expectation(history: tuple[int, ...], product: arb) -> arb:
        if len(history) == steps:
            return member.value(product)
        law = laws[rule(history)]
        total = arb(0)
        for index, ends in enumerate(law.shares):
            for share, point in zip(ends, law.grid[index : index + 2], strict=True):
                total += share * expectation((*history, index), product * point)
        return total

    second, fourth, last = laws[0].second, laws[0].fourth, laws[0].grid[-1]
    for law in laws[1:]:
        second, fourth = second.max(law.second), fourth.max(law.fourth)
    overflow = steps * member.square * (second + fourth * second ** (steps - 1)) / last**2
    return expectation((), arb(1)) + overflow


def _lower(law: Cells, steps: int, member: Member) -> arb:
    """Bound E f(r₁⋯r_T) from below for independent r_k: Jensen in every cell, and f ≥ 0 beyond the grid."""

    def expectation(remaining: int, product: arb) -> arb:
        if remaining == 0:
            return member.value(product)
        total = arb(0)
        for mass, moment in law.atoms:
            if mass > _NEGLIGIBLE:  # the other cells are dropped: f ≥ 0
                total += mass * expectation(remaining - 1, product * moment / mass)
        return total

    return expectation(steps, arb(1))


def _compare(name: str, steps: int, runs: int) -> None:
    """Draw adversaries that choose among three pairs by the outcomes so far, and compare each with independence."""
    points = Points(name)
    levels = _levels(steps)
    with working_precision(_PREC):
        for _ in range(runs):
            delta, p = points.choice(Fraction(1, 2), Fraction(1)), points.between(Fraction(1, 20), Fraction(1, 2))
            pair = random_pair(points, delta, p)
            while pair.is_flat:
                pair = random_pair(points, delta, p)
            star = _single(delta, p, levels, backwards=False)
            laws = [star, _single(delta, p, levels, backwards=True), _planar(pair, levels)]
            keys = [points.integer(1, 2) for _ in levels]
            start = points.integer(1, 2)

            def rule(history: tuple[int, ...], keys: list[int] = keys, start: int = start) -> int:
                # The pair worst for hockey-sticks after some outcomes, another one after the others.
                return (keys[history[-1]] + len(history)) % 3 if history else start

            for member in (Member("t log t − t + 1", _relative_entropy, arb(1)), _hinge(1 + p / 4), _hinge(1 + p)):
                value, bound = _upper(laws, rule, steps, member), _lower(star, steps, member)
                require(certainly_less(value, bound), f"{member.name}, Δ = {delta}, p = {p}, {steps} steps, {pair}")


@claim(
    name="two-step-composition",
    source="domination_theorem.md, Corollary 2",
    status="spot-checked",
    how="24 adaptive adversaries × 3 generators: spread laws against Jensen's lower bound, exact tail masses",
)
def two_steps() -> None:
    """D_f of a two-step adaptive composition is at most E f(r*₁r*₂)."""
    _compare("two steps", 2, 24)


@claim(
    name="three-step-composition",
    source="domination_theorem.md, Corollary 2",
    status="spot-checked",
    how="6 adaptive adversaries × 3 generators: spread laws against Jensen's lower bound, exact tail masses",
)
def three_steps() -> None:
    """D_f of a three-step adaptive composition is at most E f(r*₁r*₂r*₃)."""
    _compare("three steps", 3, 6)
