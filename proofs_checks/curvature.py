"""Appendix B.3.2: the curvature bounds (38) to (45) that branch and bound relies on."""

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim, require
from proofs_checks.symbolic import alpha, must_be_nonnegative, must_vanish, sensitivity, theorem1_gram, u


@claim(name="curvature-38", source="(38)", status="proved", how="log F differentiated twice for an unspecified F(u)")
def curvature_of_j() -> None:
    """J'' = (F''/F − (F'/F)²)/(α−1), and with F ≥ 1 the bound (41) exceeds (38)."""
    F = sp.Function("F", positive=True)(u)
    ratio, ratio_second = sp.diff(F, u) / F, sp.diff(F, u, 2) / F
    curvature = sp.diff(sp.log(F) / (alpha - 1), u, 2)
    must_vanish(curvature - (ratio_second - ratio**2) / (alpha - 1), "(38)")
    # (41) − (38) for F = 1 + excess, |F'| = first, |F''| = second: a sum of non-negative terms.
    excess, first, second = sp.symbols("excess first second", nonnegative=True)
    value = 1 + excess
    gap = (second + first**2) - (second / value + first**2 / value**2)
    must_vanish(gap - (second * excess / value + first**2 * excess * (2 + excess) / value**2), "(41)", sp.together)


@claim(
    name="interpolation-36",
    source="(36), (37)",
    status="proved",
    how="J minus the right side is convex in t and vanishes at both ends",
)
def interpolation() -> None:
    """J(ℓ+tw) ≤ (1−t)J(ℓ) + tJ(ℓ+w) + κw²t(1−t)/2 for t in [0,1] when |J''| ≤ κ."""
    t, width, kappa = sp.symbols("t width kappa", real=True)
    at_left, at_right = sp.symbols("J_left J_right", real=True)
    parabola = (1 - t) * at_left + t * at_right + kappa * width**2 * t * (1 - t) / 2
    must_vanish(parabola.subs(t, 0) - at_left, "left end")
    must_vanish(parabola.subs(t, 1) - at_right, "right end")
    second = sp.Symbol("J_second", real=True)  # J'' at ℓ+tw, with |J''| ≤ κ, so that second + κ ≥ 0
    must_vanish(width**2 * second - sp.diff(parabola, t, 2) - width**2 * (second + kappa), "second derivative in t")


@claim(
    name="triangle-inequality-40",
    source="(18) to (40)",
    status="proved",
    how="signs of (18)'s coefficients for α = 2 + s, s ≥ 0",
)
def triangle_inequality() -> None:
    """(40) takes (18)'s coefficients in absolute value: each keeps one sign for all α ≥ 2."""
    s = sp.Symbol("s", nonnegative=True)
    printed = {
        (0, 4): (alpha + 1) * (alpha + 2),
        (1, 3): 2 * alpha * (alpha + 1),
        (2, 2): alpha * (alpha - 1),
        (0, 3): 4 * (alpha + 1),
        (1, 2): 5 * alpha,
        (2, 1): alpha - 1,
        (0, 2): sp.Integer(2),
        (1, 1): sp.Integer(1),
    }
    coefficients = formulas.second_derivative_coefficients(alpha)
    require(set(coefficients) == set(printed), "(40) has other monomials than (18)")
    for key, value in coefficients.items():
        sign = -1 if sp.sympify(value).subs(alpha, 2 + s).expand().is_nonpositive else 1
        must_vanish(sign * sp.sympify(value) - printed[key], f"(40), coefficient of v^{key[0]} w^{key[1]}")
        must_be_nonnegative(printed[key].subs(alpha, 2 + s), f"(40), sign at v^{key[0]} w^{key[1]}")


@claim(
    name="monomial-bound-42",
    source="(42)",
    status="proved",
    how="exponential moments, symbolic i, j, k, α, u, Δ; monotone in r from declared signs",
)
def monomial_bound() -> None:
    """Every exponent of (42) is the Gaussian moment it bounds at r = u, and does not decrease in r."""
    i, k, left_over = sp.symbols("i k m", integer=True, nonnegative=True)
    j = sp.Symbol("j", integer=True, positive=True)
    r = sp.Symbol("r", nonnegative=True)
    gram = theorem1_gram()
    half_square = sensitivity**2 / 2
    small = half_square * formulas.monomial_exponent_small(i, j, k, r)
    large = half_square * formulas.monomial_exponent_large(i, k, alpha, r)
    # Q^{1−α−j} ≤ q^{1−α−j} leaves e^{(i+k)X + jY};  Q^{1−α−j} ≤ (pe^Y)^{1−α−j} leaves e^{(i+k)X + (1−α)Y}.
    must_vanish(small.subs(r, u) - formulas.log_moment(i + k, j, *gram), "first exponent")
    must_vanish(large.subs(r, u) - formulas.log_moment(i + k, 1 - alpha, *gram), "second exponent")
    # j ≥ 1 in (39) and (40), and the sum runs over k = 0..α−i, so α = i + k + m with m ≥ 0.
    one_more = sp.Symbol("one_more", integer=True, nonnegative=True)
    must_be_nonnegative(sp.diff(small, r).subs(j, 1 + one_more), "first exponent in r")
    in_r = sp.diff(large, r) / (alpha - 1)  # α > 1
    must_be_nonnegative(sp.cancel(in_r).subs(alpha, i + k + left_over), "second exponent in r")
    powers_q, powers_p = formulas.monomial_powers_small(i, j, k)
    must_vanish(powers_q - ((alpha - i - k) + (1 - alpha - j)), "first power of q")
    must_vanish(powers_p - (k + i + j), "first power of p")
    powers_q, powers_p = formulas.monomial_powers_large(i, k, alpha)
    must_vanish(powers_q - (alpha - i - k), "second power of q")
    must_vanish(powers_p - (k + i + j + (1 - alpha - j)), "second power of p")


