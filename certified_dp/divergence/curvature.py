"""Upper bounds κ of |J''| on an interval of u (spec, section 2, (38)-(45)), for branch and bound.

J(u) = log F(u)/(α−1), so J'' = (F''/F − (F'/F)²)/(α−1). F ≥ 1, because α > 1 makes it a moment of a density ratio.
"""

import math
from collections.abc import Collection
from fractions import Fraction
from operator import mul

from flint import arb

from certified_dp.divergence.derivatives import (
    MixedPolynomial,
    first_derivative_polynomial,
    second_derivative_polynomial,
)
from certified_dp.divergence.moments import binomial_weights, thinned
from certified_dp.enclosure import ball, upper_end, working_precision
from certified_dp.parameters import log_estimate


def mixed_moment_bounds(
    noise_multiplier: Fraction,
    sampling_probability: Fraction,
    order: int,
    powers: Collection[tuple[int, int]],
    right: Fraction,
    *,
    prec: int,
) -> dict[tuple[int, int], arb]:
    """Bound E[v^i w^j h] from above for every u in [0, right], for each (i, j) in ``powers``.

    Guarantee: the upper end of each ball is ≥ the moment.
    Source: spec, (42), sharpened. v^i h is a polynomial in e^X, so the moment is a sum over s = i, ..., α of
        C(α−i, s−i) q^(α−s) p^s E[e^{sX} (pe^Y)^j (q+pe^Y)^(1−α−j)],
    and for any 1−α ≤ t ≤ j, because q + pe^Y is ≥ pe^Y (used j−t times) and ≥ q (used α−1+t times),
        (pe^Y)^j (q+pe^Y)^(1−α−j) ≤ (pe^Y)^t q^(1−α−t),     E[e^{sX+tY}] = e^{s(s−1)Δ²/2 + uΔ²t(s+t−1)}.
    The paper takes the smaller of t = j and t = 1−α. Here t is about the best multiple of 1/4. The exponent is linear
    in u, so an end of [0, right] counts: right where t(s+t−1) ≥ 0, and then it is a parabola in t. The choice keeps t
    out of the gap between 0 and 1−s, where t(s+t−1) < 0 and the smallest value is at an end of the gap.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.
        powers: pairs (i, j) with i ≤ 2, j ≥ 0.  right: Fraction in (0, 1/2].  prec: bits.
    """
    p, square = sampling_probability, 4 / noise_multiplier**2
    # The parabola's lowest point is at t = balance − s/2; untrusted, it only chooses t.
    balance = (Fraction(log_estimate((1 - p) / p)) / (square * right) + 1) / 2
    first_four_t = math.floor(4 * balance + Fraction(1, 2))
    with working_precision(prec):
        weights = binomial_weights(square, p, order, prec)
        thin = {i: thinned(weights, order, i) for i, _ in powers}
        base, log_odds = ball(1 - p) ** (1 - order), ball(p / (1 - p)).log() / 4
        reach = ball(square * right / 16)
        known: dict[tuple[int, int], arb] = {}

        def factor(s: int, j: int) -> arb:
            four_t = first_four_t - 2 * s
            gap = sorted((0, 4 - 4 * s))
            if gap[0] < four_t < gap[1]:
                four_t = gap[2 * p <= 1]
            four_t = min(max(four_t, 4 - 4 * order), 4 * j)
            if (s, four_t) not in known:
                growth = four_t * (4 * s + four_t - 4)  # 16·t(s+t−1); where it is < 0, u = 0 counts
                known[s, four_t] = base * (log_odds * four_t + reach * max(growth, 0)).exp()
            return known[s, four_t]

        factors = {j: [factor(s, j) for s in range(order + 1)] for _, j in powers}
        return {(i, j): sum(map(mul, thin[i], factors[j]), arb(0)) for i, j in powers}


def _absolute_bound(polynomial: MixedPolynomial, moments: dict[tuple[int, int], arb]) -> arb:
    """Bound |Σ coefficient·E[v^i w^j h]| by the larger of its positive and its negative part."""
    positive = sum((c * moments[power] for power, c in polynomial.items() if c > 0), arb(0))
    negative = sum((-c * moments[power] for power, c in polynomial.items() if c < 0), arb(0))
    return positive.max(negative)


def derivative_bounds(
    noise_multiplier: Fraction,
    sampling_probability: Fraction,
    order: int,
    right: Fraction,
    *,
    prec: int,
) -> tuple[arb, arb]:
    """Bound |F'| and |F''| from above on [0, right].

    Guarantee: the upper ends are bounds.
    Source: spec, (39) and (40), sharpened: the paper adds all terms of (17) and (18) with their absolute values; here
        the positive and the negative terms are added apart and the larger sum taken (|a − b| ≤ max(a, b), a, b ≥ 0).
    Args: as `mixed_moment_bounds`.
    """
    first, second = first_derivative_polynomial(order), second_derivative_polynomial(order)
    moments = mixed_moment_bounds(noise_multiplier, sampling_probability, order, [*second], right, prec=prec)
    with working_precision(prec):
        square = ball(4 / noise_multiplier**2)
        scale = square * order * (order - 1)
        return scale * _absolute_bound(first, moments), scale * square * _absolute_bound(second, moments)


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
    noise_multiplier: Fraction,
    sampling_probability: Fraction,
    order: int,
    right: Fraction,
    *,
    prec: int = 64,
) -> Fraction:
    """Bound max |J''(u)| over 0 ≤ u ≤ right: κ = min(κ₁, κ₂).

    Guarantee: κ ≥ |J''(u)| for every u in [0, right].
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
