"""One pair (a·Ber(p)+N(0,I) ‖ b·Ber(p)+N(0,I)) in the plane: its f-divergences and ratio law, in balls.

Dictionary: X = L_a, Y = L_b, P = q+pX, Q = q+pY, r = P/Q; a and b are exact rational vectors, Δ ≥ |a|, |b|, |a−b|.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from certified_dp.enclosure import ball, float_estimate
from certified_dp.gaussian import normal_cdf
from proofs_checks.points import Points
from proofs_checks.quadrature import Envelope, PlaneEnvelope, gaussian_mean, gaussian_means, plane_mean

Vector = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Pair:
    """Two mean vectors and the sampling probability."""

    a: Vector
    b: Vector
    p: Fraction

    @property
    def gram(self) -> tuple[Fraction, Fraction, Fraction]:
        """(A, B, c) = (|a|², |b|², ⟨a,b⟩)."""
        (a1, a2), (b1, b2) = self.a, self.b
        return a1 * a1 + a2 * a2, b1 * b1 + b2 * b2, a1 * b1 + a2 * b2

    @property
    def is_flat(self) -> bool:
        """Whether a and b are nearly parallel (then X given Y is nearly certain, and `upper_tails` is slow)."""
        A, B, c = self.gram
        return A * B - c * c < A * B / 20

    @property
    def reversed(self) -> "Pair":
        """The pair with the two distributions swapped."""
        return Pair(self.b, self.a, self.p)


def random_pair(points: Points, sensitivity: Fraction, p: Fraction) -> Pair:
    """Draw three gradients in the ball of radius Δ/2 and return the pair of their differences."""
    g0, g1, g2 = (points.in_disc(sensitivity / 2) for _ in range(3))
    return Pair((g1[0] - g0[0], g1[1] - g0[1]), (g2[0] - g0[0], g2[1] - g0[1]), p)


@dataclass(frozen=True)
class Generator:
    """A generator f in C₁ that is analytic: Q f(P/Q) as a function of P and Q, and an envelope of it.

    ``envelope(p, q, cos_a, cos_b)`` lists (c, i, j) with |Q f(P/Q)| ≤ Σ c·|X|^i|Y|^j whenever
    |P| ≥ cos_a·(q+p|X|) and |Q| ≥ cos_b·(q+p|Y|), which holds where the arguments of X and Y are below twice
    those of the cosines.
    """

    name: str
    value: Callable[[arb, arb], arb]
    envelope: Callable[[arb, arb, arb, arb], list[tuple[arb, arb, arb]]]


def power(order: Fraction) -> Generator:
    """f(t) = t^α with 1 < α: |P| ≤ q+p|X| gives |P|^α ≤ q + p|X|^α (convexity), and |Q| ≥ q·cos_b."""

    def value(P: arb, Q: arb) -> arb:
        exponent = ball(order)
        return (exponent * P.log() + (1 - exponent) * Q.log()).exp()

    def envelope(p: arb, q: arb, cos_a: arb, cos_b: arb) -> list[tuple[arb, arb, arb]]:
        del cos_a
        exponent = ball(order)
        growth = (q * cos_b) ** (1 - exponent)
        return [(growth * q, arb(0), arb(0)), (growth * p, exponent, arb(0))]

    return Generator(f"t^{order}", value, envelope)


def kullback_leibler() -> Generator:
    """f(t) = t log t: |log P| ≤ 2 − log(q·cos_a) + p|X|, and likewise for Q.

    For q·cos_a ≤ |P| ≤ q+p|X| ≤ e^{p|X|}, and the argument of P is at most that of X, which is ≤ 2 (`_widest_strip`).
    """

    def value(P: arb, Q: arb) -> arb:
        return P * (P / Q).log()

    def envelope(p: arb, q: arb, cos_a: arb, cos_b: arb) -> list[tuple[arb, arb, arb]]:
        constant = 4 - (q * cos_a).log() - (q * cos_b).log()
        zero, one, two = arb(0), arb(1), arb(2)
        return [  # (q + p|X|)(constant + p|X| + p|Y|)
            (q * constant, zero, zero),
            (q * p + p * constant, one, zero),
            (q * p, zero, one),
            (p * p, two, zero),
            (p * p, one, one),
        ]

    return Generator("t log t", value, envelope)


ANALYTIC = (kullback_leibler(), power(Fraction(6, 5)), power(Fraction(3, 2)))


def _widest_strip(largest: float) -> float:
    """Return a half-width at which the argument of X and Y stays below 2 < π (untrusted)."""
    return 2.0 / max(largest, 1e-9)


def divergence(pair: Pair, generator: Generator, *, bits: int) -> arb:
    """Enclose F(a,b) = E[Q f(P/Q)] by the trapezoidal rule in the plane.

    On |Im z₁|, |Im z₂| ≤ d the argument of X is at most (|a₁|+|a₂|)d =: θ, so |q+pX| ≥ cos(θ/2)(q+p|X|).
    """
    A, B, _ = pair.gram
    (a1, a2), (b1, b2) = pair.a, pair.b
    spread_a, spread_b = ball(abs(a1) + abs(a2)), ball(abs(b1) + abs(b2))
    p, q = ball(pair.p), ball(1 - pair.p)

    def envelope(d: arb) -> PlaneEnvelope:
        cosines = [(spread * d / 2).cos() for spread in (spread_a, spread_b)]
        return [
            (c * (-(i * ball(A) + j * ball(B)) / 2).exp(), i * ball(a1) + j * ball(b1), i * ball(a2) + j * ball(b2))
            for c, i, j in generator.envelope(p, q, *cosines)
        ]

    tables: list[tuple[dict[int, arb], dict[int, arb]]] = []

    def prepare(step: arb, first: range, second: range) -> None:
        for (m1, m2), square in ((pair.a, A), (pair.b, B)):
            shift = p * (-ball(square) / 2).exp()
            tables.append(
                (
                    {n: shift * (ball(m1) * step * n).exp() for n in first},
                    {n: (ball(m2) * step * n).exp() for n in second},
                )
            )

    def value(n: int, m: int) -> arb:
        (x1, x2), (y1, y2) = tables
        return generator.value(q + x1[n] * x2[m], q + y1[n] * y2[m])

    strip = _widest_strip(float(max(abs(a1) + abs(a2), abs(b1) + abs(b2))))
    return plane_mean(value, strip=strip, envelope=envelope, prepare=prepare, bits=bits)


def single_pair_divergence(sensitivity: Fraction, p: Fraction, generator: Generator, *, bits: int) -> arb:
    """Enclose F* = E f(q + pL_Δ)."""
    p_ball, q, delta = ball(p), ball(1 - p), ball(sensitivity)
    shift = p_ball * (-delta * delta / 2).exp()

    def envelope(d: arb) -> Envelope:
        cosine = (delta * d / 2).cos()
        return [
            (c * (-i * delta * delta / 2).exp(), i * delta) for c, i, _ in generator.envelope(p_ball, q, cosine, arb(1))
        ]

    def value(z: arb) -> arb:
        return generator.value(q + shift * (delta * z).exp(), arb(1))

    return gaussian_mean(value, strip=_widest_strip(float(sensitivity)), envelope=envelope, bits=bits)


@lru_cache(maxsize=4096)
def upper_tails(pair: Pair, level: Fraction, *, bits: int) -> tuple[arb, arb]:
    """Enclose (Q(r > level), P(r > level)) for a level ≥ 1.

    Given Y, r > u means X > x₀ = (u(q+pY)−q)/p > 0, which has a Gaussian probability in the direction across b. Along
    b, Y = e^{βz−β²/2}, β = |b|, and log X = κz + τζ − |a|²/2 with κ = ⟨a,b⟩/β, τ² = |a|²−κ². With
    ζ₀ = (log x₀ − κz + |a|²/2)/τ the masses are q·Φ(−ζ₀) + pY·Φ(−ζ₀) and q·Φ(−ζ₀) + p·e^{κz−κ²/2}Φ(τ−ζ₀).
    On |Im z| ≤ d, x₀ has an argument of at most βd, so |Im ζ₀| ≤ (β+|κ|)d/τ =: η and |Φ| ≤ 1 + ηφ(0)e^{η²/2} there.
    """
    A, B, c = pair.gram
    p, q, u = ball(pair.p), ball(1 - pair.p), ball(level)
    beta = ball(B).sqrt()
    kappa = ball(c) / beta
    tau = (ball(A) - ball(c * c / B)).sqrt()

    def masses(z: arb) -> list[arb]:
        Y = (beta * z - beta * beta / 2).exp()
        threshold = (u * (q + p * Y) - q) / p
        zeta = (threshold.log() - kappa * z + ball(A) / 2) / tau
        below = normal_cdf(-zeta)
        return [(q + p * Y) * below, q * below + p * (kappa * z - kappa * kappa / 2).exp() * normal_cdf(tau - zeta)]

    def envelope(d: arb) -> Envelope:
        eta = (beta + abs(kappa)) * d / tau
        growth = 1 + eta / (2 * arb.pi()).sqrt() * (eta * eta / 2).exp()
        return [
            (growth * q, arb(0)),
            (growth * p * (-beta * beta / 2).exp(), beta),
            (growth * p * (-kappa * kappa / 2).exp(), kappa),
        ]

    steepness = (float_estimate(beta) + abs(float_estimate(kappa))) / float_estimate(tau)
    strip = min(2.5 / steepness, 3.0 / float_estimate(beta))
    of_q, of_p = gaussian_means(masses, strip=strip, envelope=envelope, bits=bits)
    return of_q, of_p


def tails(pair: Pair, level: Fraction, *, bits: int) -> tuple[arb, arb]:
    """Enclose (Q(r > level), P(r > level)) for any level > 0: below 1 through the reversed pair."""
    if level >= 1:
        return upper_tails(pair, level, bits=bits)
    of_p, of_q = upper_tails(pair.reversed, 1 / level, bits=bits)
    return 1 - of_q, 1 - of_p


def single_pair_tails(sensitivity: Fraction, p: Fraction, level: Fraction) -> tuple[arb, arb]:
    """Enclose (Q*(r* > level), P*(r* > level)) in closed form."""
    if level <= 1 - p:
        return arb(1), arb(1)
    delta = ball(sensitivity)
    z = ball((level - 1 + p) / p).log() / delta + delta / 2
    return normal_cdf(-z), ball(1 - p) * normal_cdf(-z) + ball(p) * normal_cdf(delta - z)