@claim(
    name="uniform-curvature-45",
    source="(43), (44), (45)",
    status="proved",
    how="sums of the absolute coefficients, as vⁱwʲ ≤ 1",
)
def uniform_curvature() -> None:
    """|F'|/F ≤ 2Δ²α(α−1), |F''|/F ≤ 2Δ⁴α(α−1)(2α²+7α+4), |J''| ≤ 2Δ⁴α(4α²+5α+4)."""
    prefactor = alpha * (alpha - 1)
    s = sp.Symbol("s", nonnegative=True)
    first = 2 * sensitivity**2 * prefactor
    must_vanish(first - formulas.first_derivative_ratio_bound(alpha, sensitivity), "(43)")
    absolute = sp.Add(
        *(
            sp.Abs(sp.expand(sp.sympify(value).subs(alpha, 2 + s))).subs(s, alpha - 2)
            for value in formulas.second_derivative_coefficients(alpha).values()
        )
    )
    second = sensitivity**4 * prefactor * absolute
    must_vanish(second - formulas.second_derivative_ratio_bound(alpha, sensitivity), "(44)")
    must_vanish(
        (second + first**2) / (alpha - 1) - formulas.curvature_bound_uniform(alpha, sensitivity), "(45)", sp.cancel
    )


@claim(
    name="monomial-bound-sharpened",
    source="(42), as the package uses it",
    status="proved",
    how="exponential moment of e^{sX+tY}, symbolic real s, t",
)
def monomial_bound_sharpened() -> None:
    """E e^{sX+tY} = exp(s(s−1)Δ²/2 + uΔ²t(s+t−1)); t = j and t = 1−α are the two bounds of (42)."""
    s, t = sp.symbols("s t", real=True)
    i, j, k = sp.symbols("i j k", real=True)
    exponent = sensitivity**2 * (s * (s - 1) / 2 + u * t * (s + t - 1))
    must_vanish(formulas.log_moment(s, t, *theorem1_gram()) - exponent, "exponent")
    half_square = sensitivity**2 / 2
    small = half_square * formulas.monomial_exponent_small(i, j, k, u)
    large = half_square * formulas.monomial_exponent_large(i, k, alpha, u)
    must_vanish(exponent.subs({s: i + k, t: j}, simultaneous=True) - small, "t = j")
    must_vanish(exponent.subs({s: i + k, t: 1 - alpha}, simultaneous=True) - large, "t = 1 − α")


@claim(
    name="uniform-curvature-sharpened",
    source="(43) to (45), as the package uses them",
    status="proved",
    how="positive and negative coefficients of (18) summed apart",
)
def uniform_curvature_sharpened() -> None:
    """(18)'s positive and negative coefficients both sum to 2α²+7α+4, so |J''| ≤ Δ⁴α(3α²+6α+4)."""
    s = sp.Symbol("s", nonnegative=True)
    coefficients = [sp.sympify(c).subs(alpha, 2 + s) for c in formulas.second_derivative_coefficients(alpha).values()]
    positive = sp.Add(*(c for c in coefficients if sp.expand(c).is_nonnegative))
    negative = sp.Add(*(c for c in coefficients if sp.expand(c).is_nonpositive))
    total = (2 * alpha**2 + 7 * alpha + 4).subs(alpha, 2 + s)
    must_vanish(positive - total, "positive part")
    must_vanish(negative + total, "negative part")
    prefactor = alpha * (alpha - 1)
    curvature = (sensitivity**4 * prefactor * (2 * alpha**2 + 7 * alpha + 4) + (sensitivity**2 * prefactor) ** 2) / (
        alpha - 1
    )
    must_vanish(curvature - sensitivity**4 * alpha * (3 * alpha**2 + 6 * alpha + 4), "κ₂", sp.cancel)
    # Half of (43): |w² − wv| ≤ 1 for 0 ≤ v, w ≤ 1, as it lies between −wv and w².
    v, w = sp.symbols("v w", nonnegative=True)
    must_vanish(formulas.first_derivative_polynomial(v, w) - (w**2 - w * v), "w² − wv")
