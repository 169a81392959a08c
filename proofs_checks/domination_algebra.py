"""domination_theorem.md: the identities in the proof of the one-step theorem and of its Lemma."""
# ruff: noqa: D401 -- the docstring of a check is the statement that it claims

from collections.abc import Callable

import sympy as sp

from proofs_checks import formulas
from proofs_checks.registry import claim
from proofs_checks.symbolic import must_be_nonnegative, must_vanish, numerator, p, q

_x, _y = sp.symbols("x y", positive=True)
_P, _Q = q + p * _x, q + p * _y

#: k(t) = t·f''(t), unspecified.
_k = sp.Function("k", nonnegative=True)


class _FSlope(sp.Function):  # type: ignore[misc]
    """f', whose derivative is k(t)/t."""

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        return _k(self.args[0]) / self.args[0]


class _F(sp.Function):  # type: ignore[misc]
    """An unspecified generator f, differentiated by f' and f'' = k(t)/t."""

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        return _FSlope(self.args[0])


@claim(
    name="step-1-second-derivatives",
    source="domination_theorem.md, step 1",
    status="proved",
    how="H(x,y) = Q f(P/Q) differentiated for an unspecified f with f''(r) = k(r)/r",
)
def second_derivatives() -> None:
    """x²H_xx = kPv², xyH_xy = −kPvw, y²H_yy = kPw²."""
    H = _Q * _F(_P / _Q)
    v, w = p * _x / _P, p * _y / _Q
    printed = formulas.second_order_terms(_k(_P / _Q), _P, v, w)
    derived = (_x**2 * sp.diff(H, _x, 2), _x * _y * sp.diff(H, _x, _y), _y**2 * sp.diff(H, _y, 2))
    for name, left, right in zip(("x²H_xx", "xyH_xy", "y²H_yy"), derived, printed, strict=True):
        must_vanish(left - right, name, numerator)


@claim(
    name="step-1-heat-equation",
    source="domination_theorem.md, (1)",
    status="proved",
    how="both sides on every L_a^i L_b^j, symbolic i, j, A, B, c",
)
def heat_equation() -> None:
    """DE H = ½E[x²H_xx]dA + ½E[y²H_yy]dB + E[xyH_xy]dc."""
    i, j, A, B, c = sp.symbols("i j A B c", real=True)
    exponent = formulas.log_moment(i, j, A, B, c)
    monomial = _x**i * _y**j
    for variable, operator in (
        (A, _x**2 * sp.diff(monomial, _x, 2) / 2),
        (B, _y**2 * sp.diff(monomial, _y, 2) / 2),
        (c, _x * _y * sp.diff(monomial, _x, _y)),
    ):
        must_vanish(sp.diff(exponent, variable) - sp.simplify(operator / monomial), f"∂/∂{variable}")


@claim(
    name="step-2-triangle",
    source="domination_theorem.md, step 2",
    status="proved",
    how="trigonometric identities for symbolic t, s, Δ",
)
def triangle() -> None:
    """The inscribed triangle has A−c = Δ²cos t sin s sin(t+s), B−c = Δ²cos s sin t sin(t+s), |a−b| = Δ sin(t+s)."""
    t, s, diameter, height, distance = sp.symbols("t s Delta h d", real=True)
    a = diameter * sp.cos(t) * sp.Matrix([sp.cos(t), sp.sin(t)])
    b = diameter * sp.cos(s) * sp.Matrix([sp.cos(s), -sp.sin(s)])
    A, B, c = a.dot(a), b.dot(b), a.dot(b)
    must_vanish(A - diameter**2 * sp.cos(t) ** 2, "A")
    must_vanish(c - diameter**2 * sp.cos(t) * sp.cos(s) * sp.cos(t + s), "c", sp.expand_trig)
    sine = sp.sin(t + s)
    must_vanish(A - c - diameter**2 * sp.cos(t) * sp.sin(s) * sine, "A − c", sp.expand_trig, _pythagoras(t, s))
    must_vanish(B - c - diameter**2 * sp.cos(s) * sp.sin(t) * sine, "B − c", sp.expand_trig, _pythagoras(t, s))
    must_vanish(A + B - 2 * c - diameter**2 * sine**2, "chord", sp.expand_trig, _pythagoras(t, s))
    for point in (a, b):  # both lie on the circle of diameter [0, Δe]
        must_vanish(point.dot(point) - diameter * point[0], "on the circle", _pythagoras(t, s))
    # Moving 0 by h along the normal of the line through a and b (at distance d from it) adds a multiple of 11ᵀ.
    along_a, along_b = sp.symbols("along_a along_b", real=True)
    before = sp.Matrix([[along_a, distance], [along_b, distance]])
    after = sp.Matrix([[along_a, distance + height], [along_b, distance + height]])
    gained = after * after.T - before * before.T - (2 * distance * height + height**2) * sp.ones(2, 2)
    for entry in gained:
        must_vanish(entry, "multiple of 11ᵀ")


