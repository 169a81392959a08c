"""domination_theorem.md, Corollary 3: the KL-hinge accountant, f_γ(t) = (t log(t/γ) − t + γ)·1{t > γ}."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from fractions import Fraction

import sympy as sp
from flint import acb, arb

from certified_dp.divergence.moments import moment_gram_ball
from certified_dp.enclosure import ball, certainly_less, float_estimate, working_precision
from proofs_checks import formulas
from proofs_checks.pairs import Pair, random_pair, tails
from proofs_checks.points import Points
from proofs_checks.registry import claim, require
from proofs_checks.symbolic import must_be_nonnegative, must_vanish

_t, _gamma, _c = sp.symbols("t gamma c", positive=True)
_HINGE = _t * sp.log(_t / _gamma) - _t + _gamma  # on t > γ


@claim(
    name="class-members",
    source="domination_theorem.md, Class C₁",
    status="proved",
    how="t·f'' computed for every listed member, symbolic α, γ",
)
def class_members() -> None:
    """t·f'' is 1 for t log t and f_γ (t > γ), 2t for (t−γ)², α(α−1)t^{α−1} for t^α; κ ≤ 1 suffices for t^κ f''."""
    order = sp.Symbol("alpha", positive=True)
    members = {
        _t * sp.log(_t): sp.Integer(1),
        _HINGE: sp.Integer(1),
        (_t - _gamma) ** 2: 2 * _t,
        _t**order: order * (order - 1) * _t ** (order - 1),
    }
    for member, weight in members.items():
        must_vanish(_t * sp.diff(member, _t, 2) - weight, str(member), sp.powsimp)
    must_vanish(_HINGE.subs(_t, _gamma), "f_γ(γ)")
    must_vanish(sp.diff(_HINGE, _t).subs(_t, _gamma), "f_γ'(γ)")
    # The class is closed under t ↦ f(Rt): its weight is R·k(Rt).
    factor = sp.Symbol("R", positive=True)
    k = sp.Function("k")
    f_second = k(factor * _t) / (factor * _t)
    must_vanish(_t * factor**2 * f_second - factor * k(factor * _t), "weight of f(R·)")


@claim(
    name="hinge-tangent",
    source="domination_theorem.md, Corollary 3",
    status="proved",
    how="the tangent of f_γ at γeᶜ, symbolic γ, c",
)
def tangent() -> None:
    """The tangent of f_γ at γeᶜ has slope c and vanishes at K = γ(eᶜ−1)/c, so f_γ(t) ≥ c(t−K)_+."""
    point = _gamma * sp.exp(_c)
    slope = sp.diff(_HINGE, _t).subs(_t, point)
    must_vanish(slope - _c, "slope", sp.expand_log)
    value = sp.expand_log(_HINGE.subs(_t, point))
    K = formulas.tangent_zero(_gamma, sp.exp(_c), _c)
    must_vanish(value + _c * (K - point), "value of the tangent at K")
    # Under P* the weight per unit of r is h(y) = y − 1 + e^{−y}, y = log(r/γ).
    y = sp.Symbol("y", positive=True)
    must_vanish(sp.expand_log((_HINGE / _t).subs(_t, _gamma * sp.exp(y))) - (y - 1 + sp.exp(-y)), "f_γ(r)/r = h(y)")


@claim(
    name="hinge-best-level",
    source="domination_theorem.md, Corollary 3",
    status="proved",
    how="λ + log((eᶜ−1)/c) differentiated in λ; Taylor coefficients of the factor",
)
def best_level() -> None:
    """At the best λ, E(R−γ)_+·(1/(1−e^{−c}) − 1/c) = δ, where the factor is between ½ and 1."""
    level, delta = sp.symbols("lambda delta", real=True)
    hockey = sp.Symbol("hockey", positive=True)  # E(R−γ)_+
    in_gamma = sp.diff(_HINGE, _gamma) * _gamma  # d/dλ with γ = e^λ, for t > γ
    must_vanish(in_gamma + (_t - _gamma), "d f_γ/dλ = −(t−γ)_+", sp.expand_log)
    c = sp.Function("c")(level)
    derivative = sp.diff(level + sp.log((sp.exp(c) - 1) / c), level).subs(sp.diff(c, level), -hockey / delta)
    c_value = sp.Symbol("c", positive=True)
    factor = 1 / (1 - sp.exp(-c_value)) - 1 / c_value
    must_vanish(derivative.subs(c, c_value) - (1 - hockey * factor / delta), "stationarity")
    # ½ < factor < 1: c(1 + e^{−c}) − 2(1−e^{−c}) and 1 − (1+c)e^{−c} vanish at 0 and have derivatives ≥ 0.
    lower = c_value * (1 + sp.exp(-c_value)) - 2 * (1 - sp.exp(-c_value))
    must_vanish((factor - sp.Rational(1, 2)) * 2 * c_value * (1 - sp.exp(-c_value)) - lower, "factor − ½")
    must_vanish(sp.diff(lower, c_value, 2) - c_value * sp.exp(-c_value), "second derivative ≥ 0")
    must_vanish(lower.subs(c_value, 0), "value at 0")
    must_vanish(sp.diff(lower, c_value).subs(c_value, 0), "slope at 0")
    upper = 1 - (1 + c_value) * sp.exp(-c_value)
    must_vanish((1 - factor) * c_value * (1 - sp.exp(-c_value)) - upper, "1 − factor")
    must_vanish(upper.subs(c_value, 0), "value at 0")
    must_vanish(sp.diff(upper, c_value) - c_value * sp.exp(-c_value), "derivative ≥ 0")


@claim(
    name="hinge-tail-bounds",
    source="domination_theorem.md, Computing it with balls, steps 1, 3, 4",
    status="proved",
    how="maximum of log(x)·x^{1−θ}; exponential moment past the cut; product rule of the error terms",
)
def tail_bounds() -> None:
    """f_γ(t) ≤ γ(t/γ)^θ/(e(θ−1)); the θ-mass past z_max; e = e_A(|w_B|+e_B) + |w_A|e_B."""
    x, excess = sp.symbols("x excess", positive=True)  # excess = θ − 1
    ratio = sp.log(x) * x**-excess
    stationary = sp.exp(1 / excess)
    must_vanish(sp.diff(ratio, x).subs(x, stationary), "stationary point", sp.simplify)
    must_vanish(ratio.subs(x, stationary) - 1 / (sp.E * excess), "largest value", sp.simplify)
    # E[L^θ; z > z_max]: completing the square shifts the mean to θΔ and leaves e^{θ(θ−1)Δ²/2}.
    z, theta, sensitivity = sp.symbols("z theta Delta", real=True)
    exponent = theta * (sensitivity * z - sensitivity**2 / 2) - z**2 / 2
    shifted = theta * (theta - 1) * sensitivity**2 / 2 - (z - theta * sensitivity) ** 2 / 2
    must_vanish(exponent - shifted, "shift by θΔ")
    w_A, w_B, e_A, e_B = sp.symbols("w_A w_B e_A e_B", nonnegative=True)
    must_vanish((w_A + e_A) * (w_B + e_B) - w_A * w_B - (e_A * (w_B + e_B) + w_A * e_B), "error of a product")


@claim(
    name="hinge-gaussian-limit",
    source="domination_theorem.md, How much it gives",
    status="proved",
    how="E_P[h((L−λ)_+)] integrated by sympy for L ~ N(μ²/2, μ²)",
)
def gaussian_limit() -> None:
    """For the Gaussian pair E f_γ = (μ²/2−λ−1)Φ(D) + μφ(D) + γΦ(D−μ), D = μ/2 − λ/μ; and λ* < λ of Proposition 4."""
    mu, t = sp.symbols("mu t", positive=True)
    z, level = sp.symbols("z lambda", real=True)

    def cdf(x: sp.Expr) -> sp.Expr:
        return (1 + sp.erf(x / sp.sqrt(2))) / 2

    density = sp.exp(-(z**2) / 2) / sp.sqrt(2 * sp.pi)
    D = mu / 2 - level / mu
    # L = μ²/2 + μz exceeds λ iff z > −D; h(L−λ) = (L−λ) − 1 + e^{λ−L}.
    loss = mu**2 / 2 + mu * z
    primitive = (mu**2 / 2 - level - 1) * cdf(z) - mu * density + sp.exp(level) * cdf(z + mu)
    integrand = ((loss - level) - 1 + sp.exp(level - loss)) * density
    must_vanish(sp.diff(primitive, z) - integrand, "primitive")
    at_infinity = mu**2 / 2 - level - 1 + sp.exp(level)
    printed = (mu**2 / 2 - level - 1) * cdf(D) + mu * density.subs(z, D) + sp.exp(level) * cdf(D - mu)
    must_vanish(at_infinity - primitive.subs(z, -D) - printed, "integral from −D")
    # λ* = ν(t²−1) against λ = 2ν(t²−t), t = e^{2/σ²}.
    must_vanish(2 * (t**2 - t) - (t**2 - 1) - (t - 1) ** 2, "λ − λ* = ν(t−1)²")
    must_be_nonnegative((t - 1) ** 2, "λ ≥ λ*", lambda e: e)


def _hinge(t: arb, level: arb) -> arb:
    """Return t log(t/γ) − t + γ, which is f_γ from γ on."""
    return t * (t / level).log() - t + level


def sparse_grid(
    level: Fraction, *, step: Fraction = Fraction(1, 60), growth: Fraction = Fraction(9, 8)
) -> list[Fraction]:
    """Return points from ``level`` on, dense first (relative ``step``), then ever sparser, to 10⁵ times as far."""
    points = [level]
    while points[-1] < level * 100_000:
        points.append((points[-1] * (1 + step)).limit_denominator(1000))
        step *= growth
    return points


def _hinge_divergence_upper(pair: Pair, level: Fraction, bits: int) -> arb:
    """Bound E[Q f_γ(r)] from above: chords of f_γ between grid points, and a fourth moment beyond the last.

    Within a cell the chord is affine, so its mean needs only the masses of the cell, read off from the tails of r.
    f_γ(t) ≤ t⁴·log(u/γ)/u³ for t ≥ u, as log(t/γ)/t³ decreases when log(u/γ) ≥ 1/3.
    """
    grid = sparse_grid(level)
    table = [tails(pair, point, bits=bits) for point in grid]
    gamma, total = ball(level), arb(0)
    for low, high, (q_low, p_low), (q_high, p_high) in zip(grid, grid[1:], table, table[1:], strict=False):
        left, right = ball(low), ball(high)
        at_left = _hinge(left, gamma) if low > level else arb(0)
        slope = (_hinge(right, gamma) - at_left) / (right - left)
        of_q, of_p = q_low - q_high, p_low - p_high
        total += at_left * of_q + slope * (of_p - left * of_q)
    last = ball(grid[-1])
    fourth = moment_gram_ball(*pair.gram, pair.p, 4, prec=64)
    return total + fourth * (last / gamma).log() / last**3


def _single_pair_hinge_lower(sensitivity: Fraction, p: Fraction, level: Fraction, bits: int) -> arb:
    """Bound E f_γ(q + pL_Δ) from below, by flint's certified integration over a finite range beyond the kink."""
    p_ball, q, delta, gamma = ball(p), ball(1 - p), ball(sensitivity), ball(level)
    kink = ((gamma - q) / p_ball).log() / delta + delta / 2  # f_γ ≥ 0, so any later start gives a lower bound
    start = arb(float_estimate(kink) + 1e-9)

    def integrand(z: acb, _: bool) -> acb:
        t = q + p_ball * (delta * z - delta * delta / 2).exp()
        return (t * (t / gamma).log() - t + gamma) * (-z * z / 2).exp()

    width = acb.integral(integrand, acb(start), acb(start + 9), rel_tol=arb(2) ** -bits, abs_tol=arb(2) ** -(2 * bits))
    return width.real / (2 * arb.pi()).sqrt()


@claim(
    name="theorem-kl-hinge",
    source="domination_theorem.md, Theorem (one step)",
    status="spot-checked",
    how="40 triples × γ = 1−p/4, 1+p/2, 1+2p: chords and exact tail masses against integration, in balls",
)
def kl_hinges() -> None:
    """E[Q f_γ(P/Q)] ≤ E f_γ(q + pL_Δ)."""
    points = Points("kl hinge")
    with working_precision(80):
        for _ in range(40):
            delta, p = points.choice(Fraction(1), Fraction(2)), points.between(0, 1)
            pair = random_pair(points, delta, p)
            while pair.is_flat:
                pair = random_pair(points, delta, p)
            for level in (1 - p / 4, 1 + p / 2, 1 + 2 * p):
                star = _single_pair_hinge_lower(delta, p, level, bits=40)
                value = _hinge_divergence_upper(pair, level, bits=40)
                require(certainly_less(value, star), f"γ = {level}, Δ = {delta}, {pair}")
