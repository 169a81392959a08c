"""Section 6: Lemma 3, Proposition 4 and Corollary 2 (T → ∞, p → 0, Tp² → ν)."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from fractions import Fraction

import sympy as sp
from flint import arb

from certified_dp.asymptotics import (
    lossless_mu_squared_ball,
    proposition4_delta_ball,
    theorem1_expansion_ball,
    theorem1_lambda_ball,
)
from certified_dp.enclosure import ball, hull_ball, working_precision
from certified_dp.gaussian import normal_cdf, normal_pdf
from proofs_checks import formulas
from proofs_checks.points import Points
from proofs_checks.registry import claim, require
from proofs_checks.symbolic import must_vanish

_z = sp.Symbol("z", real=True)
_DENSITY = sp.exp(-(_z**2) / 2) / sp.sqrt(2 * sp.pi)


def _cdf(x: sp.Expr) -> sp.Expr:
    return (1 + sp.erf(x / sp.sqrt(2))) / 2


@claim(
    name="lemma-3-variance",
    source="Lemma 3",
    status="proved",
    how="2E[(L−1)²; L > 1] integrated from its primitive, symbolic σ",
)
def lossless_variance() -> None:
    """μ²/(2ν) = E[(L−1)²; L > 1] = e^{4/σ²}Φ(3/σ) + 3Φ(−1/σ) − 2 for L = e^{Δz−Δ²/2}, Δ = 2/σ."""
    sigma = sp.Symbol("sigma", positive=True)
    delta = 2 / sigma
    L = sp.exp(delta * _z - delta**2 / 2)
    primitive = sp.exp(delta**2) * _cdf(_z - 2 * delta) - 2 * _cdf(_z - delta) + _cdf(_z)
    must_vanish(sp.diff(primitive, _z) - (L - 1) ** 2 * _DENSITY, "primitive")
    at_infinity = sp.exp(delta**2) - 2 + 1
    integral = at_infinity - primitive.subs(_z, delta / 2)  # L > 1 iff z > Δ/2
    printed = sp.exp(4 / sigma**2) * _cdf(3 / sigma) + 3 * _cdf(-1 / sigma) - 2
    must_vanish(integral - printed, "Lemma 3")
    y = sp.Symbol("y", positive=True)
    half_gap = (printed - (sp.exp(4 / sigma**2) - sp.exp(2 / sigma**2))).subs(sigma, 1 / y)
    must_vanish(half_gap - formulas.corollary2_function(y, sp.exp, _cdf), "(μ²−λ)/(2ν) is Corollary 2's f(1/σ)")


@claim(
    name="corollary-2-derivative",
    source="Corollary 2, Appendix A.6",
    status="proved",
    how="f differentiated, symbolic y",
)
def derivative() -> None:
    """f(0) = 0, f'(y) = 4y e^{2y²}m(y) with m(y) = 1 − 2e^{2y²}Φ(−3y), m(0) = 0, m' = e^{2y²}(6φ(3y) − 8yΦ(−3y))."""
    y = sp.Symbol("y", positive=True)
    f = formulas.corollary2_function(y, sp.exp, _cdf)
    printed = formulas.corollary2_derivative(y, sp.exp, _cdf)
    must_vanish(f.subs(y, 0), "f(0)")
    must_vanish(sp.diff(f, y) - printed, "f'")
    factor = sp.expand(printed / (4 * y * sp.exp(2 * y**2)))
    must_vanish(factor.subs(y, 0), "m(0)")
    density = sp.exp(-9 * y**2 / 2) / sp.sqrt(2 * sp.pi)
    must_vanish(sp.diff(factor, y) - sp.exp(2 * y**2) * (6 * density - 8 * y * _cdf(-3 * y)), "m'")


@claim(
    name="gaussian-tail-bound",
    source="Appendix A.6, Φ(−3y) ≤ ½e^{−9y²/2}",
    status="proved",
    how="the gap has derivative (φ(0) − x/2)e^{−x²/2}, so it rises, then falls to its limit 0",
)
def tail_bound() -> None:
    """Φ(−x) ≤ ½e^{−x²/2} for x ≥ 0, whence f' ≥ 4ye^{2y²}(1 − e^{−5y²/2}) > 0."""
    x, y = sp.symbols("x y", positive=True)
    gap = sp.exp(-(x**2) / 2) / 2 - _cdf(-x)
    must_vanish(gap.subs(x, 0), "equality at 0")
    must_vanish(sp.diff(gap, x) - (1 / sp.sqrt(2 * sp.pi) - x / 2) * sp.exp(-(x**2) / 2), "derivative")
    must_vanish(sp.limit(gap, x, sp.oo), "limit")
    inserted = formulas.corollary2_derivative(y, sp.exp, lambda _: sp.exp(-9 * y**2 / 2) / 2)
    must_vanish(inserted - 4 * y * sp.exp(2 * y**2) * (1 - sp.exp(-5 * y**2 / 2)), "Φ replaced by its bound")


