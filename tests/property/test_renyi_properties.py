"""What must hold of one-step Rényi divergences, at random exact parameters; certified one-sided comparisons only."""

from fractions import Fraction

from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from certified_dp.divergence.moments import Gram, mixed_moment_balls
from certified_dp.divergence.single_pair import rdp_single_pair_ball
from certified_dp.divergence.theorem1 import Theorem1Bound, rdp_theorem1
from certified_dp.enclosure import ball, certainly_less, lower_end, upper_end, working_precision
from certified_dp.gaussian import rdp_gaussian_ball
from certified_dp.oracle.strategies import noise_multipliers, orders, sampling_probabilities

#: Enough bits for the properties to be decided strictly: the moments differ from 1 by p² and more.
PREC = 200

probabilities = sampling_probabilities()
# A real order is one integral, which costs more where Δ = 2/σ is large.
sigmas = noise_multipliers("0.5", 100)
small_orders = orders(40)
factors = st.sampled_from([Fraction(101, 100), Fraction(3, 2), Fraction(10)])


def _single_pair(sigma: Fraction, p: Fraction, order: Fraction) -> arb:
    return rdp_single_pair_ball(sigma, p, order, prec=PREC)


def _theorem1(sigma: Fraction, p: Fraction, order: int) -> Theorem1Bound:
    least = lower_end(rdp_single_pair_ball(sigma, p, Fraction(order), prec=64))
    return rdp_theorem1(sigma, p, order, accuracy=least / 10**6)


@given(sigmas, probabilities, small_orders, factors)
def test_single_pair_grows_with_the_order(sigma: Fraction, p: Fraction, order: Fraction, factor: Fraction) -> None:
    """ρ is strictly increasing in α for all p and Δ: Rényi divergences are, unless the ratio is constant."""
    larger = 1 + (order - 1) * factor
    with working_precision(PREC):
        assert certainly_less(_single_pair(sigma, p, order), _single_pair(sigma, p, larger))


@given(sigmas, probabilities, small_orders, factors)
def test_single_pair_falls_with_the_noise(sigma: Fraction, p: Fraction, order: Fraction, factor: Fraction) -> None:
    """ρ is strictly increasing in Δ = 2/σ everywhere: more noise is a post-processing."""
    with working_precision(PREC):
        assert certainly_less(_single_pair(sigma * factor, p, order), _single_pair(sigma, p, order))


@given(sigmas, probabilities, small_orders, factors)
def test_single_pair_grows_with_the_probability(
    sigma: Fraction, p: Fraction, order: Fraction, factor: Fraction
) -> None:
    """ρ is strictly increasing in p on all of [0, 1]: E(1+p(L−1))^α is convex in p with derivative 0 at p = 0."""
    larger = min(p * factor, (1 + p) / 2)
    with working_precision(PREC):
        more, full = _single_pair(sigma, larger, order), rdp_gaussian_ball(sigma, order)
        assert certainly_less(_single_pair(sigma, p, order), more)
        assert certainly_less(more, full)


@given(noise_multipliers("0.7", 50), probabilities, st.integers(2, 12), st.integers(1, 4))
def test_theorem1_grows_with_the_order(sigma: Fraction, p: Fraction, order: int, more: int) -> None:
    """The paper's ρ is a supremum of Rényi divergences, so it grows with α."""
    assert _theorem1(sigma, p, order).lower < _theorem1(sigma, p, order + more).upper


@given(noise_multipliers("0.7", 50), probabilities, st.integers(2, 12), factors)
def test_theorem1_falls_with_the_noise(sigma: Fraction, p: Fraction, order: int, factor: Fraction) -> None:
    """The paper's ρ grows with Δ everywhere: its family of pairs does."""
    assert _theorem1(sigma * factor, p, order).lower < _theorem1(sigma, p, order).upper


@given(noise_multipliers("0.7", 50), probabilities, st.integers(2, 12), factors)
def test_theorem1_grows_with_the_probability(sigma: Fraction, p: Fraction, order: int, factor: Fraction) -> None:
    """The paper's ρ grows with p on [0, 1]: for each pair (a, b) the moment is jointly convex, and least at p = 0."""
    assert _theorem1(sigma, p, order).lower < _theorem1(sigma, min(p * factor, (1 + p) / 2), order).upper


@given(noise_multipliers("0.7", 50), probabilities, st.integers(2, 20))
def test_single_pair_is_at_most_theorem1(sigma: Fraction, p: Fraction, order: int) -> None:
    """The single pair is the member u = 0 of the paper's family, so its divergence is at most the maximum."""
    assert lower_end(_single_pair(sigma, p, Fraction(order))) <= _theorem1(sigma, p, order).upper


@given(sigmas, probabilities, st.integers(2, 40), factors, factors)
def test_cumulant_is_convex(sigma: Fraction, p: Fraction, order: int, left: Fraction, right: Fraction) -> None:
    """(α−1)ρ(α) is strictly convex in α: each point lies below the chord of two others (Proposition 3)."""
    a, b = Fraction(order), 1 + (order - 1) * left
    c = 1 + (b - 1) * right
    with working_precision(PREC):
        at_a, at_b, at_c = (ball(x - 1) * _single_pair(sigma, p, x) for x in (a, b, c))
        t = (b - a) / (c - a)
        assert certainly_less(at_b, at_a * ball(1 - t) + at_c * ball(t))


