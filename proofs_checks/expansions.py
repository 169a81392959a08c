"""Proposition 5 and Appendix A.5: expansions of the one-step bounds in the sampling probability."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim
from proofs_checks.symbolic import (
    alpha,
    mean,
    must_be_nonnegative,
    must_vanish,
    numerator,
    p,
    sensitivity,
    theorem1_gram,
    u,
)

_L_a, _L_b = sp.symbols("L_a L_b", positive=True)
_AT_U = (sp.exp(sensitivity**2), sp.exp(u * sensitivity**2))


def _taylor(order: int) -> sp.Expr:
    """Return the order-th derivative in p at 0 of (1+pA)^α(1+pB)^{1−α}, with A = L_a − 1, B = L_b − 1."""
    integrand = (1 + p * (_L_a - 1)) ** alpha * (1 + p * (_L_b - 1)) ** (1 - alpha)
    return sp.diff(integrand, p, order).subs(p, 0)


def _mean_at_u(derivative: int) -> sp.Expr:
    return mean(sp.expand(_taylor(derivative)), _L_a, _L_b, theorem1_gram())


@claim(
    name="first-p-derivative",
    source="Appendix A.5",
    status="proved",
    how="differentiated at p = 0, exponential moments",
)
def first_order() -> None:
    """∂F/∂p = 0 at p = 0."""
    must_vanish(_mean_at_u(1), "∂F/∂p")


@claim(
    name="second-p-derivative-31",
    source="(31)",
    status="proved",
    how="differentiated at p = 0, exponential moments, symbolic α, u, Δ",
)
def second_order() -> None:
    """∂²F/∂p² = α(α−1)E[(A−B)²] = α(α−1)(e^{Δ²} − 2e^{uΔ²} + e^{2uΔ²}) at p = 0."""
    must_vanish(_taylor(2) - alpha * (alpha - 1) * (_L_a - _L_b) ** 2, "α(α−1)(A−B)²")
    must_vanish(_mean_at_u(2) - formulas.second_order_coefficient(alpha, *_AT_U), "(31)")


@claim(
    name="third-p-derivative",
    source="Appendix A.5, after (31)",
    status="proved",
    how="differentiated at p = 0, exponential moments, symbolic α, u, Δ",
)
def third_order() -> None:
    """∂³F/∂p³ at p = 0 is the printed combination of E A³, E A²B, E AB², E B³."""
    must_vanish(_mean_at_u(3) - formulas.third_order_coefficient(alpha, *_AT_U), "third derivative")


@claim(
    name="fourth-p-derivative",
    source="Appendix A.5",
    status="proved",
    how="differentiated at every p, symbolic α",
)
def fourth_order() -> None:
    """∂⁴F/∂p⁴ is the printed combination, at every p (it is what makes the remainder O(p⁴))."""
    A, B = sp.symbols("A B", real=True)
    P, Q = sp.symbols("P Q", positive=True)
    # d/dp acts on P^m Q^n as mA·P^{m−1}Q^n + nB·P^m Q^{n−1}: keep (m, n) as offsets from (α, 1−α).
    terms: dict[tuple[int, int], sp.Expr] = {(0, 0): sp.Integer(1)}
    for _ in range(4):
        following: dict[tuple[int, int], sp.Expr] = {}
        for (m, n), factor in terms.items():
            following[m - 1, n] = following.get((m - 1, n), sp.Integer(0)) + factor * (alpha + m) * A
            following[m, n - 1] = following.get((m, n - 1), sp.Integer(0)) + factor * (1 - alpha + n) * B
        terms = following
    derived = sp.Add(*(factor * P**m * Q**n for (m, n), factor in terms.items()))
    printed = (
        (alpha - 2) * (alpha - 3) * A**4 * P**-4
        - 4 * (alpha - 1) * (alpha - 2) * A**3 * B * P**-3 / Q
        + 6 * alpha * (alpha - 1) * A**2 * B**2 * P**-2 * Q**-2
        - 4 * (alpha + 1) * alpha * A * B**3 / P * Q**-3
        + (alpha + 2) * (alpha + 1) * B**4 * Q**-4
    )
    must_vanish(derived - alpha * (alpha - 1) * printed, "fourth derivative")


@claim(
    name="small-p-maximiser",
    source="Appendix A.5, claim",
    status="proved",
    how="factorised; convexity of the exponential for the last step",
)
def small_p_maximiser() -> None:
    """The p² coefficient at u = 1/2 exceeds the one at u by ½α(α−1)(x−y)(x+y−2) ≥ 0, x = e^{Δ²/2}, y = e^{uΔ²}."""
    x, y = sp.symbols("x y", positive=True)
    at_half = formulas.second_order_coefficient(alpha, x**2, x)
    at_u = formulas.second_order_coefficient(alpha, x**2, y)
    must_vanish(at_half - at_u - alpha * (alpha - 1) * (x - y) * (x + y - 2), "factorisation")
    # 1 ≤ y ≤ x: each factor is non-negative.
    lower, upper = sp.symbols("lower upper", nonnegative=True)
    factors = ((x - y) * (x + y - 2)).subs(x, 1 + lower + upper).subs(y, 1 + lower)
    must_be_nonnegative(factors, "sign of the factors")


@claim(
    name="expansion-8",
    source="Proposition 5, (8)",
    status="proved",
    how="log of the Taylor polynomial at u = 1/2, to order p³",
)
def expansion_ours() -> None:
    """ρ = α(t²−t)p² − (α/2)(t⁶ − t⁴ − 2t² + 2t)p³ + O(p⁴) with t = e^{2/σ²} = e^{Δ²/2}."""
    t = sp.Symbol("t", positive=True)
    second = formulas.second_order_coefficient(alpha, t**2, t) / 2
    third = formulas.third_order_coefficient(alpha, t**2, t) / 6
    log_series = sp.series(sp.log(1 + second * p**2 + third * p**3), p, 0, 4).removeO()
    must_vanish(log_series / (alpha - 1) - formulas.expansion(alpha, p, t), "(8)", numerator)


@claim(
    name="third-order-sign",
    source="Section 6.2, after (9)",
    status="proved",
    how="factorised at t = 1 + s, s > 0",
)
def third_order_sign() -> None:
    """The p³ term of (8) is strictly negative: t⁶ − t⁴ − 2t² + 2t = t(t−1)(t⁴+t³−2) > 0 for t > 1."""
    s = sp.Symbol("s", positive=True)
    t = 1 + s
    coefficient = sp.expand(sp.diff(formulas.expansion(alpha, p, t), p, 3) / (-3 * alpha))
    must_vanish(coefficient - t * (t - 1) * (t**4 + t**3 - 2), "factorisation")
    must_be_nonnegative(sp.expand(coefficient / s**2) - 7, "coefficient/s² ≥ 7 > 0")


@claim(
    name="centred-moments",
    source="Section 4; [BEBP24, Eq. 41]",
    status="proved",
    how="exponential moments of (L−1)^k, k ≤ 8, symbolic Δ",
)
def centred_moments() -> None:
    """M_k = E[(L−1)^k] = Σ_{l≥2} (−1)^{k−l}C(k,l)e^{l(l−1)Δ²/2} + (−1)^{k−1}(k−1)."""
    gram = (sensitivity**2, sp.Integer(0), sp.Integer(0))
    for k in range(2, 9):
        derived = mean(sp.expand((_L_a - 1) ** k), _L_a, _L_b, gram)
        must_vanish(derived - formulas.centred_moment(k, sensitivity**2, sp.exp), f"M_{k}")


@claim(
    name="birrell-sum-32",
    source="(32)",
    status="proved",
    how="the products evaluated for symbolic α",
)
def birrell_sum() -> None:
    """(32) equals ½α(α−1)(α+2)√(M₂M₄)."""
    total = alpha**2 * (alpha - 1) / 6 * (3 + formulas.birrell_absolute_sum(alpha))
    must_vanish(total - alpha * (alpha - 1) * (alpha + 2) / 2, "(32)")


@claim(
    name="expansion-9",
    source="Proposition 5, (9)",
    status="proved",
    how="log of Theorem 3.4's polynomial of Birrell et al., to order p³",
)
def expansion_birrell() -> None:
    """ρ_B = α(t²−t)p² + ½α(α+2)√(M₂M₄)p³ + O(p⁴) with t = e^{2/σ²}."""
    t = sp.Symbol("t", positive=True)

    def power(exponent: sp.Expr) -> sp.Expr:  # e^{kΔ²} = t^{2k}
        return t ** (2 * exponent / sensitivity**2)

    M_2, M_4 = (formulas.centred_moment(k, sensitivity**2, power) for k in (2, 4))
    M = sp.Symbol("M", positive=True)  # √(M₂M₄)
    second = alpha * (alpha - 1) * (t**2 - t)
    third = (alpha - 1) * alpha**2 * M * (3 + formulas.birrell_absolute_sum(alpha)) / 6
    log_series = sp.series(sp.log(1 + second * p**2 + third * p**3), p, 0, 4).removeO()
    difference = log_series / (alpha - 1) - formulas.birrell_expansion(alpha, p, t)
    must_vanish(difference.subs(M, sp.sqrt(sp.expand(M_2 * M_4))), "(9)", sp.simplify)
