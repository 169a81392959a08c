"""Limits and expansions: against mpmath, against each other, and against the accountants at large T and small p."""

import json
import sys
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from flint import arb

from certified_dp import DPSGD, epsilon
from certified_dp.asymptotics import (
    LIMITS,
    best_order_delta_ball,
    birrell_expansion_ball,
    corollary2_rate_ball,
    kl_hinge_moment_ball,
    limit_delta,
    limit_epsilon,
    lossless_mu_squared_ball,
    proposition4_delta_ball,
    single_pair_lambda_ball,
    theorem1_expansion_ball,
    theorem1_lambda_ball,
)
from certified_dp.cli import main
from certified_dp.conversion import delta_from_rdp_ball
from certified_dp.divergence.birrell import rdp_birrell_expansion_ball
from certified_dp.divergence.single_pair import rdp_single_pair_ball
from certified_dp.divergence.theorem1 import rdp_theorem1
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.errors import InvalidParameterError
from certified_dp.gaussian import gaussian_delta_ball

REGIMES = [("1/2", "2"), ("4/5", "2"), ("10", "1"), ("1/1000", "5"), ("5", "40"), ("3", "3")]


def meets(value: arb, number: mpmath.mpf, digits: int) -> bool:
    """Return whether a ball meets the interval of the numbers that agree with ``number`` to ``digits`` digits."""
    sign, mantissa, exponent, _ = number._mpf_
    middle = Fraction(-1) ** sign * int(mantissa) * Fraction(2) ** int(exponent)
    margin = abs(middle) / 10**digits
    return bool(lower_end(value) <= middle + margin and middle - margin <= upper_end(value))


@pytest.mark.parametrize("sigma", ["1/2", "2", "9"])
def test_variances_are_second_moments(sigma: str) -> None:
    """By 60-digit quadrature: μ² = 2ν·E[(L−1)²; L>1] (Lemma 3's pair), λ* = ν·E(L−1)², λ = ν·E(L_a−L_b)² at u = 1/2."""
    nu, s = Fraction(3, 2), Fraction(sigma)
    with mpmath.workdps(60):
        d = 2 * mpmath.mpf(s.denominator) / s.numerator

        def squared(z: mpmath.mpf) -> mpmath.mpf:
            return (mpmath.exp(d * z - d * d / 2) - 1) ** 2 * mpmath.npdf(z)

        end = 2 * d + 20
        above = mpmath.quad(squared, mpmath.linspace(d / 2, end, 30))
        below = mpmath.quad(squared, mpmath.linspace(-20, d / 2, 30))
        between = 2 * mpmath.exp(d * d) - 2 * mpmath.exp(d * d / 2)  # E L_a² + E L_b² − 2 E L_a L_b, |b| = |a| = Δ
        with working_precision(250):
            assert meets(lossless_mu_squared_ball(nu, s), 3 * above, 50)
            assert meets(single_pair_lambda_ball(nu, s), 1.5 * (above + below), 50)
            assert meets(theorem1_lambda_ball(nu, s), mpmath.mpf(3) / 2 * between, 50)


@pytest.mark.parametrize(("lam", "eps"), [("1/2", "1"), ("2", "7"), ("1/8", "3/4"), ("30", "40")])
def test_proposition_4_is_the_conversion_at_its_order(lam: str, eps: str) -> None:
    """Proposition 4's closed form meets (7) at α = 1 + ε/λ with Tρ = αλ/2, and the best order is at most that."""
    scale, given = Fraction(lam), Fraction(eps)
    order = 1 + given / scale
    with working_precision(200):
        closed = proposition4_delta_ball(ball(scale), given)
        assert closed.overlaps(delta_from_rdp_ball(ball(order * scale / 2), order, given))
        assert closed.rel_accuracy_bits() > 150
        assert best_order_delta_ball(ball(scale), given) <= closed
        assert proposition4_delta_ball(ball(scale), Fraction(0)) == 1


@pytest.mark.parametrize(("lam", "eps"), [("1/2", "1"), ("2", "0"), ("30", "40"), ("1/100", "1"), ("900", "3")])
def test_best_order_is_the_best(lam: str, eps: str) -> None:
    """No order on a fine grid gives a δ that is certainly smaller by more than one part in 10⁶."""
    scale, given = Fraction(lam), Fraction(eps)
    with working_precision(2000):
        best = best_order_delta_ball(ball(scale), given)
        for exponent in range(-900, 60):
            order = 1 + Fraction(2) ** exponent * Fraction(5, 4)
            assert not delta_from_rdp_ball(ball(order * scale / 2), order, given) < best * (
                1 - ball(Fraction(1, 10**6))
            )


