"""The normal distribution in balls, and the Gaussian mechanism (p = 1), whose (ε, δ) curve is exact."""

from fractions import Fraction

from flint import arb

from certified_dp.enclosure import ball


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
