"""Lemma 4 and Appendix A.1: which of the two mean vectors comes first, and the reduction of the family."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from fractions import Fraction

import sympy as sp
from flint import arb

from certified_dp.divergence.moments import moment_gram_ball
from certified_dp.enclosure import ball, certainly_less, hull_ball, working_precision
from proofs_checks.points import Points
from proofs_checks.registry import claim, require
from proofs_checks.symbolic import alpha, must_vanish, numerator


@claim(
    name="lemma-4-identity",
    source="Lemma 4, Appendix A.1.1",
    status="proved",
    how="powers collected for symbolic U, V, W, α",
)
def identity() -> None:
    """(U+V)^α(U+W)^{1−α} − (U+W)^α(U+V)^{1−α} = (V−W)(t^α−t^{1−α})/(t−1), t = (U+V)/(U+W), decreasing in U."""
    first, second, t, U, V, W = sp.symbols("first second t U V W", positive=True)
    # first = U+V, second = U+W: V − W = first − second, and first = t·second.
    left = (first**alpha * second ** (1 - alpha) - second**alpha * first ** (1 - alpha)).subs(first, t * second)
    right = (first - second).subs(first, t * second) * (t**alpha - t ** (1 - alpha)) / (t - 1)
    must_vanish(sp.powsimp(sp.expand_power_base(sp.expand(left))) - sp.expand(sp.factor(right)), "identity", sp.powsimp)
    ratio = (U + V) / (U + W)
    must_vanish(sp.diff(ratio, U) + (V - W) / (U + W) ** 2, "t decreases in U for V ≥ W", numerator)


@claim(
    name="lemma-4-convexity",
    source="Lemma 4, Appendix A.1.1",
    status="proved",
    how="differentiated for symbolic α; t^{2α−1} ≥ 1 for t ≥ 1",
)
def convexity() -> None:
    """g(t) = t^α − t^{1−α} has g'' = α(α−1)t^{−α−1}(t^{2α−1} − 1) ≥ 0 on t ≥ 1."""
    t = sp.Symbol("t", positive=True)
    g = t**alpha - t ** (1 - alpha)
    printed = alpha * (alpha - 1) * (t ** (alpha - 2) - t ** (-alpha - 1))
    must_vanish(sp.diff(g, t, 2) - printed, "g''", sp.powsimp)
    must_vanish(
        t ** (-alpha - 1) * (t ** (2 * alpha - 1) - 1) - (t ** (alpha - 2) - t ** (-alpha - 1)), "factor", sp.powsimp
    )


def _secant_derivative(t: arb, order: arb) -> arb:
    """(t−1)² times the derivative of (t^α − t^{1−α})/(t−1): (t−1)g' − g, which is ∫₁ᵗ (s−1)g''(s) ds."""
    g = t**order - t ** (1 - order)
    slope = order * t ** (order - 1) + (order - 1) * t ** (-order)
    return (t - 1) * slope - g


@claim(
    name="lemma-4-secant-box",
    source="Lemma 4, Appendix A.1.1",
    status="certified",
    how="every t ∈ [1.5, 8], α ∈ [1.5, 6], by subdivision; elsewhere it follows from the convexity above",
)
def secant_box() -> None:
    """The secant slope (t^α − t^{1−α})/(t−1) increases in t."""
    with working_precision(64):
        order = Fraction(3, 2)
        while order < 6:
            orders = hull_ball(order, order + Fraction(1, 64))
            t = Fraction(3, 2)
            while t < 8:
                width = (t - 1) / 16
                piece = hull_ball(t, t + width)
                # Mean-value form in t: the derivative of (t−1)g' − g is (t−1)g''.
                middle = ball(t + width / 2)
                second = orders * (orders - 1) * (piece ** (orders - 2) - piece ** (-orders - 1))
                value = _secant_derivative(middle, orders) + (piece - 1) * second * (piece - middle)
                require(bool(value > 0), f"not settled on t in [{t}, {t + width}], α near {order}")
                t += width
            order += Fraction(1, 64)


@claim(
    name="lemma-4",
    source="Lemma 4",
    status="spot-checked",
    how="300 exact (p, Δ, u, α): the package's Gram form in balls, both orders of the pair",
)
def lemma4() -> None:
    """D_α(a-pair‖b-pair) ≥ D_α(b-pair‖a-pair) for a = Δ(1,0), b = Δ(u, √(2u−u²)), u < 1/2."""
    points = Points("Lemma 4")
    with working_precision(200):
        for _ in range(300):
            delta, p, u = points.between(0, 3), points.probability(), points.between(0, Fraction(1, 2))
            order, square = points.integer(2, 24), delta * delta
            forward = moment_gram_ball(square, 2 * u * square, u * square, p, order, prec=180)
            backward = moment_gram_ball(2 * u * square, square, u * square, p, order, prec=180)
            require(certainly_less(backward, forward), f"Δ = {delta}, p = {p}, u = {u}, α = {order}")


@claim(
    name="reduction-A1",
    source="Appendix A.1, (11) to (13)",
    status="spot-checked",
    how="300 exact pairs of (1)'s family: the package's Gram form never exceeds Theorem 1's certified maximum",
)
def reduction() -> None:
    """No pair with |a|, |b|, |a−b| ≤ Δ exceeds max_u F(u): here against the closed forms at u = 0 and u = 1/2."""
    points = Points("reduction")
    with working_precision(120):
        for _ in range(300):
            p, order = points.probability(), points.integer(2, 24)
            delta = points.between(0, 2)
            while True:
                a, b = points.in_disc(delta), points.in_disc(delta)
                if (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 <= delta * delta:
                    break
            gram = (a[0] ** 2 + a[1] ** 2, b[0] ** 2 + b[1] ** 2, a[0] * b[0] + a[1] * b[1])
            value = moment_gram_ball(*gram, p, order, prec=100)
            square = delta * delta
            at_ends = [
                moment_gram_ball(square, 2 * u * square, u * square, p, order, prec=100)
                for u in (Fraction(0), Fraction(1, 2))
            ]
            best = at_ends[0] if at_ends[1] < at_ends[0] else at_ends[1]
            require(certainly_less(value, best), f"{gram}, p = {p}, α = {order}")
