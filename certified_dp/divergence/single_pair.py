"""The single pair (Δ·Ber(p) + N(0,1) ‖ N(0,1)): its exact order-α Rényi divergence, for every real α > 1.

By the domination theorem it *is* the supremum over all replace-adjacent datasets. Integer orders are a finite
sum, other orders one integral by the trapezoidal rule with an error bound known beforehand.
"""

import math
from fractions import Fraction

from flint import arb

from certified_dp.divergence.moments import moment_at_zero_ball
from certified_dp.enclosure import ball, finite, working_precision
from certified_dp.errors import PrecisionExhaustedError
from certified_dp.gaussian import normal_cdf

#: Above this order the integral needs fewer terms than the sum.
_LARGEST_CLOSED_FORM = 1024
_MOST_NODES = 2_000_000


def rdp_single_pair_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: Fraction, *, prec: int
) -> arb:
    """Enclose the one-step Rényi divergence of fixed-size DP-SGD at a real order.

    Guarantee: the ball contains the supremum over all replace-adjacent datasets, or an exception is raised.
    Source: proofs_checks/domination_theorem.md, Corollary 1. Symbols: p=sampling_probability, σ=noise_multiplier,
        α=order, Δ=2/σ.
    Assumes: replace adjacency; per-record L2 norm ≤ C; noise standard deviation σ·C/batch_size on the mean gradient.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: Fraction > 1.
        prec: working precision in bits (changes tightness, never validity).
    Returns: finite arb, in nats.
    Raises: PrecisionExhaustedError.

    Example:
        >>> rdp_single_pair_ball(Fraction(2), Fraction(1, 100), Fraction(5), prec=64).str(6, radius=False)
        '0.000468667'
    """
    with working_precision(prec):
        if order.denominator == 1 and order <= _LARGEST_CLOSED_FORM:
            excess = moment_at_zero_ball(noise_multiplier, sampling_probability, order.numerator, prec=prec)
            log_moment = excess.log1p()
        else:
            log_moment = moment_real_order_ball(noise_multiplier, sampling_probability, order, prec=prec).log()
        return finite(log_moment / ball(order - 1), "a Rényi divergence")


def moment_real_order_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: Fraction, *, prec: int
) -> arb:
    """Enclose E[(q + p·e^{ΔZ−Δ²/2})^α], Z ~ N(0,1), for real α > 1.

    Guarantee: the ball contains the moment, or an exception is raised.
    Source: trapezoidal rule on the real line (Trefethen and Weideman 2014, Theorem 5.1). On |Im z| ≤ d < π/Δ the
        integrand G is analytic and |G(x+iy)| ≤ e^{d²/2}·G(x), so step h gives the relative error
        η = 2e^{d²/2}/(e^{2πd/h}−1).
    Args: as for `rdp_single_pair_ball`.
    Returns: finite arb.
    Raises: PrecisionExhaustedError when η < 1 fails.

    Example:
        >>> moment = moment_real_order_ball(Fraction(2), Fraction(1, 100), Fraction(2), prec=64)
        >>> moment.overlaps(1 + moment_at_zero_ball(Fraction(2), Fraction(1, 100), 2, prec=64))
        True
    """
    p, q, sensitivity = sampling_probability, 1 - sampling_probability, 2 / noise_multiplier
    half_width, step, first, last = _trapezoid_nodes(float(sensitivity), float(order), prec)
    with working_precision(prec + 20):
        delta, alpha, h, d = ball(sensitivity), ball(order), ball(step), ball(half_width)
        p_ball, q_ball = ball(p), ball(q)
        ratio, growth = (delta * h * first - delta * delta / 2).exp() * p_ball, (delta * h).exp()
        total = arb(0)
        for n in range(first, last + 1):
            total += (alpha * (q_ball + ratio).log() - (h * n) ** 2 / 2).exp()
            ratio *= growth
        node_sum = total * h / (2 * arb.pi()).sqrt()
        # All left-out terms are positive, so they are missing from the upper side only. Below `first` ≤ 0 the
        # ratio q+pL is < 1; above `last`·h ≥ αΔ, (q+pL)^α ≤ 2^{α−1}(q^α + p^α·L^α) and both Gaussian factors
        # decrease, so each sum is below its integral, which starts one node earlier.
        start, end = h * first, h * last
        tail = normal_cdf(start) + ((alpha - 1) * arb.const_log2()).exp() * (
            q_ball**alpha * normal_cdf(-end)
            + p_ball**alpha * (alpha * (alpha - 1) * delta * delta / 2).exp() * normal_cdf(alpha * delta - end)
        )
        eta = 2 * (d * d / 2).exp() / (2 * arb.pi() * d / h).expm1()
        if not eta < 1 or not d * delta < arb.pi() or not end >= alpha * delta:
            raise PrecisionExhaustedError("trapezoidal rule: no error bound below 1 at this step")
        return finite((node_sum / (1 + eta)).union((node_sum + tail) / (1 - eta)), "a moment")


def _trapezoid_nodes(sensitivity: float, order: float, prec: int) -> tuple[Fraction, Fraction, int, int]:
    """Choose strip half-width d, step h and node range for about ``prec`` bits; any choice is valid."""
    bits = (prec + 4) * math.log(2)
    # Without the pole e^{d²/2−2πd/h} is least at d = 2π/h, where it is e^{−2π²/h²}.
    half_width = min(math.sqrt(2 * bits), 0.95 * math.pi / sensitivity)
    step = 2 * math.pi * half_width / (bits + half_width**2 / 2)
    reach = math.sqrt(2 * (bits + order * math.log(2)))
    first, last = -math.ceil(reach / step), math.ceil((order * sensitivity + reach) / step)
    if last - first > _MOST_NODES:
        raise PrecisionExhaustedError(f"order {order:g} needs {last - first} nodes: try integer orders")
    return Fraction(half_width), Fraction(step), first, last
