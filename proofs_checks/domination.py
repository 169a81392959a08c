"""domination_theorem.md, the one-step theorem: F(a,b) ≤ F* whenever 0, a, b lie in a ball of radius Δ/2."""

from fractions import Fraction

from flint import arb

from certified_dp.divergence.moments import moment_gram_ball
from certified_dp.enclosure import ball, certainly_less, working_precision
from certified_dp.gaussian import normal_cdf
from proofs_checks import formulas
from proofs_checks.domination_lemma import logistic_mean
from proofs_checks.pairs import (
    ANALYTIC,
    Generator,
    Pair,
    divergence,
    power,
    random_pair,
    single_pair_divergence,
    single_pair_tails,
    tails,
)
from proofs_checks.points import Points
from proofs_checks.quadrature import Envelope, gaussian_mean
from proofs_checks.registry import claim, require

_BITS, _PREC = 60, 110
_SENSITIVITIES = (Fraction(1, 4), Fraction(1), Fraction(2))


def _pairs(name: str, count: int) -> list[tuple[Fraction, Pair]]:
    """Draw triples inside the ball and, as many, on its boundary, each with its Δ."""
    points = Points(name)
    drawn: list[tuple[Fraction, Pair]] = []
    for _ in range(count):
        delta, p = points.choice(*_SENSITIVITIES), points.probability()
        drawn.append((delta, random_pair(points, delta, p)))
        g0, g1, g2 = (points.on_circle(delta / 2) for _ in range(3))
        drawn.append((delta, Pair((g1[0] - g0[0], g1[1] - g0[1]), (g2[0] - g0[0], g2[1] - g0[1]), p)))
    return drawn


@claim(
    name="theorem-one-step",
    source="domination_theorem.md, Theorem (one step)",
    status="spot-checked",
    how="400 triples in and on the ball × f = t log t, t^1.2, t^1.5; plane quadrature in balls",
)
def one_step() -> None:
    """E[Q f(P/Q)] ≤ E f(q + pL_Δ)."""
    with working_precision(_PREC):
        for delta, pair in _pairs("one step", 200):
            for generator in ANALYTIC:
                value = divergence(pair, generator, bits=_BITS)
                star = single_pair_divergence(delta, pair.p, generator, bits=_BITS)
                require(certainly_less(value, star), f"f = {generator.name}, Δ = {delta}, {pair}")


@claim(
    name="theorem-integer-orders",
    source="domination_theorem.md, Corollary 1",
    status="spot-checked",
    how="200 triples × orders 2, 3, 8, 32: the package's moments against the closed form",
)
def integer_orders() -> None:
    """E[P^α Q^{1−α}] ≤ Σ_k C(α,k)q^{α−k}p^k e^{k(k−1)Δ²/2}."""
    with working_precision(_PREC):
        for delta, pair in _pairs("integer orders", 100):
            for order in (2, 3, 8, 32):
                value = moment_gram_ball(*pair.gram, pair.p, order, prec=_PREC)
                star = moment_gram_ball(delta * delta, Fraction(0), Fraction(0), pair.p, order, prec=_PREC)
                require(certainly_less(value, star), f"α = {order}, Δ = {delta}, {pair}")


@claim(
    name="plane-quadrature-agrees",
    source="(35); domination_theorem.md, Corollary 1",
    status="spot-checked",
    how="40 triples, orders 2 and 3: plane quadrature and the package's one-dimensional form must overlap",
)
def quadratures_agree() -> None:
    """E[P^α Q^{1−α}] in the plane is the package's moment."""
    with working_precision(_PREC):
        for _, pair in _pairs("agreement", 20):
            for order in (2, 3):
                plane = divergence(pair, power(Fraction(order)), bits=_BITS)
                line = moment_gram_ball(*pair.gram, pair.p, order, prec=_PREC)
                require(plane.overlaps(line), f"α = {order}, {pair}: {plane.str(10)} against {line.str(10)}")


@claim(
    name="longer-first",
    source="domination_theorem.md, step 3; Lemma 4",
    status="spot-checked",
    how="160 triples with |a| ≠ |b| × f = t log t, t^1.2, t^1.5, t³; plane quadrature in balls",
)
def longer_first() -> None:
    """F(a,b) ≥ F(b,a) when |a| ≥ |b|."""
    with working_precision(_PREC):
        for _, pair in _pairs("longer first", 80):
            A, B, _ = pair.gram
            longer = pair if A > B else pair.reversed
            if A == B:
                continue
            for generator in (*ANALYTIC, power(Fraction(3))):
                forward = divergence(longer, generator, bits=_BITS)
                backward = divergence(longer.reversed, generator, bits=_BITS)
                require(certainly_less(backward, forward), f"f = {generator.name}, {longer}")


def _half_angle(m: Fraction) -> tuple[Fraction, Fraction]:
    """Return (cos, sin) of the angle whose half has tangent m."""
    return (1 - m * m) / (1 + m * m), 2 * m / (1 + m * m)