def _ordered_pair(sigma: Fraction, u: Fraction) -> tuple[Gram, Gram]:
    square = 4 / sigma**2
    return (square, 2 * square * u, square * u), (2 * square * u, square, square * u)


@given(
    noise_multipliers("0.7", 50),
    probabilities,
    st.integers(2, 20),
    st.integers(0, 49).map(lambda m: Fraction(m, 100)),
)
def test_lemma4(sigma: Fraction, p: Fraction, order: int, u: Fraction) -> None:
    """Lemma 4: D(a‖b) ≥ D(b‖a) for a = Δ(1,0), b = Δ(u, √(2u−u²)), strictly for 0 ≤ u < 1/2, at integer orders."""
    forth, back = _ordered_pair(sigma, u)
    [more] = mixed_moment_balls(forth, p, order, [(0, 0)], prec=PREC)
    [less] = mixed_moment_balls(back, p, order, [(0, 0)], prec=PREC)
    with working_precision(PREC):
        assert certainly_less(less, more)


@given(noise_multipliers("0.7", 50), probabilities, st.integers(2, 20))
def test_lemma4_with_equality(sigma: Fraction, p: Fraction, order: int) -> None:
    """At u = 1/2 the two vectors have equal length, and the two divergences are the same number."""
    forth, back = _ordered_pair(sigma, Fraction(1, 2))
    [more] = mixed_moment_balls(forth, p, order, [(0, 0)], prec=PREC)
    [less] = mixed_moment_balls(back, p, order, [(0, 0)], prec=PREC)
    assert more.overlaps(less)


def _expansion_error_constant(square: arb, alpha: int, p: arb) -> arb:
    """Bound K with |J(1/2) − c₂p'² − c₃p'³| ≤ K·p'⁴ for all p' in (0, p].

    With A = e^X − 1, B = e^Y − 1 (variances Δ², covariance Δ²/2), F = E(1+pA)^α (1+pB)^{1−α}. Taylor's remainder
    is F''''(ξ)p⁴/24; A, B ≥ −1 bounds a factor of negative power by q to that power, and what remains is a polynomial
    in e^X, e^Y with E e^{iX+jY} = e^{(i(i−1) + j(j−1) + ij)Δ²/2}. Then |log(1+x) − x| ≤ x²/2 for x ≥ 0.
    """
    fourth = arb(0)
    for j in range(5):
        factor = arb(1)
        for i in range(j):
            factor *= abs(alpha - i)
        for i in range(4 - j):
            factor *= alpha - 1 + i
        power = alpha - j
        negative = (1 - p) ** (1 - alpha - (4 - j) + min(power, 0))
        # |A|^j |B|^{4−j} (1+pA)^{(power)+} ≤ (1+e^X)^j (1+e^Y)^{4−j} (1+p e^X)^{power}
        polynomial = [[arb(0)] * 5 for _ in range(j + max(power, 0) + 1)]
        for a in range(j + 1):
            for b in range(5 - j):
                for c in range(max(power, 0) + 1):
                    polynomial[a + c][b] += _binomial(j, a) * _binomial(4 - j, b) * _binomial(max(power, 0), c) * p**c
        moment = sum(
            (
                coefficient * (square * (a * (a - 1) + b * (b - 1) + a * b) / 2).exp()
                for a, row in enumerate(polynomial)
                for b, coefficient in enumerate(row)
            ),
            arb(0),
        )
        fourth += _binomial(4, j) * factor * negative * moment
    second, third = _taylor_moments(square, alpha)
    excess = second / 2 + abs(third) * p / 6 + fourth * p * p / 24
    return (fourth / 24 + excess * excess / 2) / (alpha - 1)


def _binomial(n: int, k: int) -> int:
    value = 1
    for i in range(k):
        value = value * (n - i) // (i + 1)
    return value


def _taylor_moments(square: arb, alpha: int) -> tuple[arb, arb]:
    """Return F''(0) and F'''(0) in p at u = 1/2, from spec (31) and the line below it."""
    e = square.exp()
    half = (square / 2).exp()
    second = alpha * (alpha - 1) * 2 * (e - half)
    a3 = e**3 - 3 * e + 2
    a2b = e**2 - 2 * half - e + 2
    third = alpha * (alpha - 1) * ((alpha - 2) * a3 - 3 * (alpha - 1) * a2b + 3 * alpha * a2b - (alpha + 1) * a3)
    return second, third


@given(noise_multipliers(2, 20), sampling_probabilities("1e-9", "1e-3"), st.integers(2, 8))
def test_proposition5(sigma: Fraction, p: Fraction, order: int) -> None:
    """For p ≤ 1/1000, σ ≥ 2, α ≤ 8: |ρ − c₂p² − c₃p³| ≤ K·p⁴ with the coefficients of (8) and a certified K."""
    bound = rdp_theorem1(sigma, p, order, accuracy=p**5)
    with working_precision(400):
        e2, x = ball(2 / sigma**2).exp(), ball(p)
        e4, e8, e12 = e2**2, e2**4, e2**6
        expansion = order * (e4 - e2) * x**2 - Fraction(order, 2).numerator * (e12 - e8 - 2 * e4 + 2 * e2) * x**3 / (
            Fraction(order, 2).denominator
        )
        room = upper_end(_expansion_error_constant(ball(4 / sigma**2), order, x) * x**4)
        assert bound.maximiser == Fraction(1, 2)
        assert bound.upper - lower_end(expansion) <= room + p**5
        assert upper_end(expansion) - bound.lower <= room + p**5
