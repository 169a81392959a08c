"""The normal distribution in balls, and the Gaussian mechanism (p = 1), whose (ε, δ) curve is exact."""

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from certified_dp.enclosure import ball, certainly_less, lower_end, refine, relative_accuracy_bits, upper_end
from certified_dp.parameters import Phase
from certified_dp.result import Bound


def normal_cdf(x: arb) -> arb:
    """Enclose Φ(x), with full relative accuracy in the left tail.

    >>> normal_cdf(arb(0)).contains(arb(0.5))
    True
    """
    return (-x / arb(2).sqrt()).erfc() / 2


def normal_pdf(x: arb) -> arb:
    """Enclose φ(x)."""
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def gaussian_delta_ball(mu: arb, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) of the Gaussian mechanism with sensitivity/noise μ > 0.

    Source: Balle and Wang 2018, Theorem 8. T-fold composition multiplies μ² by T, so μ² = Σ T_k Δ_k².
    """
    eps = ball(epsilon)
    return normal_cdf(mu / 2 - eps / mu) - eps.exp() * normal_cdf(-mu / 2 - eps / mu)


def rdp_gaussian_ball(noise_multiplier: Fraction, order: Fraction) -> arb:
    """Enclose the order-α Rényi divergence αΔ²/2, Δ = 2/σ, of one full-batch step (p = 1).

    Source: van Erven and Harremoës 2014; exact for every α > 1.
    """
    return ball(order * (2 / noise_multiplier) ** 2 / 2)


def gaussian_epsilon(phases: Sequence[Phase], delta: Fraction, digits: int) -> Bound:
    """Enclose the exact ε at δ of full-batch phases, by bisection of `gaussian_delta_ball`, which falls in ε.

    Guarantee: the composition is (upper, δ)-DP and not (ε, δ)-DP for any ε < lower.
    Assumes: every phase has sampling probability 1.
    Returns: a Bound whose ends agree to ``digits`` significant digits (both 0 when δ(0) ≤ δ).
    Raises: PrecisionExhaustedError.

    Example:
        >>> from certified_dp.parameters import DPSGD
        >>> run = DPSGD(sampling_probability=1, noise_multiplier=3, steps=50)
        >>> float(gaussian_epsilon([run], Fraction(1, 10**5), 9).upper).__format__(".6f")
        '30.506280'
    """

    def bisect(prec: int) -> Bound:
        mu = _total_mu(phases)

        def is_private(epsilon: Fraction) -> bool:
            return not certainly_less(ball(delta), gaussian_delta_ball(mu, epsilon))

        zero = Fraction(0)
        if is_private(zero):
            return Bound(zero, zero)
        low, high = zero, Fraction(1)
        while not is_private(high):
            low, high = high, 2 * high
        while (high - low) * 10 ** (digits + 1) > high:
            middle = (low + high) / 2
            low, high = (low, middle) if is_private(middle) else (middle, high)
        return Bound(high, low)

    return refine(bisect, lambda bound: True, prec=128 + 8 * digits, what="the Gaussian mechanism's epsilon")


def gaussian_delta(phases: Sequence[Phase], epsilon: Fraction, digits: int) -> Bound:
    """Enclose the exact δ at ε of full-batch phases; guarantee and assumptions as `gaussian_epsilon`.

    Example:
        >>> from certified_dp.parameters import DPSGD
        >>> run = DPSGD(sampling_probability=1, noise_multiplier=3, steps=50)
        >>> float(gaussian_delta([run], Fraction(30), 6).upper) < 2e-5
        True
    """
    value = refine(
        lambda prec: gaussian_delta_ball(_total_mu(phases), epsilon),
        lambda delta: relative_accuracy_bits(delta) > 4 * digits,
        prec=128 + 8 * digits,
        what="the Gaussian mechanism's delta",
    )
    return Bound(min(upper_end(value), Fraction(1)), max(lower_end(value), Fraction(0)))


def _total_mu(phases: Sequence[Phase]) -> arb:
    return ball(sum((phase.steps * phase.sensitivity**2 for phase in phases), Fraction(0))).sqrt()
