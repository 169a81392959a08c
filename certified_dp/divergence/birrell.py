"""The one-step Rényi bound of Birrell et al. 2024, for comparison: a Taylor expansion in p with a remainder bound."""

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, factorial, prod

from flint import arb

from certified_dp.divergence.forward_differences import MAX_ORDER, absolute_moment_bounds, table_size
from certified_dp.enclosure import ball, finite, working_precision

#: The orders m of the expansion that are tried.
EXPANSION_ORDERS = (3, 4, 5)


def rdp_birrell_ball(noise_multiplier: Fraction, sampling_probability: Fraction, order: int, *, prec: int) -> arb:
    """Enclose the smallest of the bounds `rdp_birrell_expansion_ball` over the expansion orders 3, 4 and 5.

    Guarantee: the ball contains min_m ρ_B, or an exception is raised. That ρ_B bounds the Rényi divergence is the
        theorem of Birrell et al., quoted here.
    Source, Assumes, Args, Returns, Raises: as `rdp_birrell_expansion_ball`.

    Example:
        >>> rdp_birrell_ball(Fraction(2), Fraction(1, 100), 5, prec=64).str(6, radius=False)
        '0.00226074'
    """
    first, *others = (
        rdp_birrell_expansion_ball(noise_multiplier, sampling_probability, order, m, prec=prec)
        for m in EXPANSION_ORDERS
    )
    with working_precision(prec):
        for other in others:
            first = first.min(other)
        return first


def rdp_birrell_expansion_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, m: int, *, prec: int
) -> arb:
    """Enclose the one-step Rényi bound of Birrell et al. with the Taylor expansion cut at p^m.

    Guarantee: the ball contains ρ_B = log(1 + α(α−1)(e^{Δ²}−e^{Δ²/2})p² + Σ_{k=3}^{m−1} p^k/k!·D_k + R_m)/(α−1), or an
        exception is raised.
    Source: spec, section 4; Birrell et al. 2024, Theorem 3.4. Symbols: p=sampling_probability, α=order,
        Δ=2/noise_multiplier, D_k = B_k·`_coefficient`, R_m = `_remainder`.
    Assumes: replace adjacency; per-record L2 norm ≤ C; noise standard deviation noise_multiplier·C/batch_size on the
        mean gradient.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.
        m: 3, 4 or 5.  prec: working precision in bits (changes tightness, never validity).
    Returns: finite arb, in nats.
    Raises: PrecisionExhaustedError, ResourceLimitError.

    Example:
        >>> rdp_birrell_expansion_ball(Fraction(2), Fraction(1, 100), 5, 3, prec=64).str(6, radius=False)
        '0.00226074'
    """
    p, alpha = sampling_probability, order
    with working_precision(prec + 2 * order.bit_length() + 20):
        bounds = absolute_moment_bounds(noise_multiplier, m, prec=prec)
        half = ball(2 / noise_multiplier**2)  # Δ²/2
        excess = ball(p * p * alpha * (alpha - 1)) * half.exp() * half.expm1()
        for k in range(3, m):
            excess += bounds[k] * ball(p**k / factorial(k) * _coefficient(alpha, k))
        excess += ball(p**m / factorial(m)) * _remainder(noise_multiplier, p, alpha, m, prec)
        return finite(excess.log1p() / (alpha - 1), "Birrell et al.'s bound")


def _coefficient(alpha: int, k: int) -> Fraction:
    """Return D_k/B_k, where D_k bounds the k-th derivative in p at p = 0."""
    total = Fraction(4 if k % 2 == 0 else 3)
    for j in range(k + 1):
        falling = prod((1 - Fraction(i, alpha) for i in range(1, j)), start=Fraction(1))
        rising = prod((1 + Fraction(i - 1, alpha) for i in range(k - j)), start=Fraction(1))
        total += comb(k, j) * abs(Fraction(alpha, alpha - 1) * falling * rising - 1)
    return total * (alpha - 1) * Fraction(alpha) ** (k - 1)


def _remainder(noise_multiplier: Fraction, p: Fraction, alpha: int, m: int, prec: int) -> arb:
    """Enclose R_m·m!/p^m, where R_m bounds the remainder of the expansion."""
    total, q = arb(0), ball(1 - p)
    moments = _remainder_moments(noise_multiplier, p, m, min(table_size(alpha), MAX_ORDER), prec)
    for j in range(min(m, alpha) + 1):
        products = prod(alpha - i for i in range(j)) * prod(alpha + i - 1 for i in range(m - j))
        total += comb(m, j) * products * moments[alpha - j] / q ** (alpha + m - j - 1)
    return total


@lru_cache(maxsize=64)
def _remainder_moments(noise_multiplier: Fraction, p: Fraction, m: int, size: int, prec: int) -> tuple[arb, ...]:
    """Enclose I_j for α − j = n = 0, ..., size: B_m if n = 0, else B_m + Σ_{l=0}^n p^l B_{l+m} Π_{i<l} (n−i)/(m+l−i).

    The term l = 0 repeats B_m, as the authors' published program has it; it only enlarges the bound. The product is
    C(n,l)/C(m+l,l), so all n come at once from the table of repeated sums that turns a_l into Σ_l C(n,l) a_l.
    """
    with working_precision(prec + 2 * size.bit_length() + 20):
        bounds = absolute_moment_bounds(noise_multiplier, size + m, prec=prec + 2 * size.bit_length())
        row, weight = [], arb(1)  # a_l, and p^l/C(m+l,l)
        for l in range(size + 1):  # noqa: E741 -- the source's index
            row.append(weight * bounds[l + m])
            weight = weight * ball(p) * (l + 1) / (m + l + 1)
        moments = [bounds[m]]
        for _ in range(size):
            row = [left + right for left, right in pairwise(row)]
            moments.append(bounds[m] + row[0])
        return tuple(moments)
