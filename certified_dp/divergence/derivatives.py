"""The first two derivatives of F(u) (spec, section 2, (17) and (18)), as balls."""

from fractions import Fraction

from flint import arb

from certified_dp.divergence.moments import mixed_moment_balls, theorem_gram
from certified_dp.enclosure import ball, working_precision

#: A polynomial Σ coefficient·v^i·w^j, as {(i, j): coefficient}.
MixedPolynomial = dict[tuple[int, int], int]


def first_derivative_polynomial(order: int) -> MixedPolynomial:
    """Return w² − wv: F' is Δ²α(α−1) times its expectation under h (17).

    >>> first_derivative_polynomial(5)
    {(0, 2): 1, (1, 1): -1}
    """
    return {(0, 2): 1, (1, 1): -1}


def second_derivative_polynomial(order: int) -> MixedPolynomial:
    """Return the polynomial in v and w of (18): F'' is Δ⁴α(α−1) times its expectation under h.

    >>> sum(second_derivative_polynomial(5).values())  # at v = w = 1 the terms cancel
    0
    """
    a = order
    return {
        (0, 4): (a + 1) * (a + 2),
        (1, 3): -2 * a * (a + 1),
        (2, 2): a * (a - 1),
        (0, 3): -4 * (a + 1),
        (1, 2): 5 * a,
        (2, 1): -(a - 1),
        (0, 2): 2,
        (1, 1): -1,
    }


def moment_first_derivative_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, u: Fraction, *, prec: int
) -> arb:
    """Enclose F'(u) = Δ²α(α−1)·E[w(w−v)h].

    Guarantee: the ball contains F'(u), with error about 2^−prec·Δ²α(α−1)·E[w²h + wvh].
    Source: spec, (17); v, w and h as in `certified_dp.divergence.moments`, Δ = 2/noise_multiplier, α = order.
    Args: noise_multiplier: Fraction > 0.  sampling_probability: Fraction in (0, 1).  order: int ≥ 2.
        u: Fraction in [0, 1/2].  prec: bits.
    Returns: finite arb.
    Raises: PrecisionExhaustedError.

    >>> bool(moment_first_derivative_ball(Fraction(2), Fraction(1, 100), 5, Fraction(0), prec=64) < 0)
    True
    """
    polynomial = first_derivative_polynomial(order)
    return _derivative_ball(polynomial, 1, noise_multiplier, sampling_probability, order, u, prec)


def moment_second_derivative_ball(
    noise_multiplier: Fraction, sampling_probability: Fraction, order: int, u: Fraction, *, prec: int
) -> arb:
    """Enclose F''(u) by (18).

    Guarantee, Args, Raises: as `moment_first_derivative_ball`, with the terms of (18) and Δ⁴.

    >>> bool(moment_second_derivative_ball(Fraction(2), Fraction(1, 100), 5, Fraction(0), prec=64) > 0)
    True
    """
    polynomial = second_derivative_polynomial(order)
    return _derivative_ball(polynomial, 2, noise_multiplier, sampling_probability, order, u, prec)


def _derivative_ball(
    polynomial: MixedPolynomial,
    degree: int,
    noise_multiplier: Fraction,
    p: Fraction,
    order: int,
    u: Fraction,
    prec: int,
) -> arb:
    powers = list(polynomial)
    moments = mixed_moment_balls(theorem_gram(noise_multiplier, u), p, order, powers, prec=prec)
    with working_precision(prec + 20):
        scale = ball((4 / noise_multiplier**2) ** degree * order * (order - 1))
        return scale * sum((polynomial[power] * moment for power, moment in zip(powers, moments, strict=True)), arb(0))
