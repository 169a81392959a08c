"""The moment F(u) of the one-step Rényi bound (spec, section 2): closed form at u = 0 and two quadratures.

Throughout p = sampling_probability, q = 1 − p, α = order, Δ = 2/noise_multiplier.
"""

from fractions import Fraction

from flint import arb

from certified_dp.enclosure import ball, finite, working_precision


def moment_at_zero_ball(noise_multiplier: Fraction, sampling_probability: Fraction, order: int, *, prec: int) -> arb:
    """Enclose F(0) − 1 = Σ_{k≥2} C(α,k) q^(α−k) p^k (e^{k(k−1)Δ²/2} − 1), with full relative accuracy.

    Guarantee: the ball contains F(0) − 1 > 0, and about ``prec`` of its bits are certain: every term is positive
    and each factor comes from a recurrence that only adds and multiplies positive numbers.
    Source: spec, section 2 (35) at β = 0; the 1 is taken off termwise because Σ_k C(α,k) q^(α−k) p^k = 1.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.  prec: bits.
    Returns: finite positive arb; (α−1)·J(0) is its ``log1p``.
    Raises: PrecisionExhaustedError: the value is too large for a ball.

    >>> excess = moment_at_zero_ball(Fraction(2), Fraction(1, 10**12), 2, prec=64)  # p²(e^{Δ²} − 1)
    >>> excess.overlaps(arb(1).expm1() / 10**24), excess.rel_accuracy_bits() >= 60
    (True, True)
    """
    p = sampling_probability
    with working_precision(prec + 2 * order.bit_length() + 10):
        odds = ball(p / (1 - p))
        first = ball(4 / noise_multiplier**2).expm1()  # e^{Δ²} − 1
        weight = ball(1 - p) ** (order - 2) * ball(p) ** 2 * (order * (order - 1) // 2)  # C(α,k) q^(α−k) p^k
        factor = first  # e^{(k−1)Δ²} − 1
        excess = first  # e^{k(k−1)Δ²/2} − 1
        total = weight * excess
        for k in range(3, order + 1):
            weight = weight * odds * (order - k + 1) / k
            factor = factor * first + factor + first
            excess = excess * factor + excess + factor
            total += weight * excess
        return finite(total, "F(0) − 1")
