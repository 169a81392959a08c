"""The load-bearing formulas as printed, each once: the checks compare them with what sympy or balls derive.

Every function works on whatever it is given (sympy expressions, Fractions, balls), so one text serves the symbolic
checks and the numerical ones, and a slip planted here must be caught (see `proofs_checks.planted`).
Dictionary: α order, p sampling probability, q = 1−p, Δ = 2/σ, and (A, B, c) = (|a|², |b|², ⟨a,b⟩).
"""

from collections.abc import Callable
from math import comb
from typing import Any

import sympy as sp

#: A number of any exact kind: sympy expression, int, Fraction or ball.
Value = Any


def log_moment(i: Value, j: Value, A: Value, B: Value, c: Value) -> Value:
    """Return log E[L_a^i L_b^j] for L_m = exp(⟨m,Z⟩ − |m|²/2)."""
    return (i * (i - 1) * A + j * (j - 1) * B + 2 * i * j * c) / 2


# --- Appendix A.2: derivatives of F in u -------------------------------------------------------------------------


def first_derivative_polynomial(v: Value, w: Value) -> Value:
    """(17): F' = Δ²α(α−1) E[this · h]."""
    return w * (w - v)


def second_derivative_coefficients(order: Value) -> dict[tuple[int, int], Value]:
    """(18): F'' = Δ⁴α(α−1) E[Σ coefficient · vⁱwʲ · h], keyed by (i, j)."""
    return {
        (0, 4): (order + 1) * (order + 2),
        (1, 3): -2 * order * (order + 1),
        (2, 2): order * (order - 1),
        (0, 3): -4 * (order + 1),
        (1, 2): 5 * order,
        (2, 1): -(order - 1),
        (0, 2): 2,
        (1, 1): -1,
    }


def second_derivative_polynomial(order: Value, v: Value, w: Value) -> Value:
    """(18) as one polynomial in v and w."""
    return sum(value * v**i * w**j for (i, j), value in second_derivative_coefficients(order).items())


# --- Appendix B.3: the one-dimensional form and the curvature bounds ---------------------------------------------


def one_dimensional_log_coefficient(k: Value, sensitivity: Value, beta: Value) -> Value:
    """(35): exponent of the k-th coefficient, k(k−1)Δ²/2 − k²β²/8."""
    return k * (k - 1) * sensitivity**2 / 2 - k**2 * beta**2 / 8


def monomial_exponent_small(i: Value, j: Value, k: Value, r: Value) -> Value:
    """(42), first bound: twice the exponent over Δ²."""
    return (i + k) * (i + k - 1) + 2 * r * j * (i + j + k - 1)


def monomial_exponent_large(i: Value, k: Value, order: Value, r: Value) -> Value:
    """(42), second bound: twice the exponent over Δ²."""
    return (i + k) * (i + k - 1) + 2 * r * (order - 1) * (order - i - k)


def monomial_powers_small(i: Value, j: Value, k: Value) -> tuple[Value, Value]:
    """(42), first bound: the powers of q and of p."""
    return 1 - i - j - k, i + j + k


def monomial_powers_large(i: Value, k: Value, order: Value) -> tuple[Value, Value]:
    """(42), second bound: the powers of q and of p."""
    return order - i - k, 1 + k + i - order


def first_derivative_ratio_bound(order: Value, sensitivity: Value) -> Value:
    """(43): |F'|/F is at most this."""
    return 2 * sensitivity**2 * order * (order - 1)


def second_derivative_ratio_bound(order: Value, sensitivity: Value) -> Value:
    """(44): |F''|/F is at most this."""
    return 2 * sensitivity**4 * order * (order - 1) * (2 * order**2 + 7 * order + 4)


def curvature_bound_uniform(order: Value, sensitivity: Value) -> Value:
    """(45): κ₂, a bound of |J''| on all of [0, 1/2]."""
    return 2 * sensitivity**4 * order * (4 * order**2 + 5 * order + 4)


