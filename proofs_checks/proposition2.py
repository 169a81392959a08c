"""Proposition 2: when the maximum of F over [0, 1/2] is at u = 0, or at an end."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim, require
from proofs_checks.symbolic import (
    alpha,
    must_be_nonnegative,
    must_vanish,
    numerator,
    p,
    q,
    sensitivity,
    theorem1_gram,
    u,
)

_x = sp.Symbol("x", real=True)
_norm = sp.Symbol("norm", positive=True)  # F(0)^{1/α}


@claim(
    name="jensen-step",
    source="Proposition 2(a), first inequality",
    status="proved",
    how="log(q+pe^y) − py vanishes to first order at 0 and is convex",
)
def jensen_step() -> None:
    """Q + pe^y ≥ e^{py} for all real y."""
    y = sp.Symbol("y", real=True)
    gap = sp.log(q + p * sp.exp(y)) - p * y
    must_vanish(gap.subs(y, 0), "value at 0")
    must_vanish(sp.diff(gap, y).subs(y, 0), "slope at 0")
    w = p * sp.exp(y) / (q + p * sp.exp(y))
    must_vanish(sp.diff(gap, y, 2) - w * (1 - w), "w(1−w) ≥ 0 is the second derivative", numerator)


@claim(
    name="proposition-2a-shift",
    source="Proposition 2(a), up to (20)",
    status="proved",
    how="exponents of e^{kX} under the shift by (α−1)pb, symbolic k, α, p, u, Δ",
)
def shift() -> None:
    """E[(q+pL_a)^α L_b^{(1−α)p}] carries the factor e^{x+(α−1)px} and turns L_a into e^{−x}L_a, x = (α−1)pΔ²u."""
    k = sp.Symbol("k", real=True)
    gram = theorem1_gram()
    x = (alpha - 1) * p * sensitivity**2 * u
    exponent = formulas.log_moment(k, (1 - alpha) * p, *gram)
    alone = formulas.log_moment(k, 0, *gram)
    must_vanish(exponent - (alone - k * x + x + (alpha - 1) * p * x), "Gaussian shift")
    L_a = sp.Symbol("L_a", positive=True)
    before = q + sp.exp(-_x) * p * L_a
    must_vanish(before - (sp.exp(-_x) * (q + p * L_a) + q * (1 - sp.exp(-_x))), "split for Minkowski")


@claim(
    name="proposition-2a-ratio",
    source="(20), T and T'",
    status="proved",
    how="log T differentiated; the condition read off at the largest x",
)
def ratio() -> None:
    """Log T = −(α−1)qx + α log(1 + (q/F(0)^{1/α})(eˣ−1)), T' ≤ 0 on the range of x exactly under (19)."""
    T_base = sp.exp(-_x) + q / _norm * (1 - sp.exp(-_x))
    log_T = (1 + (alpha - 1) * p) * _x + alpha * sp.log(T_base)
    printed = formulas.proposition2a_log_ratio(alpha, p, _x, _norm)
    must_vanish(log_T.subs(_x, 0), "T(0) = 1")
    must_vanish(printed.subs(_x, 0), "T(0) = 1")
    # Both logarithms' arguments differ by the factor e^x, which moves αx out.
    inside = 1 + q / _norm * (sp.exp(_x) - 1)
    must_vanish(sp.exp(_x) * T_base - inside, "e^x taken out of the bracket")
    must_vanish(printed - (log_T - alpha * sp.log(T_base) - alpha * _x + alpha * sp.log(inside)), "log T")
    slope = -(alpha - 1) * q + alpha * q / _norm * sp.exp(_x) / inside
    must_vanish(sp.diff(printed, _x) - slope, "T'/T", numerator)
    # inside ≥ 1 and norm ≥ p e^{(α−1)Δ²/2}, the L^α norm of pL_a alone, give the bound.
    least_norm = p * sp.exp((alpha - 1) * sensitivity**2 / 2)
    must_vanish(
        alpha * formulas.log_moment(1, 0, 0, 0, 0)
        + formulas.log_moment(alpha, 0, *theorem1_gram()) / alpha
        - (alpha - 1) * sensitivity**2 / 2,
        "norm of L_a",
    )
    bound = formulas.proposition2a_slope_bound(alpha, p, _x, sensitivity)
    must_vanish(bound - slope / q - alpha * sp.exp(_x) * (1 / least_norm - 1 / (_norm * inside)), "bound")
    largest = (alpha - 1) * p * sensitivity**2 / 2
    condition = formulas.proposition2a_condition(alpha, p, sensitivity)
    # bound(largest) = (α−1)(e^{−condition} − 1): its sign is that of −condition.
    must_vanish(bound.subs(_x, largest) - (alpha - 1) * (sp.exp(-condition) - 1), "condition (19)", sp.expand)


