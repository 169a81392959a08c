"""domination_theorem.md, “Why the family is a ball”: the coupling of the two batches."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from fractions import Fraction
from itertools import combinations
from math import comb

import sympy as sp

from proofs_checks.registry import claim, require
from proofs_checks.symbolic import must_vanish


@claim(
    name="batch-coupling",
    source="domination_theorem.md, coupling; Section 3",
    status="proved",
    how="binomial identities for symbolic n, b; also every batch enumerated exactly for n ≤ 7",
)
def batch_coupling() -> None:
    """A b-subset J of the other records in which, with probability b/n, one element is replaced by i* is uniform."""
    n, b = sp.symbols("n b", integer=True, positive=True)
    uniform = 1 / sp.binomial(n, b)
    subsets = sp.binomial(n - 1, b)
    # A batch without i* is J itself. A batch with i* arises from the n−b elements that may have been replaced.
    must_vanish((1 - b / n) / subsets - uniform, "batches without i*", sp.combsimp)
    must_vanish(b / n * (n - b) / (b * subsets) - uniform, "batches with i*", sp.combsimp)
    for size in range(2, 8):
        for batch in range(1, size):
            _enumerate(size, batch)


def _enumerate(n: int, b: int) -> None:
    """Add up the exact probability of each batch of b among n records, record 0 being i*."""
    probability: dict[frozenset[int], Fraction] = {}
    for chosen in combinations(range(1, n), b):
        weight = Fraction(1, comb(n - 1, b))
        kept = frozenset(chosen)
        probability[kept] = probability.get(kept, Fraction(0)) + weight * (1 - Fraction(b, n))
        for replaced in chosen:
            batch = kept - {replaced} | {0}
            probability[batch] = probability.get(batch, Fraction(0)) + weight * Fraction(b, n) / b
    require(len(probability) == comb(n, b), f"some batch never arises (n={n}, b={b})")
    require(all(value == Fraction(1, comb(n, b)) for value in probability.values()), f"not uniform (n={n}, b={b})")