@pytest.mark.parametrize(("mu", "hinge"), [("1/2", "1"), ("1", "-2"), ("3", "8"), ("1/10", "1/2")])
def test_kl_hinge_moment_against_mpmath(mu: str, hinge: str) -> None:
    """A 60-digit quadrature of h((L−λ)_+) under L ~ N(μ²/2, μ²) lies in the closed form's ball."""
    m, threshold = Fraction(mu), Fraction(hinge)
    with mpmath.workdps(60):
        width, start = mpmath.mpf(m.numerator) / m.denominator, mpmath.mpf(threshold.numerator) / threshold.denominator

        def integrand(y: mpmath.mpf) -> mpmath.mpf:
            return (y - 1 + mpmath.exp(-y)) * mpmath.npdf(start + y, width**2 / 2, width)

        value = mpmath.quad(integrand, mpmath.linspace(0, 25 * width + abs(start), 60))
    with working_precision(300):
        assert meets(kl_hinge_moment_ball(ball(m), ball(threshold)), value, 45)


@pytest.mark.parametrize(("nu", "sigma"), REGIMES)
@pytest.mark.parametrize("delta", ["1e-6", "1e-2"])
def test_order_of_the_limits(nu: str, sigma: str, delta: str) -> None:
    """Limits rise: floor ≤ kl_hinge ≤ single_pair_renyi ≤ theorem1 ≤ proposition4, for ε and for δ at that ε."""
    regime, at = (Fraction(nu), Fraction(sigma)), Fraction(delta)
    names = ("floor", "kl_hinge", "single_pair_renyi", "theorem1", "proposition4")
    found = [limit_epsilon(name, *regime, at) for name in names]
    ratios = [limit_delta(name, *regime, found[0].upper) for name in names]
    for bounds in (found, ratios):
        for smaller, larger in pairwise(bounds):
            assert smaller.lower is not None
            assert smaller.lower <= larger.upper
    assert found[0].upper < found[1].upper < found[2].upper or found[0].upper == 0


@pytest.mark.parametrize("method", list(LIMITS))
def test_epsilon_and_delta_are_inverse(method: str) -> None:
    """The limiting δ at ε's upper end is at most δ, at its lower end more, and the two ends are close."""
    regime, at = (Fraction(4, 5), Fraction(2)), Fraction(1, 10**6)
    bound = limit_epsilon(method, *regime, at, 8)
    assert bound.lower is not None
    assert bound.upper - bound.lower <= bound.upper / 10**8
    assert limit_delta(method, *regime, bound.upper).upper <= at * (1 + Fraction(1, 10**6))
    above = limit_delta(method, *regime, bound.lower).lower
    assert above is not None
    assert above >= at * (1 - Fraction(1, 10**6))


def test_large_and_small_epsilon() -> None:
    """Far in the tail δ keeps its relative accuracy; at δ above the total variation distance ε is 0."""
    far = limit_delta("kl_hinge", Fraction(1, 2), Fraction(2), Fraction(60), 10)
    assert far.lower is not None
    assert 0 < far.lower <= far.upper <= far.lower * (1 + Fraction(1, 10**9))
    assert limit_epsilon("floor", Fraction(1, 10**6), Fraction(2), Fraction(1, 2)).upper == 0
    with pytest.raises(InvalidParameterError, match="one of lossless"):
        limit_delta("wang", Fraction(1), Fraction(1), Fraction(1))


@pytest.mark.parametrize(("nu", "sigma"), [("1/2", "2"), ("4/5", "3"), ("1/10", "1/2"), ("8", "20")])
def test_corollary_2(nu: str, sigma: str) -> None:
    """μ² > λ, and log δ − log δ_L + rate·ε² − log ε ≤ log(2λ√(2π)/μ³) + μ²/8 for ε ≥ max(μ², 16), by (33) and (34)."""
    n, s = Fraction(nu), Fraction(sigma)
    with working_precision(4000):
        lam, mu_squared = theorem1_lambda_ball(n, s), lossless_mu_squared_ball(n, s)
        mu, rate = mu_squared.sqrt(), corollary2_rate_ball(n, s)
        assert mu_squared > lam
        assert rate > 0
        constant = (2 * lam * (2 * arb.pi()).sqrt() / mu**3).log() + mu_squared / 8
        for eps in (16, 40, 100):
            if not mu_squared <= eps:
                continue
            paper, lossless = proposition4_delta_ball(lam, Fraction(eps)), gaussian_delta_ball(mu, Fraction(eps))
            assert paper.log() - lossless.log() + rate * eps * eps - arb(eps).log() <= constant