@claim(
    name="corollary-2-positive",
    source="Corollary 2, f > 0",
    status="certified",
    how="every y > 0: m' > 0 on [0, 0.2], f itself on [0.2, 3] by subdivision, e^{2y²} > 2 + ½e^{−y²/2} beyond",
)
def positive() -> None:
    """f(y) > 0, that is μ² > λ, for every y = 1/σ > 0."""
    with working_precision(64):
        for i in range(20):  # f(0) = 0 and f' = 4ye^{2y²}m, so m(0) = 0 and m' > 0 suffice
            piece = hull_ball(Fraction(i, 100), Fraction(i + 1, 100))
            rise = 6 * normal_pdf(3 * piece) - 8 * piece * normal_cdf(-3 * piece)
            require(bool(rise > 0), f"m' on [{i}/100, {i + 1}/100]")
        y, width = Fraction(1, 5), Fraction(1, 400)
        while y < 3:
            piece, middle = hull_ball(y, y + width), ball(y + width / 2)
            slope = formulas.corollary2_derivative(piece, lambda t: t.exp(), normal_cdf)
            value = formulas.corollary2_function(middle, lambda t: t.exp(), normal_cdf) + slope * (piece - middle)
            require(bool(value > 0), f"f on [{y}, {y + width}]")
            y += width
        # For y ≥ 3: f ≥ e^{2y²} − 2 − ½e^{4y² − 9y²/2} by the tail bound, and this increases in y.
        require(bool(arb(18).exp() - 2 - (arb(-9) / 2).exp() / 2 > 0), "beyond 3")


@claim(
    name="mills-ratio-34",
    source="Appendix A.6, (33), (34)",
    status="proved",
    how="derivatives of the two gaps; the algebra of the lower bound on δ_L",
)
def mills() -> None:
    """(1/x − 1/x³)φ(x) ≤ Φ(−x) ≤ φ(x)/x, and δ_L(ε) ≥ μ³/(2ε²)·φ(ε/μ − μ/2) for ε ≥ max(μ², 16)."""
    x, mu, eps, lam = sp.symbols("x mu eps lambda", positive=True)
    density = sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)
    # Both gaps tend to 0 at infinity; their derivatives keep one sign.
    must_vanish(sp.diff(density / x - _cdf(-x), x) + density / x**2, "upper gap falls")
    must_vanish(sp.diff(_cdf(-x) - (1 / x - 1 / x**3) * density, x) + 3 * density / x**4, "lower gap falls")
    near, far = eps / mu - mu / 2, eps / mu + mu / 2
    must_vanish(eps - far**2 / 2 + near**2 / 2, "e^ε φ(ε/μ+μ/2) = φ(ε/μ−μ/2)")
    must_vanish(1 / near - 1 / far - mu / (eps**2 / mu**2 - mu**2 / 4), "difference of the reciprocals", sp.together)
    must_vanish(near - eps / (2 * mu) - (eps - mu**2) / (2 * mu), "near ≥ ε/(2μ) iff ε ≥ μ²")
    must_vanish(mu**3 / (2 * eps**2) - 8 * mu**3 / eps**3 - mu**3 * (eps - 16) / (2 * eps**3), "ε ≥ 16", sp.together)
    # (33): δ ≤ (λ/ε)·exp(−ε²/(2λ) + ε/2), as λ+ε ≥ ε in the first factor and ε/(λ+ε) ≤ 1 in the second.
    printed = formulas.proposition4_log_delta(lam, eps, sp.log)
    slack = sp.log(lam / eps) - eps**2 / (2 * lam) + eps / 2 - printed
    must_vanish(slack - (1 + eps / lam) * sp.log(1 + lam / eps), "(33)", _split_logs)


def _split_logs(expression: sp.Expr) -> sp.Expr:
    split = expression.replace(sp.log, lambda argument: sp.expand_log(sp.log(sp.factor(argument)), force=True))
    return sp.expand(split)


@claim(
    name="package-asymptotics",
    source="Lemma 3, Proposition 4, (8)",
    status="spot-checked",
    how="200 exact (σ, ν, ε, p, α): the package's limits against the formulas checked here, balls overlap",
)
def package_asymptotics() -> None:
    """The package's μ², λ, Proposition 4 bound and expansion (8) are the formulas checked here."""
    points = Points("asymptotics")
    with working_precision(100):
        for _ in range(200):
            sigma, nu, eps = points.between(0, 9), points.between(0, 4), points.between(0, 20)
            y = ball(1 / sigma)
            gap = lossless_mu_squared_ball(nu, sigma) - theorem1_lambda_ball(nu, sigma)
            printed_gap = 2 * ball(nu) * formulas.corollary2_function(y, lambda t: t.exp(), normal_cdf)
            require(gap.overlaps(printed_gap), f"μ² − λ at σ = {sigma}, ν = {nu}")
            lam = theorem1_lambda_ball(nu, sigma)
            log_delta = formulas.proposition4_log_delta(lam, ball(eps), lambda t: t.log())
            require(proposition4_delta_ball(lam, eps).log().overlaps(log_delta), f"λ = {lam.str(6)}, ε = {eps}")
            p, order = points.probability(), points.between(1, 30)
            printed = formulas.expansion(ball(order), ball(p), ball(2 / sigma**2).exp())
            require(
                theorem1_expansion_ball(sigma, p, order).overlaps(printed), f"(8) at σ = {sigma}, p = {p}, α = {order}"
            )