def _pythagoras(*angles: sp.Symbol) -> Callable[[sp.Expr], sp.Expr]:
    """Return the rewrite cos² = 1 − sin² for the given angles."""

    def rewrite(expression: sp.Expr) -> sp.Expr:
        expanded = sp.expand(expression)
        for angle in angles:
            cosine = sp.Symbol(f"cos_{angle}")
            polynomial = sp.Poly(expanded.subs(sp.cos(angle), cosine), cosine)
            expanded = sp.Integer(0)
            for (power,), coefficient in polynomial.terms():
                even = (1 - sp.sin(angle) ** 2) ** (power // 2)
                expanded += coefficient * even * sp.cos(angle) ** (power % 2)
            expanded = sp.expand(expanded)
        return expanded

    return rewrite


@claim(
    name="step-3-generator",
    source="domination_theorem.md, step 3",
    status="proved",
    how="differentiated for an unspecified f",
)
def generator() -> None:
    """k̃ = f(r) − r f(1/r) has k̃'' = k(r)/r − k(1/r)/r²; (∂_x+∂_y)(y k̃(x/y)) = k̃ + (1−r)k̃'; y k̃(x/y) = −x k̃(y/x)."""
    r = sp.Symbol("r", positive=True)
    tilde = _F(r) - r * _F(1 / r)
    must_vanish(tilde.subs(r, 1), "k̃(1)")
    must_vanish(sp.diff(tilde, r, 2) - (_k(r) / r - _k(1 / r) / r**2), "k̃''", numerator)
    # For r = 1 + s ≥ 1 and k(r) = k(1/r) + more: k̃'' ≥ 0.
    at_inverse, more, s = sp.symbols("k_inverse more s", nonnegative=True)
    must_be_nonnegative(((at_inverse + more) / r - at_inverse / r**2).subs(r, 1 + s), "k̃'' ≥ 0", sp.factor)
    omega = _y * _F(_x / _y) - _x * _F(_y / _x)
    must_vanish(omega + omega.subs({_x: _y, _y: _x}, simultaneous=True), "antisymmetry of ω")
    must_vanish(omega - _y * tilde.subs(r, _x / _y), "ω = y·k̃(x/y)")
    along = sp.diff(omega, _x) + sp.diff(omega, _y)
    must_vanish(along - (tilde + (1 - r) * sp.diff(tilde, r)).subs(r, _x / _y), "(∂_x+∂_y)ω", numerator)


@claim(
    name="step-4-rotation",
    source="domination_theorem.md, step 4",
    status="proved",
    how="derivatives along (t−η, s+η); the ratio sin2t : sin2s",
)
def rotation() -> None:
    """DA = Δ²sin2t, dB = −Δ²sin2s, 2dc = dA+dB; (1) becomes ½Δ²k P(v sin2t + w sin2s)(v−w)."""
    t, s, eta, diameter = sp.symbols("t s eta Delta", real=True)
    A = diameter**2 * sp.cos(t - eta) ** 2
    B = diameter**2 * sp.cos(s + eta) ** 2
    c = diameter**2 * sp.cos(t - eta) * sp.cos(s + eta) * sp.cos(t + s)
    dA, dB, dc = (sp.diff(value, eta).subs(eta, 0) for value in (A, B, c))
    must_vanish(dA - diameter**2 * sp.sin(2 * t), "dA", sp.expand_trig)
    must_vanish(dB + diameter**2 * sp.sin(2 * s), "dB", sp.expand_trig)
    must_vanish(2 * dc - dA - dB, "2dc", sp.expand_trig, _pythagoras(t, s))
    v, w, sin_2t, sin_2s = sp.symbols("v w sin_2t sin_2s", real=True)
    k, P = sp.symbols("k P", nonnegative=True)
    xx, xy, yy = formulas.second_order_terms(k, P, v, w)
    change = (xx * sin_2t - yy * sin_2s) / 2 + xy * (sin_2t - sin_2s) / 2
    must_vanish(change - k * P * (v * sin_2t + w * sin_2s) * (v - w) / 2, "integrand")
    a_c, b_c = sp.cos(t) * sp.sin(s), sp.cos(s) * sp.sin(t)  # (A−c), (B−c) over Δ² sin(t+s)
    cross = sp.sin(2 * t) * sp.cos(s) ** 2 * a_c - sp.sin(2 * s) * sp.cos(t) ** 2 * b_c
    must_vanish(cross, "sin2t : sin2s = A(B−c) : B(A−c)", sp.expand_trig)


@claim(
    name="step-4-shifts",
    source="domination_theorem.md, step 4",
    status="proved",
    how="pointwise identities in X, Y; shifts of measure on exponentials",
)
def shifts() -> None:
    """Pv = pX and Pw(v−w) = p(X−Y)w(1−w), so that 𝒯/p = sin2t(S_A−g(c)) − sin2s(g'(B)−g'(c))."""
    v, w = p * _x / _P, p * _y / _Q
    must_vanish(_P * v - p * _x, "Pv")
    must_vanish(_P * w * (v - w) - p * (_x - _y) * w * (1 - w), "Pw(v−w)", numerator)
    # Under the shift by X: Y has log-mean c − B/2, X has log-mean A/2; under the shift by Y, B/2.
    i, j, A, B, c = sp.symbols("i j A B c", real=True)
    moment = formulas.log_moment
    must_vanish(moment(i + 1, j, A, B, c) - (moment(i, j, A, B, c) + i * A + j * c), "shift by X")
    must_vanish(moment(i, j + 1, A, B, c) - (moment(i, j, A, B, c) + i * c + j * B), "shift by Y")
    S_A, g_c, slope_B, slope_c, sin_2t, sin_2s = sp.symbols("S_A g_c slope_B slope_c sin_2t sin_2s", real=True)
    # E[Pv(v−w)]/p = S_A − g(c);  E[Pw(v−w)]/p = g'(c) − g'(B).
    exact = sin_2t * (S_A - g_c) + sin_2s * (slope_c - slope_B)
    must_vanish(exact - formulas.rotation_gain(sin_2t, sin_2s, S_A, g_c, slope_B, slope_c), "𝒯/p")
    # With sin2t = A(B−c), sin2s = B(A−c) (up to a positive factor), 𝒯 ≥ 0 is the Lemma.
    gain = formulas.rotation_gain(A * (B - c), B * (A - c), S_A, g_c, slope_B, slope_c)
    lemma = formulas.lemma_left(A, c, S_A, g_c) - formulas.lemma_right(B, c, slope_B, slope_c)
    must_vanish(gain - (A - c) * (B - c) * lemma, "the Lemma", numerator)


@claim(
    name="step-5-bracket",
    source="domination_theorem.md, step 5",
    status="proved",
    how="pointwise identities in Y, M",
)
def shrink() -> None:
    """With X = YM and dB = dc, (1) gives Pw(2v−w) = w(pYM(2−w) − pY(1−w)), whose mean over M is wpY."""
    M = sp.Symbol("M", positive=True)
    w = p * _y / _Q
    P = q + p * _y * M
    v = p * _y * M / P
    printed = w * (p * _y * M * (2 - w) - p * _y * (1 - w))
    must_vanish(P * w * (2 * v - w) - printed, "Pw(2v−w)", numerator)
    must_vanish(printed.subs(M, 1) - w * p * _y, "mean over M, which is affine with E M = 1", numerator)
    k, P_, v_, w_ = sp.symbols("k P v w", nonnegative=True)
    _, xy, yy = formulas.second_order_terms(k, P_, v_, w_)
    must_vanish(-(yy / 2 + xy) - k * P_ * w_ * (2 * v_ - w_) / 2, "integrand for dB = dc = −Δ²sin2s ds")
    slope_in_M = sp.diff(printed, M)
    must_vanish(slope_in_M - w * p * _y * (2 - w), "non-decreasing in M")
    must_vanish(sp.diff(P / _Q, M) - p * _y / _Q, "r non-decreasing in M")


@claim(
    name="lemma-logistic",
    source="domination_theorem.md, Lemma (a), (c)",
    status="proved",
    how="derivatives of the logistic function",
)
def logistic() -> None:
    """s̄' − s̄'' = 2s̄²(1−s̄), ½(s̄'+s̄'') = s̄(1−s̄)², |s̄''| ≤ s̄'."""
    z = sp.Symbol("z", real=True)
    s = 1 / (1 + sp.exp(-z))
    first, second = sp.diff(s, z), sp.diff(s, z, 2)
    must_vanish(first - s * (1 - s), "s̄'", numerator)
    must_vanish(first - second - 2 * s**2 * (1 - s), "s̄' − s̄''", numerator)
    must_vanish((first + second) / 2 - s * (1 - s) ** 2, "½(s̄' + s̄'')", numerator)


@claim(
    name="lemma-c-end-values",
    source="domination_theorem.md, Lemma (c)",
    status="proved",
    how="affine in θ, both end values factorised",
)
def end_values() -> None:
    """½(1+θ) − (1−x)(θ+x/2) ≥ 0 for θ in [−1,1], x in [0,1]."""
    theta, x = sp.symbols("theta x", real=True)
    gap = (1 + theta) / 2 - (1 - x) * (theta + x / 2)
    must_vanish(sp.diff(gap, theta, 2), "affine in θ")
    must_vanish(gap.subs(theta, 1) - x * (1 + x) / 2, "θ = 1")
    must_vanish(gap.subs(theta, -1) - (1 - x) * (2 - x) / 2, "θ = −1")
    y, d, B, rho_slope = sp.symbols("y d B theta", real=True)
    # Tangent of the convex log ρ(z) + z²/(2B) at y, read at y − d.
    bound = (y**2 - (y - d) ** 2) / (2 * B) - d * (rho_slope + y / B)
    must_vanish(bound + d * rho_slope + d**2 / (2 * B), "−dθ − d²/(2B)")
    must_vanish(((1 / d - 1 / B) * (d * theta + d**2 / (2 * B))).subs(d, x * B) - (1 - x) * (theta + x / 2), "in x")


@claim(
    name="lemma-d-cosh",
    source="domination_theorem.md, Lemma (d)",
    status="proved",
    how="the density of y = A/2 + √A·Z absorbed; Hessian of y²/A",
)
def cosh_form() -> None:
    """S'_A = const·A^{−1/2}e^{−A/8}∫e^{−y²/(2A)}(2cosh((ℓ+y)/2))^{−3}dy, and y²/A is jointly convex."""
    level, y = sp.symbols("ell y", real=True)
    A = sp.Symbol("A", positive=True)
    z = level + y
    s = 1 / (1 + sp.exp(-z))
    density_exponent = -((y - A / 2) ** 2) / (2 * A)
    must_vanish(density_exponent - (-(y**2) / (2 * A) + y / 2 - A / 8), "exponent of the density")
    cosh = sp.exp(z / 2) + sp.exp(-z / 2)
    must_vanish(
        s * (1 - s) ** 2 * sp.exp(y / 2) - sp.exp(-level / 2) / cosh**3,
        "s̄(1−s̄)²e^{y/2} = e^{−ℓ/2}(2cosh)^{−3}",
        lambda e: e.rewrite(sp.exp).subs(sp.exp(level), sp.exp(level / 2) ** 2),
        numerator,
        sp.simplify,
    )
    hessian = sp.hessian(y**2 / A, (y, A))
    direction = sp.Matrix([A, -y])
    for entry in hessian - 2 / A**3 * sp.Matrix([A, -y]) * direction.T:
        must_vanish(entry, "Hessian of y²/A is a square")
    i = sp.Symbol("i", real=True)
    # S_A is a mean at log-mean A/2 and variance A: on e^{iU}, d/dA = (i + i²)/2, that is ½(s̄' + s̄'').
    must_vanish(sp.diff(i * A / 2 + i**2 * A / 2, A) - (i + i**2) / 2, "d/dA")


@claim(
    name="step-0-taylor",
    source="domination_theorem.md, step 0",
    status="proved",
    how="integrated by parts: the integrand is an exact derivative in the variable of integration",
)
def taylor() -> None:
    """f(t) = f(1) + f'(1)(t−1) + ∫₁ᵗ(t−s)k(s)/s ds, so truncating k from below makes f grow above its tangent at 1."""
    t, s = sp.symbols("t s", positive=True)
    primitive = (t - s) * _FSlope(s) + _F(s)
    must_vanish(sp.diff(primitive, s) - (t - s) * _k(s) / s, "primitive in s")
    integral = primitive.subs(s, t) - primitive.subs(s, 1)
    tangent = _F(sp.Integer(1)) + _FSlope(sp.Integer(1)) * (t - 1)
    must_vanish(_F(t) - tangent - integral, "Taylor's formula")
