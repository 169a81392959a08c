"""Central moments M_k = E[(L−1)^k] of the likelihood ratio L = e^{ΔZ−Δ²/2}, Z ~ N(0,1), Δ = 2/noise_multiplier.

M_k is the k-th forward difference of l ↦ E[L^l] = e^{l(l−1)Δ²/2} at l = 0. The differences cancel badly (in doubles
M_30 at σ = 20 already comes out negative), so the precision is raised until the moments are right.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flint import arb

from certified_dp.enclosure import ball, finite, refine, relative_accuracy_bits, working_precision
from certified_dp.errors import ResourceLimitError

#: Largest order of `wang` and `birrell`: a table of differences takes a number of operations quadratic in it.
MAX_ORDER = 2048
_LARGEST_MOMENT = MAX_ORDER + 6
_MAX_PREC = 1 << 19


def absolute_moment_bounds(noise_multiplier: Fraction, largest: int, *, prec: int) -> Sequence[arb]:
    """Enclose B_0, ..., B_largest (or more): B_k is M_k for an even k and sqrt(M_{k−1}·M_{k+1}) for an odd one.

    Guarantee: each ball contains its B_k ≥ E|L−1|^k and has about ``prec`` certain bits, or an exception is raised.
    Source: spec, section 4; M_k = Σ_l (−1)^{k−l} C(k,l) e^{l(l−1)Δ²/2}, and Cauchy-Schwarz for odd k.
    Args: noise_multiplier: Fraction > 0.  largest: int ≥ 0.  prec: bits.
    Returns: finite positive balls.
    Raises: PrecisionExhaustedError, ResourceLimitError.

    >>> B = absolute_moment_bounds(Fraction(2), 4, prec=64)
    >>> with working_precision(64):
    ...     M2, M4 = arb(1).expm1(), arb(6).exp() - 4 * arb(3).exp() + 6 * arb(1).exp() - 3
    ...     B[2].overlaps(M2), B[3].overlaps((M2 * M4).sqrt()), B[4].overlaps(M4)
    (True, True, True)
    """
    if largest > _LARGEST_MOMENT:
        raise ResourceLimitError(f"moment {largest} of the likelihood ratio: at most {_LARGEST_MOMENT} are tabulated")
    return _table(noise_multiplier, table_size(largest), -(-prec // 64) * 64)


def table_size(largest: int) -> int:
    """Round up the size of a table, so that few are made; always even.

    >>> table_size(20), table_size(256)
    (32, 362)
    """
    size = 32
    while size < largest:
        size += size // 4 * 2
    return size


@lru_cache(maxsize=32)
def _table(noise_multiplier: Fraction, size: int, prec: int) -> tuple[arb, ...]:
    """Enclose B_0, B_1, ..., B_size, size even, to about ``prec`` certain bits each."""
    square = 4 / noise_multiplier**2

    def even_moments(_: int) -> list[arb]:
        growth = ball(square).exp()
        row, ratio = [arb(1)], arb(1)  # e^{l(l−1)Δ²/2}, and e^{lΔ²}
        for _ in range(size):
            row.append(row[-1] * ratio)
            ratio *= growth
        moments = [row[0]]
        for k in range(1, size + 1):
            row = [right - left for left, right in pairwise(row)]
            if k % 2 == 0:
                moments.append(finite(row[0], "a moment of the likelihood ratio"))
        return moments

    # M_k is at least M_2^{k/2} ≈ Δ^k: about that many bits cancel.
    lost = size * max(1, (noise_multiplier.numerator // noise_multiplier.denominator).bit_length())
    even = refine(
        even_moments,
        lambda moments: all(relative_accuracy_bits(moment) >= prec for moment in moments),
        prec=prec + lost,
        max_prec=_MAX_PREC,
        what="moments of the likelihood ratio",
    )
    with working_precision(prec + 8):
        odd = [(below * above).sqrt() for below, above in pairwise(even)]
        rounded = [moment * 1 for moment in even]
        return (*(bound for pair in zip(rounded, odd, strict=False) for bound in pair), rounded[-1])
