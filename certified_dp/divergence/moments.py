"""The moment F(u) of the one-step Rényi bound (spec, section 2): closed form at u = 0 and two quadratures.

Throughout p = sampling_probability, q = 1 − p, α = order, Δ = 2/noise_multiplier, and for jointly normal
(X, Y) ~ N(−(A, B)/2, [[A, c], [c, B]])

    v = p·e^X/(q + p·e^X),   w = p·e^Y/(q + p·e^Y),   h = (q + p·e^X)^α (q + p·e^Y)^(1−α).

F(u) = E[h] at (A, B, c) = Δ²·(1, 2u, u). Integrating X out given Y leaves one integral over V ~ N(0, 1), with
Y = √B·V − B/2, because v^i·h is a polynomial in e^X for an integer α ≥ 2 and i ≤ 2.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import TypeAlias

from flint import acb, acb_poly, arb, arb_poly

from certified_dp.enclosure import ball, finite, float_estimate, working_precision
from certified_dp.errors import InvalidParameterError, PrecisionExhaustedError
from certified_dp.gaussian import normal_cdf

#: (A, B, c): the variances of X and Y and their covariance.
Gram: TypeAlias = tuple[Fraction, Fraction, Fraction]

_MAX_NODES = 1_000_000


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


def theorem_gram(noise_multiplier: Fraction, u: Fraction) -> Gram:
    """Return (A, B, c) = Δ²·(1, 2u, u) of (15).

    >>> theorem_gram(Fraction(2), Fraction(1, 4))
    (Fraction(1, 1), Fraction(1, 2), Fraction(1, 4))
    """
    square = 4 / noise_multiplier**2
    return square, 2 * square * u, square * u


@lru_cache(maxsize=16)
def binomial_weights(A: Fraction, p: Fraction, order: int, prec: int) -> tuple[arb, ...]:
    """Enclose C(α,k) q^(α−k) p^k e^{k(k−1)A/2} = C(α,k) q^(α−k) p^k E[e^{kX}] for k = 0, ..., α.

    >>> binomial_weights(Fraction(0), Fraction(1, 2), 2, 53)
    (0.250000000000000, 0.500000000000000, 0.250000000000000)
    """
    with working_precision(prec + 2 * order.bit_length()):
        odds, growth = ball(p / (1 - p)), ball(A).exp()
        weight, ratio = ball(1 - p) ** order, odds
        weights = [weight]
        for k in range(order):
            weight = weight * ratio * (order - k) / (k + 1)
            ratio *= growth
            weights.append(weight)
        return tuple(weights)


def thinned(weights: Sequence[arb], order: int, i: int) -> list[arb]:
    """Multiply the k-th weight by k(k−1)⋯(k−i+1) / (α(α−1)⋯(α−i+1)), which turns E[h] into E[v^i h].

    It holds because (q+pe^X)^(α−i) (pe^X)^i = Σ_k C(α−i, k−i) q^(α−k) p^k e^{kX}.
    """
    if i == 0:
        return list(weights)
    whole = math.perm(order, i)
    return [weight * math.perm(k, i) / whole for k, weight in enumerate(weights)]


def _strip_and_step(beta: float, exponent: int, bits: int) -> tuple[float, float]:
    """Choose the strip half-width d and the largest step for which the a-priori error is about 2^−bits.

    Untrusted: any 0 < d < π/β and any step are valid. The step, a function of d, is d over a convex function.
    """
    need = (bits + 1) * math.log(2)
    low, high = 0.0, min(math.sqrt(2 * need), 0.99 * math.pi / max(beta, 1e-300))

    def step(d: float) -> float:
        return 2 * math.pi * d / (need + d * d / 2 - exponent * math.log(math.cos(beta * d / 2)))

    for _ in range(16):
        third = (high - low) / 3
        low, high = (low + third, high) if step(low + third) < step(high - third) else (low, high - third)
    return high, step(high)


def mixed_moment_balls(
    gram: Gram, sampling_probability: Fraction, order: int, powers: Sequence[tuple[int, int]], *, prec: int
) -> list[arb]:
    """Enclose E[v^i w^j h] for each (i, j) in ``powers``, i ≤ 2, by one trapezoidal sum.

    Guarantee: each ball contains its moment, of relative accuracy about 2^−prec.
    Source: spec, section 2, quadrature (b), for the integrand
        G(x) = (q + pe^Y)^(1−α) w^j φ(x) Σ_k c_k e^{kγx},   Y = βx − B/2,  β = √B,  γ = c/β,
        c_k = C(α−i,k−i) q^(α−k) p^k e^{k(k−1)A/2 − k²γ²/2}    (spec (35) has γ = β/2, i = j = 0).
    Error of the infinite sum: on |Im x| ≤ d < π/β, |q + pe^Y| ≥ (q + pe^{Re Y})·cos(βd/2), so |G| there is at most
    cos(βd/2)^(1−α−j) e^{d²/2}·G(Re x), and Trefethen and Weideman (2014), Theorem 5.1, bounds the error by η times the
    moment, η = 2cos(βd/2)^(1−α−j) e^{d²/2}/(e^{2πd/step} − 1).
    Terms left out: (log G)' = −x + γ·zP'(z)/P(z) − (α−1)βw + jβ(1−w), where z = e^{γx}, P(z) = Σ_{k≤K} c_k z^k,
    0 ≤ zP'/P ≤ K, and w grows with x. So if at a node x the rate (with γ⁺ = max(γ, 0), γ⁻ = max(−γ, 0))
        r = x − γ⁺K + (α−1)βw − jβ(1−w)  (x > 0),    r = |x| − γ⁻K − (α−1)βw  (x < 0)
    is positive, G falls outward from x at least like e^{−r·distance}: the nodes beyond add at most G(x)/(e^{r·step}−1).
    Monomials k > K left out: they add at most q^(1−α)·Σ_{k>K} C(α,k) q^(α−k) p^k e^{k(k−1)A/2}, since q + pe^Y ≥ q.
    Assumes: B ≥ 0 and c² ≤ AB (checked).
    Args: gram: (A, B, c), exact.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.  powers: pairs (i, j).
        prec: bits of relative accuracy aimed at; validity never depends on it.
    Raises: InvalidParameterError, PrecisionExhaustedError.
    """
    A, B, c = gram
    if B < 0 or A < 0 or c * c > A * B:
        raise InvalidParameterError("gram", gram, "(A, B, c) with A, B ≥ 0 and c² ≤ AB")
    size = order * (2 + math.isqrt(math.ceil(max(A, B))))  # of the exponents that occur, for the guard bits only
    working = prec + 2 * size.bit_length() + 16
    with working_precision(working):
        weights = binomial_weights(A, sampling_probability, order, working)
        p, q = ball(sampling_probability), ball(1 - sampling_probability)
        if B == 0:  # then Y = 0, so w = p and q + pe^Y = 1
            return [finite(p**j * sum(thinned(weights, order, i), arb(0)), "a moment") for i, j in powers]

        tolerance = arb(2) ** -prec
        last, dropped = _truncation(weights, q ** (1 - order), tolerance * p ** max(i + j for i, j in powers))
        damping, square = arb(1), ball(c * c / B)
        ratio, fall = (-square / 2).exp(), (-square).exp()
        coefficients = []
        for k in range(last + 1):
            coefficients.append(weights[k] * damping)  # damping = e^{−k²γ²/2}
            damping *= ratio
            ratio *= fall
        polynomials = {i: arb_poly(thinned(coefficients, order, i)) for i, _ in powers}

        beta = ball(B).sqrt()
        gamma, most = ball(c) / beta, max(j for _, j in powers)
        strip, width = _strip_and_step(float_estimate(beta), order - 1 + most, prec)
        d, step = arb(strip), arb(width)
        if not (beta * d < arb.pi() and step > 0):
            raise PrecisionExhaustedError("the strip of analyticity is too narrow")
        tilt = p * ball(-B / 2).exp()

        def terms(x: arb) -> tuple[arb, list[arb]]:
            above = tilt * (beta * x).exp()
            mixture = q + above
            w, z = above / mixture, (gamma * x).exp()
            base = (-x * x / 2).exp() / mixture ** (order - 1)
            values = {i: base * polynomial(z) for i, polynomial in polynomials.items()}
            return w, [values[i] * w**j if j else values[i] for i, j in powers]

        def slope(distance: arb, w: arb, side: int) -> arb:
            pull = (order - 1) * beta * w  # of (q + pe^Y)^(1−α)
            # the largest outward slope of log Σ_k c_k e^{kγx} is |γ|K on the side that γ points to, 0 on the other
            push = abs(gamma) * last if side * c > 0 else arb(0)
            return distance - push + (pull - most * beta * (1 - w) if side > 0 else -pull)

        totals, tails = terms(arb(0))[1], [arb(0)] * len(powers)
        for side in (1, -1):
            for n in count(1):
                distance = step * n
                w, values = terms(side * distance)
                totals = [total + value for total, value in zip(totals, values, strict=True)]
                if all(value < tolerance * total for value, total in zip(values, totals, strict=True)):
                    rate = slope(distance, w, side)
                    if rate > 0:
                        reach = (rate * step).expm1()
                        tails = [tail + value / reach for tail, value in zip(tails, values, strict=True)]
                        break
                if n == _MAX_NODES:
                    raise PrecisionExhaustedError(f"the trapezoidal sum needs more than {_MAX_NODES} nodes")

        moments = []
        for (_, j), total, tail in zip(powers, totals, tails, strict=True):
            error = 2 * (d * d / 2).exp() / (beta * d / 2).cos() ** (order - 1 + j) / (2 * arb.pi() * d / step).expm1()
            if not error < 1:
                raise PrecisionExhaustedError("the a-priori error of the trapezoidal sum is not below 1")
            scaled = step * total.union(total + tail) / (2 * arb.pi()).sqrt()
            moments.append(finite(scaled / (1 - error).union(1 + error) + arb(0).union(dropped), "a moment"))
        return moments


def _truncation(weights: Sequence[arb], factor: arb, tolerance: arb) -> tuple[int, arb]:
    """Return K ≥ 2 and factor·Σ_{k>K} weights[k], with K as small as keeps the latter below ``tolerance``."""
    last, dropped = len(weights) - 1, arb(0)
    while last > 2:
        more = dropped + factor * weights[last]
        if not more < tolerance:
            break
        last, dropped = last - 1, more
    return last, dropped


def moment_gram_ball(A: Fraction, B: Fraction, c: Fraction, p: Fraction, order: int, *, prec: int) -> arb:
    """Enclose E[h] for a general Gram matrix [[A, c], [c, B]].

    Guarantee, Source, Raises: as `mixed_moment_balls`.

    >>> moment_gram_ball(Fraction(1), Fraction(0), Fraction(0), Fraction(1, 2), 2, prec=53)  # q² + 2pq + p²e
    [1.42957045711476 +/- ...]
    """
    return mixed_moment_balls((A, B, c), p, order, [(0, 0)], prec=prec)[0]


def moment_trapezoid_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, u: Fraction, *, prec: int
) -> arb:
    """Enclose F(u) by the trapezoidal rule (quadrature (b)), with relative accuracy about 2^−prec.

    The absolute accuracy of log F(u) is then about 2^−prec too, whatever the size of F.

    Guarantee, Source, Raises: as `mixed_moment_balls`.

    >>> a = moment_trapezoid_ball(Fraction(2), Fraction(1, 100), 5, Fraction(1, 2), prec=64)
    >>> a.overlaps(moment_reference_ball(Fraction(2), Fraction(1, 100), 5, Fraction(1, 2), prec=64))
    True
    """
    gram = theorem_gram(noise_multiplier, u)
    return mixed_moment_balls(gram, sampling_probability, order, [(0, 0)], prec=prec)[0]


def moment_reference_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, u: Fraction, *, prec: int
) -> arb:
    """Enclose F(u) by flint's certified integration on [−L, R] plus the paper's tail bounds (quadrature (a)).

    Guarantee: the ball contains F(u): the integral over [−L, R] is enclosed, and what lies outside is between 0
    and the sum of the tail bounds. Slower than `moment_trapezoid_ball`, and independent of it: coefficients,
    quadrature and tails are different.
    Source: spec, section 2, (35), quadrature (a) and its tail bounds. Dictionary: Δ² = square, β = beta.
    Args: as `moment_trapezoid_ball`.
    Returns: finite arb.
    Raises: PrecisionExhaustedError.
    """
    p_exact, square = sampling_probability, 4 / noise_multiplier**2
    size = order * (2 + math.isqrt(math.ceil(2 * square)))
    with working_precision(prec + 2 * size.bit_length() + 16):
        p, q = ball(p_exact), ball(1 - p_exact)
        beta = ball(2 * square * u).sqrt()
        ks = range(order + 1)
        c = [
            math.comb(order, k)
            * q ** (order - k)
            * p**k
            * ball(square * (k * (k - 1) - Fraction(k * k) * u / 2) / 2).exp()
            for k in ks
        ]  # k²β²/8 = k²·Δ²u/4
        by_q = [c[k] * q ** (1 - order) * ball(k * k * square * u / 4).exp() for k in ks]
        by_p = [
            c[k] * p ** (1 - order) * ball(square * u * (Fraction(k * k, 4) + (order - 1) * (order - k))).exp()
            for k in ks
        ]

        def smaller(x: arb, y: arb) -> arb:  # both bound the same number, so either may be returned
            return y if y < x else x

        def tail(edge: arb, side: int) -> arb:
            return sum(
                (
                    smaller(
                        by_q[k] * normal_cdf(side * beta * k / 2 - edge),
                        by_p[k] * normal_cdf(side * beta * (k + 2 - 2 * order) / 2 - edge),
                    )
                    for k in ks
                ),
                arb(0),
            )

        def cut(side: int) -> tuple[arb, arb]:
            edge = arb(2)
            while not (outside := tail(edge, side)) < goal:
                edge += 1 + edge / 4
                if edge > 1_000_000:
                    raise PrecisionExhaustedError("the tail bounds are not small within reach")
            return edge, outside

        # Where to cut is free: the other quadrature only tells what is negligible.
        rough = moment_trapezoid_ball(noise_multiplier, p_exact, order, u, prec=24)
        goal = rough * arb(2) ** -prec
        (right, beyond_right), (left, beyond_left) = cut(1), cut(-1)
        polynomial, tilt = acb_poly(c), p * (-beta * beta / 2).exp()

        def integrand(x: acb, _: bool) -> acb:
            # Meromorphic: a box that contains a pole gives a non-finite value, whatever the analytic flag says.
            return polynomial((beta * x / 2).exp()) * (-x * x / 2).exp() / (q + tilt * (beta * x).exp()) ** (order - 1)

        inside = (
            finite(
                acb.integral(
                    integrand, -left, right, rel_tol=arb(2) ** -prec, abs_tol=goal, eval_limit=_MAX_NODES
                ).real,
                "the integral",
            )
            / (2 * arb.pi()).sqrt()
        )
        return finite(inside.union(inside + beyond_left + beyond_right), "F(u)")