@claim(
    name="proposition-2a-convex",
    source="(20), as the package uses it",
    status="proved",
    how="log T differentiated twice",
)
def ratio_is_convex() -> None:
    """Log T is convex in x, so log T(0) = 0 and log T ≤ 0 at the largest x settle every u in [0, 1/2]."""
    log_T = formulas.proposition2a_log_ratio(alpha, p, _x, _norm)
    share = q / _norm
    second = alpha * share * (1 - share) * sp.exp(_x) / (1 + share * (sp.exp(_x) - 1)) ** 2
    must_vanish(sp.diff(log_T, _x, 2) - second, "second derivative", numerator)
    # norm = F(0)^{1/α} ≥ 1 > q, so 0 < share < 1 and the second derivative is positive.


@claim(
    name="proposition-2a-printed",
    source="Proposition 2(a)",
    status="proved",
    how="(19) at α = 1 + σ²log(2/p)/(2q)",
)
def printed_condition() -> None:
    """α ≥ max(2, 1 + σ²log(2/p)/(2q)) implies (19): there p·e^{(α−1)qΔ²/2} = 2 ≥ α/(α−1)."""
    sigma = sp.Symbol("sigma", positive=True)
    order = 1 + sigma**2 * sp.log(2 / p) / (2 * q)
    exponent = (order - 1) * q * (2 / sigma) ** 2 / 2
    must_vanish(exponent - sp.log(2 / p), "log of the left side of (19), over p", numerator)
    s = sp.Symbol("s", nonnegative=True)
    must_be_nonnegative(sp.together(2 - (2 + s) / (1 + s)), "α/(α−1) ≤ 2 for α = 2 + s")


@claim(
    name="tilted-polynomial-22",
    source="(22)",
    status="proved",
    how="expanded, against (18) divided by w",
)
def tilted_polynomial() -> None:
    """(18)'s polynomial is w·Q(v,w), and Q in powers of v−w is (22)."""
    v, w = sp.symbols("v w", real=True)
    must_vanish(
        formulas.second_derivative_polynomial(alpha, v, w) - w * formulas.tilted_polynomial(alpha, v, w), "(22)"
    )
    must_vanish(formulas.first_derivative_polynomial(v, w) + w * (v - w), "F' = 0 iff the tilted mean of v−w is 0")


@claim(
    name="tilted-hessian-23",
    source="(23)",
    status="proved",
    how="Hessian by differentiation; the matrix inequality as a rank-one square",
)
def tilted_hessian() -> None:
    """−log density of w·h·ψ has Hessian ⪰ (1−αΔ²/4)Σ⁻¹, Σ = Δ²[[1,u],[u,2u]]."""
    x, y = sp.symbols("x y", real=True)
    P, Q = q + p * sp.exp(x), q + p * sp.exp(y)
    v, w = p * sp.exp(x) / P, p * sp.exp(y) / Q
    log_weight = sp.log(p) + y - sp.log(Q) + alpha * sp.log(P) + (1 - alpha) * sp.log(Q)
    must_vanish(sp.diff(log_weight, x, 2) - alpha * v * (1 - v), "xx", numerator)
    must_vanish(sp.diff(log_weight, y, 2) + alpha * w * (1 - w), "yy", numerator)
    must_vanish(sp.diff(log_weight, x, y), "xy")
    shape = sp.Matrix([[1, u], [u, 2 * u]])
    rank_one = sp.Matrix([u, -1]) * sp.Matrix([[u, -1]]) / (2 * u - u**2)
    for entry in shape.inv() - sp.Matrix([[1, 0], [0, 0]]) - rank_one:
        must_vanish(entry, "Σ⁻¹Δ² − e₁e₁ᵀ is a square", numerator)
    z = sp.Symbol("z", real=True)
    must_vanish(sp.Rational(1, 4) - z * (1 - z) - (z - sp.Rational(1, 2)) ** 2, "v(1−v) ≤ 1/4")


@claim(
    name="stein-mean-of-y",
    source="Proposition 2(b), bound on the tilted mean of w",
    status="proved",
    how="Stein's identity with the logarithmic derivatives",
)
def stein() -> None:
    """The tilted mean of Y is Δ²u(1 + αẼv − 2αẼw) = Δ²u(1 − αẼw) when Ẽv = Ẽw; Herbst then gives Ẽw."""
    mean_v, mean_w = sp.symbols("mean_v mean_w", real=True)
    # ∂_X log(wh) = αv; ∂_Y log(wh) = (1−w) + (1−α)w.
    _, B, c = theorem1_gram()
    mean_y = -B / 2 + c * alpha * mean_v + B * ((1 - mean_w) + (1 - alpha) * mean_w)
    printed = sensitivity**2 * u * (1 + alpha * mean_v - 2 * alpha * mean_w)
    must_vanish(mean_y - printed, "tilted mean of Y")
    must_vanish(printed.subs(mean_v, mean_w) - sensitivity**2 * u * (1 - alpha * mean_w), "with Ẽv = Ẽw")