# --- Proposition 2 -----------------------------------------------------------------------------------------------


def tilted_polynomial(order: Value, v: Value, w: Value) -> Value:
    """(22): w times this is (18)'s polynomial, in descending powers of v − w."""
    return (
        (order - 1) * (order * w - 1) * (v - w) ** 2
        + (w * (3 * order + 2 - 4 * order * w) - 1) * (v - w)
        + w * (1 - w) * (1 - 2 * w)
    )


def proposition2a_log_ratio(order: Value, p: Value, x: Value, norm: Value) -> Value:
    """(20): log T(x), with norm = F(0)^{1/α} and x = (α−1)pΔ²u."""
    return -(order - 1) * (1 - p) * x + order * sp.log(1 + (1 - p) / norm * (sp.exp(x) - 1))


def proposition2a_slope_bound(order: Value, p: Value, x: Value, sensitivity: Value) -> Value:
    """Proposition 2(a): T'(x)/(q·T(x)) is at most this."""
    return -(order - 1) + order * sp.exp(x) / (p * sp.exp((order - 1) * sensitivity**2 / 2))


def proposition2a_condition(order: Value, p: Value, sensitivity: Value) -> Value:
    """(19): u = 0 is a maximiser when this is ≥ 0."""
    return sp.log(p) + (order - 1) * (1 - p) * sensitivity**2 / 2 - sp.log(order / (order - 1))


def proposition2b_bracket(order: Value, s: Value, root: Value) -> Value:
    """(27): the factor 3 + ((3√2+2)α + 2√2 − 2)s, with s = Δ²/(1 − αΔ²/4) and root = √2."""
    return 3 + ((3 * root + 2) * order + 2 * root - 2) * s


def proposition2b_printed(order: Value, variance: Value, root: Value) -> tuple[Value, Value]:
    """Proposition 2(b) as printed, in σ²: the bracket and the exponent of e, with root = √2."""
    gap = variance - order
    return 3 + ((12 * root + 8) * order + 8 * root - 8) / gap, 2 / variance + 6 / gap


# --- Proposition 5 and Section 6 ---------------------------------------------------------------------------------


def second_order_coefficient(order: Value, x: Value, y: Value) -> Value:
    """(31): ∂²F/∂p² at p = 0, with x = e^{Δ²}, y = e^{uΔ²}."""
    return order * (order - 1) * (x - 2 * y + y**2)


def third_order_coefficient(order: Value, x: Value, y: Value) -> Value:
    """Proposition 5's proof: ∂³F/∂p³ at p = 0, with x = e^{Δ²}, y = e^{uΔ²}, by the printed moments."""
    cube_a = x**3 - 3 * x + 2
    square_a_b = x * y**2 - 2 * y - x + 2
    a_square_b = y**4 - y**2 - 2 * y + 2
    cube_b = y**6 - 3 * y**2 + 2
    inside = (order - 2) * cube_a - 3 * (order - 1) * square_a_b + 3 * order * a_square_b - (order + 1) * cube_b
    return order * (order - 1) * inside


def expansion(order: Value, p: Value, t: Value) -> Value:
    """(8): ρ to order p³, with t = e^{2/σ²}."""
    return order * (t**2 - t) * p**2 - order / 2 * (t**6 - t**4 - 2 * t**2 + 2 * t) * p**3


def birrell_expansion(order: Value, p: Value, t: Value) -> Value:
    """(9): ρ_B to order p³, with t = e^{2/σ²}."""
    root = sp.sqrt((t**2 - 1) * (t**12 - 4 * t**6 + 6 * t**2 - 3))
    return order * (t**2 - t) * p**2 + order * (order + 2) / 2 * root * p**3


def birrell_absolute_sum(order: Value) -> Value:
    """(32): Σ_j C(3,j) |α/(α−1)·Π_{l<j}(1−l/α)·Π_{l≤2−j}(1+(l−1)/α) − 1|."""
    total = 0
    for j in range(4):
        product = order / (order - 1)
        for step in range(1, j):
            product *= 1 - step / order
        for step in range(3 - j):
            product *= 1 + (step - 1) / order
        total += comb(3, j) * sp.Abs(sp.simplify(product - 1))
    return total