@pytest.mark.parametrize(("sigma", "order"), [("2", 2), ("2", 5), ("3", 9), ("3/2", 3)])
def test_expansions_are_right_to_fourth_order(sigma: str, order: int) -> None:
    """Halving p divides the difference to (8) and to (9) by nearly 2⁴."""
    s, ps = Fraction(sigma), [Fraction(1, 1 << 22), Fraction(1, 1 << 23)]
    paper, earlier = [], []
    for p in ps:
        enclosed = rdp_theorem1(s, p, order, accuracy=p**4 / 10**6, prec=256)
        with working_precision(256):
            rho = ball(enclosed.lower).union(ball(enclosed.upper))
            paper.append(rho - theorem1_expansion_ball(s, p, Fraction(order)))
            for m in (4, 5):
                rho = rdp_birrell_expansion_ball(s, p, order, m, prec=256)
                earlier.append(rho - birrell_expansion_ball(s, p, Fraction(order)))
    with working_precision(256):
        for first, second in [paper, earlier[::2], earlier[1::2]]:
            assert abs(first / second - 16) < arb("0.5")


@pytest.mark.parametrize("order", ["5/2", "3", "7"])
def test_renyi_divergences_tend_to_their_limits(order: str) -> None:
    """Tρ → αλ*/2, for α > 2 from above, like p: halving p halves the difference, to a few percent."""
    nu, s, alpha = Fraction(4, 5), Fraction(2), Fraction(order)
    with working_precision(200):
        limit = single_pair_lambda_ball(nu, s) * ball(alpha) / 2
        first, second = (
            rdp_single_pair_ball(s, p, alpha, prec=200) * ball(nu / p**2) - limit
            for p in (Fraction(1, 10**5), Fraction(1, 2 * 10**5))
        )
        assert second > 0
        assert abs(first / second - 2) < arb("0.05")


def test_accountants_tend_to_their_limits() -> None:
    """single_pair_renyi's ε at T·p² = 4/5 falls towards its limit as T grows, the distance like p."""
    limit = limit_epsilon("single_pair_renyi", Fraction(4, 5), Fraction(2), Fraction(1, 10**6), 8)
    distances = []
    for inverse in (400, 800, 1600):
        run = DPSGD(sampling_probability=Fraction(1, inverse), noise_multiplier=2, steps=Fraction(4, 5) * inverse**2)
        bound = epsilon(run, "1e-6", method="single_pair_renyi", digits=8).upper
        distances.append(bound - limit.upper)
    for first, second in pairwise(distances):
        assert 0 < second < first * Fraction(55, 100)
    assert distances[-1] < limit.upper / 100


@pytest.mark.slow
def test_kl_hinge_tends_to_its_limit() -> None:
    """kl_hinge's ε at T·p² = 4/5 falls to within one percent of its limit, and stays above the floor's."""
    regime, at = (Fraction(4, 5), Fraction(2)), Fraction(1, 10**6)
    limit, floor = limit_epsilon("kl_hinge", *regime, at).upper, limit_epsilon("floor", *regime, at).upper
    bounds = [
        epsilon(
            DPSGD(sampling_probability=Fraction(1, k), noise_multiplier=2, steps=Fraction(4, 5) * k**2),
            at,
            method="kl_hinge",
        ).upper
        for k in (100, 200, 400, 800)
    ]
    assert floor < bounds[3] < bounds[2] < bounds[1] < bounds[0]
    assert bounds[3] < limit * Fraction(101, 100)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command line in this process; return exit status, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["certified-dp", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return call


def test_limits_command(command: Any) -> None:
    """Both directions, rounded outward; exactly one of δ and ε must be given."""
    regime = ("limits", "--nu", "0.8", "--noise-multiplier", "2")
    answer = json.loads(command(*regime, "--delta", "1e-6", "--json")[1])
    assert answer["inputs"] == {"nu": "4/5", "noise_multiplier": "2"}
    for method, (low, high) in answer["limits"].items():
        bound = limit_epsilon(method, Fraction(4, 5), Fraction(2), Fraction(1, 10**6))
        assert bound.lower is not None
        assert Fraction(low) <= bound.lower < bound.upper <= Fraction(high)
    status, out, err = command(*regime, "--epsilon", "6")
    assert (status, err) == (0, "")
    assert "steps · sampling probability² → 4/5, noise multiplier 2; ε = 6" in out
    assert "proposition4" in out
    assert command(*regime)[0] == command(*regime, "--delta", "1e-6", "--epsilon", "1")[0] == 2
    assert "--nu" in command("limits", "--nu", "-1", "--noise-multiplier", "2", "--delta", "1e-6")[2]
