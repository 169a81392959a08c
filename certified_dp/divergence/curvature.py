"""Upper bounds κ of |J''| on an interval of u (spec, section 2, (38)-(45)), for branch and bound.

J(u) = log F(u)/(α−1), so J'' = (F''/F − (F'/F)²)/(α−1). Everything is increasing in u, so the right end counts.
"""

import math
from fractions import Fraction

from flint import arb, arb_poly

from certified_dp.divergence.derivatives import (
    MixedPolynomial,
    first_derivative_polynomial,
    second_derivative_polynomial,
)
from certified_dp.divergence.moments import binomial_weights, thinned
from certified_dp.enclosure import ball, upper_end, working_precision
from certified_dp.parameters import log_estimate


def mixed_moment_bound(
    noise_multiplier: Fraction,
    sampling_probability: Fraction,
    order: int,
    i: int,
    j: int,
    right: Fraction,
    *,
    prec: int,
) -> arb:
    """Bound E[v^i w^j h] from above for every u in [0, right] (42).

    Guarantee: every point of the ball is ≥ the moment, up to the ball's own rounding: use its upper end.
    Source: spec, (42), with s = i + k and t_s = C(α−i, s−i) q^(α−s) p^s e^{s(s−1)Δ²/2} pulled out:
        Σ_s t_s·min{ q^(1−α−j) p^j e^{Δ²·right·j(s+j−1)},  p^(1−α) e^{Δ²·right·(α−1)(α−s)} }
    from w^j (q+pe^Y)^(1−α) = (pe^Y)^j (q+pe^Y)^(1−α−j) and q + pe^Y ≥ q or ≥ pe^Y. Both exponents are ≥ 0, so they
    grow with u. The first is the smaller one for small s; whatever s the switch happens at, the bound is valid.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.  i: 0, 1 or 2.
        j: int ≥ 0.  right: Fraction in (0, 1/2].  prec: bits.
    """
    p, square = sampling_probability, 4 / noise_multiplier**2
    reach, power = square * right, order - 1 + j
    balance = order * (order - 1) - j * (j - 1)
    switch = Fraction(log_estimate((1 - p) / p)) / reach + Fraction(balance, power)  # untrusted
    first = 1 + min(max(math.floor(switch), -1), order)
    with working_precision(prec):
        weights = thinned(binomial_weights(square, p, order, prec), order, i)
        success, grow = ball(p), ball(reach)
        low = success**j * ball(1 - p) ** -power * (j * (j - 1) * grow).exp()
        low *= arb_poly(weights[:first])((j * grow).exp())
        high = success ** (1 - order) * ((order - 1) * (order - first) * grow).exp()
        high *= arb_poly(weights[first:])((-(order - 1) * grow).exp())
        return low + high


def _absolute_bound(polynomial: MixedPolynomial, moments: dict[tuple[int, int], arb]) -> arb:
    """Bound |Σ coefficient·E[v^i w^j h]| by the larger of its positive and its negative part."""
    positive = sum((c * moments[power] for power, c in polynomial.items() if c > 0), arb(0))
    negative = sum((-c * moments[power] for power, c in polynomial.items() if c < 0), arb(0))
    return positive.max(negative)


def derivative_bounds(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, right: Fraction, *, prec: int
) -> tuple[arb, arb]:
    """Bound |F'| and |F''| from above on [0, right].

    Guarantee: the upper ends are bounds.
    Source: spec, (39) and (40), sharpened: the paper adds all terms of (17) and (18) with their absolute values; here
        the positive and the negative terms are added apart and the larger sum taken (|a − b| ≤ max(a, b), a, b ≥ 0).
    Args: as `mixed_moment_bound`.
    """
    first, second = first_derivative_polynomial(order), second_derivative_polynomial(order)
    square = 4 / noise_multiplier**2
    moments = {
        (i, j): mixed_moment_bound(noise_multiplier, sampling_probability, order, i, j, right, prec=prec)
        for i, j in {*first, *second}
    }
    with working_precision(prec):
        scale = ball(square) * order * (order - 1)
        return scale * _absolute_bound(first, moments), scale * ball(square) * _absolute_bound(second, moments)


def curvature_bound_uniform(noise_multiplier: Fraction, order: int) -> Fraction:
    """Bound max |J''| on [0, 1/2] whatever p: κ₂ = Δ⁴α(3α² + 6α + 4).

    Guarantee: an exact upper bound.
    Source: spec, (43)-(45), sharpened as in `derivative_bounds`: 0 ≤ v, w ≤ 1 gives |F'|/F ≤ Δ²α(α−1) and
        |F''|/F ≤ Δ⁴α(α−1)(2α²+7α+4), half of the paper's, hence |J''| ≤ Δ⁴α(2α²+7α+4) + Δ⁴α²(α−1).

    >>> curvature_bound_uniform(Fraction(2), 2) <= 2 * 2 * (4 * 2**2 + 5 * 2 + 4)  # (45) as printed, Δ = 1
    True
    """
    return (4 / noise_multiplier**2) ** 2 * order * (3 * order**2 + 6 * order + 4)


def curvature_bound(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, right: Fraction, *, prec: int = 64
) -> Fraction:
    """Bound max |J''(u)| over 0 ≤ u ≤ right: κ = min(κ₁, κ₂).

    Guarantee: κ ≥ |J''(u)| for every u in [0, right] (so for every interval that ends there).
    Source: spec, (41): κ₁ = (|F''| + |F'|²)/(α−1) as F ≥ 1, with `derivative_bounds`; (45): `curvature_bound_uniform`.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.
        right: Fraction in (0, 1/2].  prec: bits (changes tightness, never validity).

    >>> k = [curvature_bound(Fraction(2), Fraction(1, 100), 5, Fraction(1, n)) for n in (8, 2)]
    >>> k[0] < k[1] < curvature_bound_uniform(Fraction(2), 5)
    True
    """
    uniform = curvature_bound_uniform(noise_multiplier, order)
    first, second = derivative_bounds(noise_multiplier, sampling_probability, order, right, prec=prec)
    with working_precision(prec):
        local = (second + first**2) / (order - 1)
        return upper_end(local.min(ball(uniform))) if local.is_finite() else uniform
