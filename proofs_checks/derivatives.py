"""Appendix A.2: the derivatives of F in u, from h alone."""

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim
from proofs_checks.symbolic import alpha, must_vanish, numerator, p, q, sensitivity, theorem1_gram, u

# Dictionary: x = e^X and y = e^Y, so ∂/∂X is the Euler operator x·∂/∂x; P = q + px, Q = q + py, h = P^α Q^{1−α}.
_x, _y = sp.symbols("x y", positive=True)
_P, _Q = q + p * _x, q + p * _y
_v, _w = p * _x / _P, p * _y / _Q
_LOG_H = alpha * sp.log(_P) + (1 - alpha) * sp.log(_Q)


def _over_h(variable: sp.Symbol, ratio: sp.Expr) -> sp.Expr:
    """Return D(ratio·h)/h for the Euler operator D = variable·∂/∂variable, by the product rule."""
    return sp.together(variable * (sp.diff(ratio, variable) + ratio * sp.diff(_LOG_H, variable)))


def _operator_over_h(ratio: sp.Expr) -> sp.Expr:
    """Return (∂²_Y + ∂_X∂_Y − ∂_Y)(ratio·h)/h, the operator of (16)."""
    in_y = _over_h(_y, ratio)
    return _over_h(_y, in_y) + _over_h(_x, in_y) - in_y


@claim(
    name="operator-16",
    source="(16)",
    status="proved",
    how="both sides on every exponential e^{iX+jY}, symbolic i, j, Δ, u",
)
def operator() -> None:
    """dE/du = Δ²·E[∂²_Y + ∂_X∂_Y − ∂_Y] for (X,Y) as in (15)."""
    i, j = sp.symbols("i j", real=True)
    log_moment = formulas.log_moment(i, j, *theorem1_gram())
    # (16) is linear in h, and the law of (X,Y) is determined by its exponential moments.
    must_vanish(sp.diff(log_moment, u) - sensitivity**2 * (j**2 + i * j - j), "(16)")


@claim(
    name="logarithmic-derivatives",
    source="Appendix A.2",
    status="proved",
    how="differentiated from h, v, w themselves",
)
def logarithmic_derivatives() -> None:
    """∂v = v(1−v), ∂w = w(1−w), ∂_X h = αvh, ∂_Y h = (1−α)wh and the second derivatives of h."""
    must_vanish(_x * sp.diff(_v, _x) - _v * (1 - _v), "v'")
    must_vanish(_y * sp.diff(_w, _y) - _w * (1 - _w), "w'")
    in_x, in_y = _over_h(_x, sp.Integer(1)), _over_h(_y, sp.Integer(1))
    must_vanish(in_x - alpha * _v, "h_x")
    must_vanish(in_y - (1 - alpha) * _w, "h_y")
    must_vanish(_over_h(_x, in_x) - alpha * _v * (1 + (alpha - 1) * _v), "h_xx")
    must_vanish(_over_h(_x, in_y) - alpha * (1 - alpha) * _v * _w, "h_xy")
    must_vanish(_over_h(_y, in_y) - (1 - alpha) * _w * (1 - alpha * _w), "h_yy")


@claim(name="first-derivative", source="(16) to (17)", status="proved", how="the operator of (16) applied to h")
def first_derivative() -> None:
    """F' = Δ²α(α−1) E[w(w−v)h]."""
    printed = alpha * (alpha - 1) * formulas.first_derivative_polynomial(_v, _w)
    must_vanish(_operator_over_h(sp.Integer(1)) - printed, "(17)", numerator)


@claim(name="second-derivative", source="(17) to (18)", status="proved", how="the operator of (16) applied to w(w−v)h")
def second_derivative() -> None:
    """F'' = Δ⁴α(α−1) E[((α+1)(α+2)w⁴ − 2α(α+1)w³v + … − wv)h]."""
    twice = _operator_over_h(formulas.first_derivative_polynomial(_v, _w))
    must_vanish(twice - formulas.second_derivative_polynomial(alpha, _v, _w), "(18)", numerator)


@claim(
    name="gram-derivatives",
    source="Appendix A.1, after (13)",
    status="proved",
    how="the heat equation on e^{iX+jY}, then the operator applied to h",
)
def covariance_derivative() -> None:
    """∂F/∂c = α(1−α)p² E[e^X P^{α−1} e^Y Q^{−α}] < 0, which is what makes case (13) redundant."""
    i, j, A, B, c = sp.symbols("i j A B c", real=True)
    must_vanish(sp.diff(formulas.log_moment(i, j, A, B, c), c) - i * j, "∂/∂c of e^{iX+jY}")
    printed_over_h = alpha * (1 - alpha) * p**2 * _x * _y / (_P * _Q)
    must_vanish(_over_h(_x, _over_h(_y, sp.Integer(1))) - printed_over_h, "∂F/∂c", numerator)