def _rotation_integrand(p: arb, sin_2t: arb, sin_2s: arb) -> Generator:
    """P(v sin2t + w sin2s)(v−w) as a function of P and Q: v = 1 − q/P, w = 1 − q/Q, |w| ≤ 1/cos_b, |Pv| = p|X|."""
    q = 1 - p

    def value(P: arb, Q: arb) -> arb:
        v, w = 1 - q / P, 1 - q / Q
        return P * (v * sin_2t + w * sin_2s) * (v - w)

    def envelope(p: arb, q: arb, cos_a: arb, cos_b: arb) -> list[tuple[arb, arb, arb]]:
        width = 1 / cos_a + 1 / cos_b
        return [
            (q * sin_2s / cos_b * width, arb(0), arb(0)),
            (p * (sin_2t + sin_2s / cos_b) * width, arb(1), arb(0)),
        ]

    return Generator("rotation", value, envelope)


@claim(
    name="rotation-gain",
    source="domination_theorem.md, step 4",
    status="spot-checked",
    how="150 inscribed triangles: plane quadrature of 𝒯 overlaps its closed form, which is ≥ 0",
)
def rotation_gain() -> None:
    """𝒯 = E[P(v sin2t + w sin2s)(v−w)] = p(sin2t(S_A−g(c)) − sin2s(g'(B)−g'(c))) ≥ 0 for 0 < t ≤ s, t+s ≤ π/2."""
    points = Points("rotation")
    with working_precision(_PREC):
        for _ in range(150):
            delta, p = points.choice(*_SENSITIVITIES), points.probability()
            m_s = points.between(0, 1)
            m_t = points.between(0, min(m_s, (1 - m_s) / (1 + m_s)))
            (cos_t, sin_t), (cos_s, sin_s) = _half_angle(m_t), _half_angle(m_s)
            a = (delta * cos_t * cos_t, delta * cos_t * sin_t)
            b = (delta * cos_s * cos_s, -delta * cos_s * sin_s)
            pair = Pair(a, b, p)
            A, B, c = (ball(value) for value in pair.gram)
            sin_2t, sin_2s = ball(2 * sin_t * cos_t), ball(2 * sin_s * cos_s)
            direct = divergence(pair, _rotation_integrand(ball(p), sin_2t, sin_2s), bits=_BITS)
            level = ball(p / (1 - p)).log()
            S_A = logistic_mean(level + A / 2, A, (1, 0), bits=_BITS)
            g_c = logistic_mean(level + c - B / 2, B, (1, 0), bits=_BITS)
            slope_B = logistic_mean(level + B / 2, B, (1, 1), bits=_BITS)
            slope_c = logistic_mean(level + c - B / 2, B, (1, 1), bits=_BITS)
            closed = ball(p) * formulas.rotation_gain(sin_2t, sin_2s, S_A, g_c, slope_B, slope_c)
            require(direct.overlaps(closed), f"𝒯 differs from its closed form: Δ = {delta}, {pair}")
            require(certainly_less(arb(0), closed), f"𝒯 < 0: Δ = {delta}, {pair}")


@claim(
    name="shrink-bracket",
    source="domination_theorem.md, step 5",
    status="spot-checked",
    how="150 right triangles × k = 1{r > γ}, γ = 1, 1+p/8, 1+p/2, 1+p: X given Y in closed form, then quadrature",
)
def shrink_bracket() -> None:
    """E[k(r)Pw(2v−w)] ≥ 0 when a is a diameter and b is on the circle, for the extreme weights k = 1{r > γ}."""
    points = Points("shrink")
    with working_precision(_PREC):
        for _ in range(150):
            delta, p = points.choice(*_SENSITIVITIES), points.probability()
            cos_s, _ = _half_angle(points.between(Fraction(1, 4), 1))
            for level in (Fraction(1), 1 + p / 8, 1 + p / 2, 1 + p):
                gain = _hinge_bracket(delta, cos_s, p, level)
                require(certainly_less(arb(0), gain), f"Δ = {delta}, cos s = {cos_s}, p = {p}, γ = {level}")


