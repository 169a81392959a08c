"""A sample recomputed with another library and other methods: mpmath at 50 digits, no balls.

F comes from the Gaussian-shift identity (one integral per k, where the package integrates one polynomial), F' and F''
from Cauchy's integral around u (the package uses (17) and (18)). mpmath's errors carry no proof, so each ball compared
is far wider than they are: what is shown is that the value lies in the ball.
"""

from fractions import Fraction

import mpmath
from flint import arb

from certified_dp.conversion import delta_from_rdp_ball, epsilon_from_rdp_ball
from certified_dp.divergence.derivatives import moment_first_derivative_ball, moment_second_derivative_ball
from certified_dp.divergence.moments import moment_trapezoid_ball
from certified_dp.divergence.single_pair import moment_real_order_ball
from certified_dp.enclosure import lower_end, upper_end, working_precision
from proofs_checks.points import Points
from proofs_checks.registry import claim, require

_DIGITS = 50
_CIRCLE = 16  # points of Cauchy's integral, at a radius of u/16: an error of about 16^−16


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _inside(value: mpmath.mpf, ball: arb) -> bool:
    """Whether the value lies between the exact end points, compared as rationals."""
    sign, mantissa, exponent, _ = value._mpf_
    exact = Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** exponent
    return bool(lower_end(ball) <= exact <= upper_end(ball))


def moment(sigma: Fraction, p: Fraction, order: int, u: mpmath.mpf) -> mpmath.mpf:
    """Return F(u) = Σ_k C(α,k) q^{α−k} p^k e^{k(k−1)Δ²/2} E[(q + p·exp(√B·V − B/2 + kc))^{1−α}], u possibly complex."""
    rate, square = _mp(p), 4 / _mp(sigma) ** 2
    variance, covariance = 2 * u * square, u * square
    spread = mpmath.sqrt(variance)

    def shifted(k: int) -> mpmath.mpf:
        def integrand(v: mpmath.mpf) -> mpmath.mpf:
            likelihood = mpmath.exp(spread * v - variance / 2 + k * covariance)
            return (1 - rate + rate * likelihood) ** (1 - order) * mpmath.npdf(v)

        return mpmath.quad(integrand, mpmath.linspace(-15, 15, 7))

    terms = (
        mpmath.binomial(order, k)
        * (1 - rate) ** (order - k)
        * rate**k
        * mpmath.exp(k * (k - 1) * square / 2)
        * shifted(k)
        for k in range(order + 1)
    )
    return mpmath.fsum(terms)


def derivatives(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return F'(u) and F''(u) by Cauchy's integral on a circle around u."""
    centre, radius = _mp(u), _mp(u) / 16
    first, second = [], []
    for n in range(_CIRCLE):
        turn = mpmath.expjpi(mpmath.mpf(2 * n) / _CIRCLE)
        value = moment(sigma, p, order, centre + radius * turn)
        first.append(value / turn)
        second.append(value / turn**2)
    count = mpmath.mpf(_CIRCLE)
    return (mpmath.fsum(first) / count / radius).real, (2 * mpmath.fsum(second) / count / radius**2).real


@claim(
    name="mpmath-moment",
    source="(15), (35)",
    status="spot-checked",
    how="12 exact (σ, p, α, u); mpmath at 50 digits, quadrature of the shifted form",
)
def moments() -> None:
    """F(u), recomputed with mpmath, lies in the package's ball."""
    points = Points("mpmath F")
    with mpmath.workdps(_DIGITS):
        for _ in range(12):
            sigma, p, order = points.between(1, 6), points.probability(), points.integer(2, 6)
            u = points.between(0, Fraction(1, 2))
            ball = moment_trapezoid_ball(sigma, p, order, u, prec=80)
            require(_inside(moment(sigma, p, order, _mp(u)), ball), f"σ = {sigma}, p = {p}, α = {order}, u = {u}")


@claim(
    name="mpmath-derivatives",
    source="(17), (18)",
    status="spot-checked",
    how="2 exact (σ, p, α, u); mpmath at 50 digits, Cauchy's integral of F in u",
)
def first_and_second() -> None:
    """F'(u) and F''(u), recomputed with mpmath without (17) or (18), lie in the package's balls."""
    points = Points("mpmath F'")
    with mpmath.workdps(_DIGITS):
        for _ in range(2):
            sigma, p, order = points.between(2, 5), points.between(0, 1), points.integer(2, 4)
            u = points.between(Fraction(1, 10), Fraction(1, 2))
            first, second = derivatives(sigma, p, order, u)
            where = f"σ = {sigma}, p = {p}, α = {order}, u = {u}"
            require(_inside(first, moment_first_derivative_ball(sigma, p, order, u, prec=32)), f"F', {where}")
            require(_inside(second, moment_second_derivative_ball(sigma, p, order, u, prec=32)), f"F'', {where}")


@claim(
    name="mpmath-real-order",
    source="domination_theorem.md, Corollary 1",
    status="spot-checked",
    how="20 exact (σ, p, α), α not an integer; mpmath at 50 digits, direct quadrature",
)
def real_orders() -> None:
    """E[(q + pL_Δ)^α] at real orders, recomputed with mpmath, lies in the package's ball."""
    points = Points("mpmath real order")
    with mpmath.workdps(_DIGITS):
        for _ in range(20):
            sigma, p, order = points.between(1, 6), points.probability(), points.between(1, 9)
            rate, delta, alpha = _mp(p), 2 / _mp(sigma), _mp(order)

            def integrand(
                z: mpmath.mpf, rate: mpmath.mpf = rate, d: mpmath.mpf = delta, a: mpmath.mpf = alpha
            ) -> mpmath.mpf:
                return (1 - rate + rate * mpmath.exp(d * z - d * d / 2)) ** a * mpmath.npdf(z)

            value = mpmath.quad(integrand, mpmath.linspace(-16, 16 + int(alpha * delta), 12))
            ball = moment_real_order_ball(sigma, p, order, prec=80)
            require(_inside(value, ball), f"σ = {sigma}, p = {p}, α = {order}")


@claim(
    name="mpmath-conversion",
    source="(6), (7)",
    status="spot-checked",
    how="50 exact (Tρ, α, δ); mpmath at 50 digits, and (7) after (6)",
)
def conversions() -> None:
    """ε from (6), recomputed with mpmath, lies in the package's ball; (7) undoes (6)."""
    points = Points("mpmath conversion")
    with mpmath.workdps(_DIGITS), working_precision(100):
        for _ in range(50):
            total, order = points.between(0, 20), points.between(1, 40)
            delta = Fraction(1, 10 ** points.integer(2, 9))
            rdp = arb(total.numerator) / total.denominator
            alpha = _mp(order)
            value = _mp(total) + mpmath.log(1 - 1 / alpha) - mpmath.log(_mp(delta) * alpha) / (alpha - 1)
            where = f"Tρ = {total}, α = {order}, δ = {delta}"
            epsilon = epsilon_from_rdp_ball(rdp, order, delta)
            require(_inside(value, epsilon), where)
            if lower_end(epsilon) > 0:
                # δ falls in ε, so the ends of the ball of ε enclose δ from both sides.
                low = delta_from_rdp_ball(rdp, order, upper_end(epsilon))
                high = delta_from_rdp_ball(rdp, order, lower_end(epsilon))
                require(lower_end(low) <= delta <= upper_end(high), f"(7) after (6), {where}")
