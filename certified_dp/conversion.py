"""From a Rényi divergence at one order to (ε, δ), and back: three conversions, each valid at any order > 1."""

import math
from fractions import Fraction

from flint import arb

from certified_dp.enclosure import ball, certainly_less, float_estimate
from certified_dp.errors import InvalidParameterError, PrecisionExhaustedError

CONVERSIONS = ("balle", "mironov", "tangent")


def epsilon_from_rdp_ball(rdp: arb, order: Fraction, delta: Fraction, conversion: str = "balle") -> arb:
    """Enclose the ε that a total Rényi divergence implies at δ (in nats; it may be negative, and then ε = 0 holds).

    Guarantee: if the order-α Rényi divergence is at most every point of ``rdp``, the mechanism is (ε, δ)-DP for
        every ε ≥ 0 that is at least the ball's upper end.
    Source: "balle": (6), Balle et al. 2020. "mironov": Mironov 2017, Proposition 3. "tangent": spec, section 3.
    Args: rdp: total over all steps, nats.  order: α > 1.  delta: in (0, 1).
    Raises: InvalidParameterError for an unknown conversion.

    Example:
        >>> from certified_dp.enclosure import working_precision
        >>> with working_precision(64):
        ...     epsilon_from_rdp_ball(arb(1), Fraction(2), Fraction(1, 100)).str(6, radius=False)
        '4.21888'
    """
    alpha, minus_log_delta = ball(order), -ball(delta).log()
    if conversion == "balle":
        return rdp + (-1 / alpha).log1p() + (minus_log_delta - alpha.log()) / (alpha - 1)
    if conversion == "mironov":
        return rdp + minus_log_delta / (alpha - 1)
    if conversion == "tangent":
        return _tangent_epsilon(((alpha - 1) * rdp).expm1() / (alpha * ball(delta)), alpha)
    raise InvalidParameterError("conversion", conversion, f"one of {', '.join(CONVERSIONS)}")


def _tangent_epsilon(slope: arb, alpha: arb) -> arb:
    """Enclose log K, K where the tangent of g(t) = t^α−1−α(t−1) at x crosses 0, x^{α−1} = 1 + slope.

    g ≥ 0 is convex and E g = M−1 because E t = 1, so g(t) ≥ g'(x)·(t−K)_+ gives E(t−K)_+ ≤ (M−1)/g'(x), where
    g'(x) = α·slope. K = x·(1 − (1 − (α−1)(1−1/x)/slope)/α).
    """
    log_x = slope.log1p() / (alpha - 1)
    return log_x + (-(1 + (alpha - 1) * (-log_x).expm1() / slope) / alpha).log1p()


def delta_from_rdp_ball(rdp: arb, order: Fraction, epsilon: Fraction, conversion: str = "balle") -> arb:
    """Enclose the δ that a total Rényi divergence implies at ε (it may exceed 1, and then δ = 1 holds).

    Guarantee: if the order-α Rényi divergence is at most every point of ``rdp``, the mechanism is (ε, δ)-DP for
        every δ that is at least the ball's upper end.
    Source: "balle": (7). "mironov" and "tangent": the inverses of the formulas of `epsilon_from_rdp_ball`.
    Args: rdp: total over all steps, nats.  order: α > 1.  epsilon: ≥ 0.
    Raises: InvalidParameterError for an unknown conversion; PrecisionExhaustedError.

    Example:
        >>> from certified_dp.enclosure import working_precision
        >>> with working_precision(64):
        ...     delta_from_rdp_ball(arb(1), Fraction(2), Fraction(4)).str(6, radius=False)
        '0.0124468'
    """
    alpha, eps = ball(order), ball(epsilon)
    if conversion == "balle":
        return ((alpha - 1) * (rdp - eps + (-1 / alpha).log1p())).exp() / alpha
    if conversion == "mironov":
        return ((alpha - 1) * (rdp - eps)).exp()
    if conversion == "tangent":
        slope = _tangent_slope(alpha, eps)
        return ((alpha - 1) * rdp).expm1() / (alpha * slope)
    raise InvalidParameterError("conversion", conversion, f"one of {', '.join(CONVERSIONS)}")


def _tangent_slope(alpha: arb, epsilon: arb) -> arb:
    """Find a slope whose tangent crosses 0 certainly at or before e^ε, by bisection on its logarithm.

    The crossing grows with the slope. The bisection is a search; only the last comparison is relied on.
    """
    low, high = -700.0, 700.0
    while float_estimate(_tangent_epsilon(arb(high).exp(), alpha)) < float_estimate(epsilon):
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        value = _tangent_epsilon(arb(middle).exp(), alpha)
        low, high = (middle, high) if value.is_finite() and value <= epsilon else (low, middle)
    slope = arb(low).exp()
    if math.isinf(low) or certainly_less(epsilon, _tangent_epsilon(slope, alpha)):
        raise PrecisionExhaustedError("tangent conversion: no tangent point found")
    return slope