def _hinge_bracket(delta: Fraction, cos_s: Fraction, p_exact: Fraction, level: Fraction) -> arb:
    """Enclose E[1{r > γ}·w(pYM(2−w) − pY(1−w))], γ ≥ 1, with M = L_{a−b} independent of Y = L_b.

    r > γ means M > m₀ = ((γ−1)q + γpY)/(pY); log M = τζ − τ²/2, τ² = Δ²(1−cos²s), so given Y the mean is
    w·pY·((2−w)Φ(τ−ζ₀) − (1−w)Φ(−ζ₀)), ζ₀ = log(m₀)/τ + τ/2. On |Im z| ≤ d the argument of m₀ is at most βd,
    |w| ≤ 1/cos(βd/2), and Φ as in `pairs.upper_tails`.
    """
    p, q, u = ball(p_exact), ball(1 - p_exact), ball(level)
    beta = ball(delta * cos_s)
    tau = ball(delta * delta * (1 - cos_s * cos_s)).sqrt()

    def value(z: arb) -> arb:
        Y = (beta * z - beta * beta / 2).exp()
        w = p * Y / (q + p * Y)
        zeta = (((u - 1) * q + u * p * Y) / (p * Y)).log() / tau + tau / 2
        return w * p * Y * ((2 - w) * normal_cdf(tau - zeta) - (1 - w) * normal_cdf(-zeta))

    def envelope(d: arb) -> Envelope:
        largest_w = 1 / (beta * d / 2).cos()
        eta = beta * d / tau
        largest_cdf = 1 + eta / (2 * arb.pi()).sqrt() * (eta * eta / 2).exp()
        return [(largest_w * (3 + 2 * largest_w) * largest_cdf * p * (-beta * beta / 2).exp(), beta)]

    strip = min(2.5 * float(tau.mid()) / float(beta.mid()), 2.4 / float(beta.mid()))
    return gaussian_mean(value, strip=strip, envelope=envelope, bits=_PREC)


def _square_root() -> Generator:
    """f(t) = −√t, for which t^{3/2}f'' is constant; |√(PQ)| ≤ (|P|+|Q|)/2."""

    def envelope(p: arb, q: arb, cos_a: arb, cos_b: arb) -> list[tuple[arb, arb, arb]]:
        del cos_a, cos_b
        return [(q, arb(0), arb(0)), (p / 2, arb(1), arb(0)), (p / 2, arb(0), arb(1))]

    return Generator("−√t", lambda P, Q: -(P * Q).sqrt(), envelope)


@claim(
    name="sharp-exponent",
    source="domination_theorem.md, Sharpness",
    status="certified",
    how="one exact counterexample: Δ = 5/2, p = 1/2, an almost equilateral inscribed triangle",
)
def sharp_exponent() -> None:
    """With t^{3/2}f'' in place of t·f'' the theorem is false: for f = −√t some pair exceeds the single pair."""
    delta, p = Fraction(5, 2), Fraction(1, 2)
    cosine, sine = _half_angle(Fraction(268, 1000))  # close to 30°
    pair = Pair((delta * cosine**2, delta * cosine * sine), (delta * cosine**2, -delta * cosine * sine), p)
    with working_precision(_PREC):
        value = divergence(pair, _square_root(), bits=_BITS)
        star = single_pair_divergence(delta, p, _square_root(), bits=_BITS)
        require(certainly_less(star, value), "the counterexample is none")


@claim(
    name="hockey-stick-below-one",
    source="Lemma 2, (4); domination_theorem.md, Class C₁",
    status="certified",
    how="one exact counterexample per level: Δ = 1, p = 1/10, γ = 0.91, 0.95, 0.975",
)
def hockey_stick_below_one() -> None:
    """Hockey-sticks with γ < 1 are not covered: the reversed pair exceeds the single pair there."""
    delta, p = Fraction(1), Fraction(1, 10)
    with working_precision(_PREC):
        for level in (Fraction(91, 100), Fraction(19, 20), Fraction(39, 40)):
            of_q, of_p = single_pair_tails(delta, p, level)
            forward = of_p - ball(level) * of_q
            of_q, of_p = single_pair_tails(delta, p, 1 / level)
            # H_γ(Q‖P) = 1 − γ + γH_{1/γ}(P‖Q)
            backward = 1 - ball(level) + ball(level) * (of_p - of_q / ball(level))
            require(certainly_less(forward, backward), f"γ = {level}")


@claim(
    name="hockey-stick-above-one",
    source="Proposition 1; Lemma 2, (3)",
    status="spot-checked",
    how="up to 100 triples × γ = 1.01, 1.1, 1.5, 3; X given Y in closed form, then quadrature",
)
def hockey_stick_above_one() -> None:
    """H_γ(P‖Q) ≤ H_γ(P*‖Q*) for γ ≥ 1, which Proposition 1 takes from print."""
    settled = 0
    with working_precision(_PREC):
        for delta, pair in _pairs("hockey", 50):
            if pair.is_flat:
                continue
            for level in (Fraction(101, 100), Fraction(11, 10), Fraction(3, 2), Fraction(3)):
                of_q, of_p = tails(pair, level, bits=_BITS)
                star_q, star_p = single_pair_tails(delta, pair.p, level)
                value, star = of_p - ball(level) * of_q, star_p - ball(level) * star_q
                if star > ball(Fraction(1, 10**6)):  # else the level is hardly ever reached
                    require(certainly_less(value, star), f"γ = {level}, Δ = {delta}, {pair}")
                    settled += 1
        require(settled >= 100, "most levels are out of reach")