def centred_moment(k: int, A: Value, exp: Callable[[Value], Value]) -> Value:
    """Return M_k = E[(L−1)^k] as Section 4 of Wang et al. and Birrell et al. use it, k ≥ 2, A = Δ²."""
    terms = ((-1) ** (k - i) * comb(k, i) * exp(A * i * (i - 1) / 2) for i in range(2, k + 1))
    return sum(terms, (-1) ** (k - 1) * (k - 1))


def corollary2_function(y: Value, exp: Callable[[Value], Value], cdf: Callable[[Value], Value]) -> Value:
    """Corollary 2's f(y) = e^{4y²}(Φ(3y)−1) + 3Φ(−y) + e^{2y²} − 2, which is (μ²−λ)/(2ν) at y = 1/σ."""
    return exp(4 * y * y) * (cdf(3 * y) - 1) + 3 * cdf(-y) + exp(2 * y * y) - 2


def corollary2_derivative(y: Value, exp: Callable[[Value], Value], cdf: Callable[[Value], Value]) -> Value:
    """Corollary 2's f'(y) = 4y e^{2y²}(1 − 2e^{2y²}Φ(−3y))."""
    return 4 * y * exp(2 * y * y) * (1 - 2 * exp(2 * y * y) * cdf(-3 * y))


def proposition4_log_delta(lam: Value, eps: Value, log: Callable[[Value], Value]) -> Value:
    """Proposition 4: log of the printed bound on δ(ε)."""
    return log(lam / (lam + eps)) + eps / lam * log(eps / (lam + eps)) - eps**2 / (2 * lam) + eps / 2


# --- Section 3: conversion ---------------------------------------------------------------------------------------


def conversion_epsilon(order: Value, total: Value, log_delta: Value, log: Callable[[Value], Value]) -> Value:
    """(6): ε from the total Rényi divergence T·ρ."""
    return total + log(1 - 1 / order) - (log_delta + log(order)) / (order - 1)


def conversion_log_delta(order: Value, total: Value, eps: Value, log: Callable[[Value], Value]) -> Value:
    """(7): log δ from the total Rényi divergence T·ρ."""
    return (order - 1) * (total - eps) - log(order) + (order - 1) * log(1 - 1 / order)


# --- domination_theorem.md ---------------------------------------------------------------------------------------


def second_order_terms(k: Value, P: Value, v: Value, w: Value) -> tuple[Value, Value, Value]:
    """Step 1: (x²H_xx, xyH_xy, y²H_yy) of H(x,y) = Q f(P/Q), k = r f''(r)."""
    return k * P * v**2, -k * P * v * w, k * P * w**2


def lemma_left(A: Value, c: Value, S_A: Value, g_c: Value) -> Value:
    """Lemma, left side: A/(A−c)·(S_A − g(c))."""
    return A / (A - c) * (S_A - g_c)


def lemma_right(B: Value, c: Value, slope_B: Value, slope_c: Value) -> Value:
    """Lemma, right side: K = B/(B−c)·(g'(B) − g'(c))."""
    return B / (B - c) * (slope_B - slope_c)


def rotation_gain(sin_2t: Value, sin_2s: Value, S_A: Value, g_c: Value, slope_B: Value, slope_c: Value) -> Value:
    """Step 4: 𝒯/p = sin2t·(S_A − g(c)) − sin2s·(g'(B) − g'(c))."""
    return sin_2t * (S_A - g_c) - sin_2s * (slope_B - slope_c)


def tangent_zero(gamma: Value, exp_c: Value, c: Value) -> Value:
    """Corollary 3: where the tangent of f_γ at γeᶜ vanishes, K = γ(eᶜ−1)/c."""
    return gamma * (exp_c - 1) / c