@claim(
    name="proposition-2b-collected",
    source="(27) and Proposition 2(b)",
    status="proved",
    how="(24)–(26) inserted in (22); Δ = 2/σ inserted",
)
def collected() -> None:
    """The bounds collect to Ẽw(1 − Ẽw·e^s(3 + ((3√2+2)α + 2√2 − 2)s)), which is Proposition 2(b) in σ."""
    s = sp.Symbol("s", positive=True)
    root = sp.sqrt(2)
    mean_square = (alpha - 1) * 2 * s  # (α−1)·(25), using αw − 1 ≥ −1
    covariance = (3 * root * alpha + 2 * root) * s  # (26)
    third = sp.Integer(3)  # w(1−w)(1−2w) ≥ w − 3w², then (24)
    must_vanish(mean_square + covariance + third - formulas.proposition2b_bracket(alpha, s, root), "(27)")
    w, variance = sp.symbols("w variance", positive=True)
    must_vanish(w * (1 - w) * (1 - 2 * w) - (w - 3 * w**2) - 2 * w**3, "w(1−w)(1−2w) > w − 3w²")
    square = 4 / variance  # Δ²
    s_of_variance = square / (1 - alpha * square / 4)
    bracket, exponent = formulas.proposition2b_printed(alpha, variance, root)
    must_vanish(formulas.proposition2b_bracket(alpha, s_of_variance, root) - bracket, "bracket in σ", numerator)
    must_vanish(square / 2 + s_of_variance / 2 + s_of_variance - exponent, "exponent in σ", numerator)


@claim(
    name="lemma-5-algebra",
    source="Appendix A.3.1",
    status="proved",
    how="gradients and the quadratic forms of Brascamp–Lieb and log-Sobolev; bounds by declared signs",
)
def lemma5_algebra() -> None:
    """The integrands in the proof of Lemma 5 are bounded as printed, for 0 ≤ v, w ≤ 1 and u ≤ 1/2."""
    v, w, r = sp.symbols("v w r", nonnegative=True)
    order = 1 + sp.Symbol("order_minus_1", nonnegative=True)
    shape = sp.Matrix([[1, u], [u, 2 * u]])
    # (24): G = w^{r/2} has (shape-)squared gradient 2u·(r²/4)·w^r(1−w)².
    gradient = sp.Matrix([0, r / 2 * w ** (r / 2) * (1 - w)])
    form = (gradient.T * shape * gradient)[0]
    must_vanish(form - 2 * u * r**2 / 4 * w**r * (1 - w) ** 2, "(24)", sp.powsimp)
    # (25): G = v − w.
    gradient = sp.Matrix([v * (1 - v), -w * (1 - w)])
    form = (gradient.T * shape * gradient)[0]
    must_vanish(form - (v**2 * (1 - v) ** 2 - 2 * u * v * (1 - v) * w * (1 - w) + 2 * u * w**2 * (1 - w) ** 2), "(25)")
    # (26): (1−w)²(3α+2−8αw)² ≤ (3α+2)², from both signs of the inner bracket, with w = 1 − z.
    bound, inner = 3 * order + 2, (1 - w) * (3 * order + 2 - 8 * order * w)
    must_vanish(sp.diff(w * (3 * alpha + 2 - 4 * alpha * w), w) - (3 * alpha + 2 - 8 * alpha * w), "∂_w")
    _bounded_on_unit_interval(bound + inner, w)
    _bounded_on_unit_interval(bound - inner, w)


def _bounded_on_unit_interval(polynomial: sp.Expr, w: sp.Symbol) -> None:
    """Show a quadratic in w to be ≥ 0 on [0,1] by its Bernstein coefficients after one bisection."""
    t = sp.Symbol("t", nonnegative=True)
    for left in (sp.Rational(0), sp.Rational(1, 2)):
        # w = left + t/(2(1+t)) runs over the half interval as t runs over [0, ∞).
        on_half = sp.expand(sp.cancel(polynomial.subs(w, left + t / (2 * (1 + t))) * (1 + t) ** 2))
        require(on_half.is_nonnegative is True, f"{on_half} is not evidently ≥ 0")
