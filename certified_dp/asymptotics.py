"""Limits of the accountants as T → ∞, p → 0 and T·p² → ν, and their expansions for small p.

A limit says where an accountant's answers go; it is not a bound for any finite run. Throughout nu = ν,
noise_multiplier = σ > 0, Δ = 2/σ, and each curve is δ as a function of ε.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from certified_dp.composition.kl_hinge import _log_slope
from certified_dp.conversion import delta_from_rdp_ball
from certified_dp.enclosure import (
    ball,
    certainly_less,
    float_estimate,
    lower_end,
    refine,
    relative_accuracy_bits,
    upper_end,
)
from certified_dp.errors import InvalidParameterError, ResourceLimitError
from certified_dp.gaussian import gaussian_delta_ball, normal_cdf, normal_pdf
from certified_dp.result import Bound

#: ``curve(nu, noise_multiplier, epsilon)`` encloses a limiting δ at the current precision.
Curve: TypeAlias = Callable[[Fraction, Fraction, Fraction], arb]

#: `limit_epsilon` looks no further.
_LARGEST_EPSILON = 10**9


def lossless_mu_squared_ball(nu: Fraction, noise_multiplier: Fraction) -> arb:
    """Enclose μ² = 2ν(e^{4/σ²}Φ(3/σ) + 3Φ(−1/σ) − 2), of the Gaussian limit of Proposition 1's dominating pair.

    Source: Lemma 3.  Args: nu: > 0.  noise_multiplier: > 0.
    """
    y = ball(1 / noise_multiplier)
    return 2 * ball(nu) * ((4 * y * y).exp() * normal_cdf(3 * y) + 3 * normal_cdf(-y) - 2)


def theorem1_lambda_ball(nu: Fraction, noise_multiplier: Fraction) -> arb:
    """Enclose λ = 2ν(e^{4/σ²} − e^{2/σ²}): the Rényi divergence of the paper's bound tends to αλ/2.

    Source: Proposition 4, by (8).  Args: nu: > 0.  noise_multiplier: > 0.
    """
    half = ball(2 / noise_multiplier**2)
    return 2 * ball(nu) * half.exp() * half.expm1()


def single_pair_lambda_ball(nu: Fraction, noise_multiplier: Fraction) -> arb:
    """Enclose λ* = ν(e^{4/σ²} − 1): the single pair tends to the Gaussian one with μ² = λ*, Rényi divergence αλ*/2.

    Source: domination theorem, “How much it gives”; T·Var(p(L_Δ − 1)) → ν(e^{Δ²} − 1).
    Args: nu: > 0.  noise_multiplier: > 0.
    """
    return ball(nu) * ball(4 / noise_multiplier**2).expm1()


def proposition4_delta_ball(lam: arb, epsilon: Fraction) -> arb:
    """Enclose λ/(λ+ε)·(ε/(λ+ε))^{ε/λ}·exp(−ε²/(2λ) + ε/2), at least the limiting δ at ε of a Rényi accountant.

    Source: Proposition 4: (7) with Tρ → αλ/2 at the order α = 1 + ε/λ, where (α−1)(αλ/2 − ε) = −ε²/(2λ) + ε/2,
        1/α = λ/(λ+ε) and (1−1/α)^{α−1} = (ε/(λ+ε))^{ε/λ}. See `best_order_delta_ball` for the best order.
    Args: lam: λ > 0, where the order-α Rényi divergence tends to αλ/2.  epsilon: ≥ 0 (the value at 0 is 1).
    """
    if epsilon == 0:
        return arb(1)
    eps = ball(epsilon)
    alpha = 1 + eps / lam
    return (eps / lam * (eps / (lam + eps)).log() - eps * eps / (2 * lam) + eps / 2).exp() / alpha


def best_order_delta_ball(lam: arb, epsilon: Fraction) -> arb:
    """Enclose (7) with Tρ → αλ/2 at an order α near the best, the limiting δ at ε of a Rényi accountant.

    Source: Proposition 4's proof; the logarithm of (7) is least where (α−1/2)λ + log(1−1/α) = ε. Proposition 4's own
        order 1 + ε/λ is near it for small λ only.
    Args: as `proposition4_delta_ball`.
    """
    scale = _search_float(lam)

    def order(log_excess: float) -> Fraction:
        return 1 + Fraction(math.exp(log_excess))

    def log_value(log_excess: float) -> float:
        return _log_estimate(delta_from_rdp_ball(lam * ball(order(log_excess)) / 2, order(log_excess), epsilon))

    low, high = max(-700.0, -1.5 * scale - 1), math.log(max(1.0, (_search_float(ball(epsilon)) + 1) / scale)) + 1
    best = order(_minimiser(log_value, low, high))
    return delta_from_rdp_ball(lam * ball(best) / 2, best, epsilon)


def kl_hinge_moment_ball(mu: arb, hinge: arb) -> arb:
    """Enclose E_P[h((L−λ)_+)] = (μ²/2−λ−1)Φ(D) + μφ(D) + e^λ·Φ(D−μ), D = μ/2 − λ/μ, of the Gaussian pair.

    Source: domination theorem, Corollary 3 with L ~ N(μ²/2, μ²) under P, h(y) = y − 1 + e^{−y}: the three terms are
        E_P[(L−λ−1)·1{L>λ}], whose Gaussian part gives μφ(D), and e^λ·Q(L>λ) with L ~ N(−μ²/2, μ²) under Q.
    Args: mu: μ > 0.  hinge: λ, any real number.
    """
    d = mu / 2 - hinge / mu
    return (mu * mu / 2 - hinge - 1) * normal_cdf(d) + mu * normal_pdf(d) + hinge.exp() * normal_cdf(d - mu)


def kl_hinge_limit_delta_ball(nu: Fraction, noise_multiplier: Fraction, epsilon: Fraction) -> arb:
    """Enclose E_P[h((L−λ)_+)]/c, λ = ε − log((e^c−1)/c), the limiting KL-hinge δ at ε, with a c near the best.

    Source: domination theorem, Corollary 3 and the limit in “How much it gives”; any c > 0 gives a valid limit.
    Args: nu: > 0.  noise_multiplier: > 0.  epsilon: ≥ 0.
    """
    mu, eps = single_pair_lambda_ball(nu, noise_multiplier).sqrt(), ball(epsilon)

    def value(log_c: float) -> arb:
        c = ball(Fraction(log_c)).exp()
        return kl_hinge_moment_ball(mu, eps - _log_slope(c)) / c

    # Above λ the loss falls off at a rate near ε/μ² − 1/2, or within μ; c is of the order of its inverse.
    scale = _search_float(mu)
    start = -math.log(max(_search_float(eps) / scale**2 - 0.5, 1 / scale))
    return value(_minimiser(lambda log_c: _log_estimate(value(log_c)), start - 5, start + 5))


def _search_float(value: arb) -> float:
    """Return a float near a number ≥ 0, within a range in which the searches here cannot overflow."""
    return min(max(float_estimate(value), 1e-100), 1e100)


def _log_estimate(value: arb) -> float:
    estimate = float_estimate(value.log())
    return estimate if math.isfinite(estimate) else math.inf


def _minimiser(objective: Callable[[float], float], low: float, high: float) -> float:
    """Search for a minimum by golden section; nothing is promised."""
    shrink = (math.sqrt(5) - 1) / 2
    x, y = high - shrink * (high - low), low + shrink * (high - low)
    at_x, at_y = objective(x), objective(y)
    while high - low > 1e-5:
        if at_x <= at_y:
            high, y, at_y = y, x, at_x
            x = high - shrink * (high - low)
            at_x = objective(x)
        else:
            low, x, at_x = x, y, at_y
            y = low + shrink * (high - low)
            at_y = objective(y)
    return (low + high) / 2


#: The limits, under the names of the methods; "proposition4" is the paper's own bound on the limit of "theorem1".
LIMITS: dict[str, Curve] = {
    "lossless": lambda nu, sigma, epsilon: gaussian_delta_ball(lossless_mu_squared_ball(nu, sigma).sqrt(), epsilon),
    "proposition4": lambda nu, sigma, epsilon: proposition4_delta_ball(theorem1_lambda_ball(nu, sigma), epsilon),
    "theorem1": lambda nu, sigma, epsilon: best_order_delta_ball(theorem1_lambda_ball(nu, sigma), epsilon),
    "single_pair_renyi": lambda nu, sigma, epsilon: best_order_delta_ball(single_pair_lambda_ball(nu, sigma), epsilon),
    "kl_hinge": kl_hinge_limit_delta_ball,
    "floor": lambda nu, sigma, epsilon: gaussian_delta_ball(single_pair_lambda_ball(nu, sigma).sqrt(), epsilon),
}


def limit_delta(method: str, nu: Fraction, noise_multiplier: Fraction, epsilon: Fraction, digits: int = 6) -> Bound:
    """Enclose the limiting δ of a method at ε as T → ∞, p → 0, T·p² → ν.

    Guarantee: [lower, upper] encloses the formula's value. "lossless" (Lemma 3) and "floor" (the single pair's own δ)
        are limits; "proposition4", "theorem1" and "single_pair_renyi" (real orders), and "kl_hinge" (Corollary 3 of the
        domination theorem) are at least the limit superior.

    Args:
        method: a name in `LIMITS`.
        nu: > 0.
        noise_multiplier: > 0.
        epsilon: ≥ 0.
        digits: significant digits.
    Returns: a Bound within [0, 1].
    Raises: InvalidParameterError, PrecisionExhaustedError.

    Example:
        >>> bound = limit_delta("lossless", Fraction(1, 2), Fraction(2), Fraction(2))
        >>> bound.upper > limit_delta("kl_hinge", Fraction(1, 2), Fraction(2), Fraction(2)).upper
        True
    """
    curve = _curve(method)
    value = refine(
        lambda prec: curve(nu, noise_multiplier, epsilon),
        lambda delta: relative_accuracy_bits(delta) > 4 * digits,
        prec=128 + 8 * digits,
        what=f"the limit of {method}",
    )
    return Bound(min(upper_end(value), Fraction(1)), min(max(lower_end(value), Fraction(0)), Fraction(1)))


def limit_epsilon(method: str, nu: Fraction, noise_multiplier: Fraction, delta: Fraction, digits: int = 6) -> Bound:
    """Find the ε at which a method's limiting δ is ``delta``, by bisection.

    Guarantee: the formula of `limit_delta` is at most ``delta`` at upper and, if lower > 0, more than ``delta`` at
        lower; the two agree to ``digits`` significant digits.
    Args, Raises: as `limit_delta`, with delta in (0, 1).

    Example:
        >>> float(limit_epsilon("floor", Fraction(1, 2), Fraction(2), Fraction(1, 10**6), 4).upper).__format__(".2f")
        '4.48'
    """
    curve, zero = _curve(method), Fraction(0)

    def bisect(prec: int) -> Bound:
        def is_private(epsilon: Fraction) -> bool:
            return not certainly_less(ball(delta), curve(nu, noise_multiplier, epsilon))

        if is_private(zero):
            return Bound(zero, zero)
        low, high = zero, Fraction(1)
        while not is_private(high):
            low, high = high, 2 * high
            if high > _LARGEST_EPSILON:
                raise ResourceLimitError(f"the limiting epsilon of {method} is above {_LARGEST_EPSILON}")
        while (high - low) * 10 ** (digits + 1) > high:
            middle = (low + high) / 2
            low, high = (low, middle) if is_private(middle) else (middle, high)
        return Bound(high, low)

    return refine(bisect, lambda bound: True, prec=128 + 8 * digits, what=f"the limiting epsilon of {method}")


def _curve(method: str) -> Curve:
    if method not in LIMITS:
        raise InvalidParameterError("method", method, f"one of {', '.join(LIMITS)}")
    return LIMITS[method]


def corollary2_rate_ball(nu: Fraction, noise_multiplier: Fraction) -> arb:
    """Enclose ½(1/λ − 1/μ²) > 0: log δ(ε) − log δ_L(ε) ≤ −½(1/λ − 1/μ²)ε² + log ε + O(1) as ε grows.

    So the paper's limit falls below the lossless accountant's for large ε.
    Source: Corollary 2, δ from Proposition 4 and δ_L from Lemma 3.  Args: nu: > 0.  noise_multiplier: > 0.

    >>> corollary2_rate_ball(Fraction(1), Fraction(2)) > 0
    True
    """
    return (1 / theorem1_lambda_ball(nu, noise_multiplier) - 1 / lossless_mu_squared_ball(nu, noise_multiplier)) / 2


def theorem1_expansion_ball(noise_multiplier: Fraction, sampling_probability: Fraction, order: Fraction) -> arb:
    """Enclose the p² and p³ terms of the paper's one-step bound ρ for small p; ρ differs from it by O(p⁴).

    Source: Proposition 5, (8): α(e^{4/σ²} − e^{2/σ²})p² − (α/2)(e^{12/σ²} − e^{8/σ²} − 2e^{4/σ²} + 2e^{2/σ²})p³.
    Args: order: α > 1.  An expansion, not a bound.
    """
    e, p, alpha = _exponential_of(noise_multiplier), ball(sampling_probability), ball(order)
    return alpha * p * p * ((e(2) - e(1)) - p * (e(6) - e(4) - 2 * e(2) + 2 * e(1)) / 2)


def birrell_expansion_ball(noise_multiplier: Fraction, sampling_probability: Fraction, order: Fraction) -> arb:
    """Enclose the p² and p³ terms of Birrell et al.'s one-step bound ρ_B for small p; ρ_B differs from it by O(p⁴).

    Source: Proposition 5, (9): α(e^{4/σ²} − e^{2/σ²})p² + (α(α+2)/2)·sqrt(M₂M₄)·p³, M₂ = e^{4/σ²} − 1 and
        M₄ = e^{24/σ²} − 4e^{12/σ²} + 6e^{4/σ²} − 3; for expansion orders m ≥ 4 of `rdp_birrell_expansion_ball`.
    Args: order: α > 1.  An expansion, not a bound.
    """
    e, p, alpha = _exponential_of(noise_multiplier), ball(sampling_probability), ball(order)
    moments = (e(2) - 1) * (e(12) - 4 * e(6) + 6 * e(2) - 3)
    return alpha * p * p * ((e(2) - e(1)) + p * (alpha + 2) / 2 * moments.sqrt())


def _exponential_of(noise_multiplier: Fraction) -> Callable[[int], arb]:
    """Return k ↦ e^{2k/σ²}."""
    return lambda k: ball(2 * k / noise_multiplier**2).exp()
