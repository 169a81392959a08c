"""The one-step Rényi bound of Wang, Balle and Kasiviswanathan 2021, for comparison."""

from fractions import Fraction

from flint import arb

from certified_dp.divergence.forward_differences import absolute_moment_bounds
from certified_dp.enclosure import ball, finite, working_precision


def rdp_wang_ball(noise_multiplier: Fraction, sampling_probability: Fraction, order: int, *, prec: int) -> arb:
    """Enclose the one-step Rényi bound of Wang, Balle and Kasiviswanathan for fixed-size batches.

    Guarantee: the ball contains ρ_W = log(1 + Σ_{i=2}^α C(α,i) p^i·min{4B_i, 2e^{i(i−1)Δ²/2}})/(α−1), or an exception
        is raised. That ρ_W bounds the Rényi divergence is their theorem, quoted here.
    Source: spec, section 4; Wang, Balle and Kasiviswanathan 2021, Theorem 9. Symbols: p=sampling_probability,
        α=order, Δ=2/noise_multiplier, B_i = `absolute_moment_bounds`.
    Assumes: replace adjacency; per-record L2 norm ≤ C; noise standard deviation noise_multiplier·C/batch_size on the
        mean gradient.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.
        prec: working precision in bits (changes tightness, never validity).
    Returns: finite arb, in nats.
    Raises: PrecisionExhaustedError, ResourceLimitError.

    Example:
        >>> rdp_wang_ball(Fraction(2), Fraction(1, 100), 5, prec=64).str(6, radius=False)
        '0.00146645'
    """
    p = sampling_probability
    with working_precision(prec + 2 * order.bit_length() + 10):
        bounds = absolute_moment_bounds(noise_multiplier, order, prec=prec)
        growth = ball(4 / noise_multiplier**2).exp()
        moment, ratio = arb(1), growth  # E[L^i] = e^{i(i−1)Δ²/2}, and e^{iΔ²}
        weight, excess = ball(order * p), arb(0)  # C(α,i) p^i
        for i in range(2, order + 1):
            weight = weight * ball(p) * (order - i + 1) / i
            moment, ratio = moment * ratio, ratio * growth
            excess += weight * (4 * bounds[i]).min(2 * moment)
        return finite(excess.log1p() / (order - 1), "Wang, Balle and Kasiviswanathan's bound")
