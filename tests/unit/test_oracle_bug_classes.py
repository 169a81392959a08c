"""A deliberately broken accountant for each public bug class is caught by the plugin, and a right one passes."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest

from certified_dp import DPSGD, Phase, delta, epsilon, rdp
from certified_dp.enclosure import float_upper
from certified_dp.errors import CertifiedDPError
from certified_dp.oracle.answers import ANSWERS
from certified_dp.oracle.plugin import CertifiedOracle

METHOD = "single_pair_renyi"
HERE: dict[str, Any] = {"relation": "replace_one", "noise_multiplier_convention": "clip_norm"}


@lru_cache(maxsize=4096)
def _epsilon(phases: tuple[Phase, ...], at: Any, **options: Any) -> float:
    return float_upper(epsilon(phases, at, method=METHOD, **options).upper)


def right(p: Any, sigma: Any, steps: Any, at: Any) -> float:
    """Answer rightly: certified, by Rényi divergences."""
    return _epsilon((DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps),), at)


def right_rdp(p: float, sigma: float, order: float) -> float:
    run = DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=1)
    return float_upper(rdp(run, order, digits=12).upper)


def right_composition(phases: Sequence[tuple[float, float, int]], at: float) -> float:
    return _epsilon(
        tuple(DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps) for p, sigma, steps in phases), at
    )


def right_noise_multiplier(p: float, steps: int, at: float, target: float) -> float:
    """Calibrate where the answer is exact, and refuse elsewhere."""
    if p < 1 < steps:
        raise NotImplementedError
    parameters = {
        "sampling_probability": str(Fraction(str(p))),
        "steps": steps,
        "delta": str(Fraction(str(at))),
        "epsilon": str(Fraction(str(target))),
    }
    return float_upper(ANSWERS["noise_multiplier"](parameters)[1])


def caught(oracle: CertifiedOracle, accountant: Callable[..., Any], bug_class: str, **options: Any) -> str:
    """Assert that the check fails the test, and return the table."""
    with pytest.raises(pytest.fail.Exception) as failure:
        oracle.check(accountant, **HERE, classes=[bug_class], **options)
    text = str(failure.value)
    assert bug_class in text
    return text


@pytest.mark.parametrize("max_cases", [150, pytest.param(None, marks=pytest.mark.slow)])
def test_a_right_accountant_passes_everything(certified_oracle: CertifiedOracle, max_cases: int | None) -> None:
    """No certified answer is unsound, over all vectors of ε, domain errors included."""
    report = certified_oracle.check(right, **HERE, max_cases=max_cases)
    assert len(report.outcomes) == (max_cases or 551)
    assert not [outcome for outcome in report.having("loose") if "domain" in outcome.case.flags]


@pytest.mark.slow
def test_the_best_bound_is_consistent(certified_oracle: CertifiedOracle) -> None:
    """The library's own best bound, rounded up to a double, lies in every bracket."""

    def best(p: float, sigma: float, steps: int, at: float) -> float:
        run = DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps)
        return float_upper(epsilon(run, at, digits=12, relative_slack="0.004").upper)

    report = certified_oracle.check(best, **HERE, cost="low", classes=["grid", "practice", "tiny_delta"], max_cases=60)
    assert report.largest_excess < 0.05


def test_a_right_rdp_is_consistent_everywhere(certified_oracle: CertifiedOracle) -> None:
    """The exact one-step divergence, rounded up to a double, lies in every bracket."""
    report = certified_oracle.check(right_rdp, **HERE, question="renyi", max_excess=0)
    assert report.word == "consistent"


def test_right_answers_to_the_other_questions_pass(certified_oracle: CertifiedOracle) -> None:
    """Composition, δ at ε, and calibration."""

    def right_delta(p: float, sigma: float, steps: int, at: float) -> float:
        run = DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps)
        return float_upper(delta(run, at, method=METHOD).upper)

    certified_oracle.check(right_composition, **HERE, question="composition", max_cases=12)
    certified_oracle.check(right_delta, **HERE, question="delta", max_cases=20)
    certified_oracle.check(right_noise_multiplier, **HERE, question="noise_multiplier", cost="low", max_cases=20)


def test_halved_sensitivity(certified_oracle: CertifiedOracle) -> None:
    """Sensitivity C instead of 2C."""
    assert "unsound" in caught(certified_oracle, lambda p, s, t, d: right(p, 2 * s, t, d), "sensitivity")


def test_doubled_sensitivity(certified_oracle: CertifiedOracle) -> None:
    """Sensitivity 4C is sound but loose, which a tightness budget catches."""
    text = caught(certified_oracle, lambda p, s, t, d: right(p, s / 2, t, d), "sensitivity", max_excess=0.5)
    assert "looser than" in text


def test_the_wrong_convention(certified_oracle: CertifiedOracle) -> None:
    """A right accountant, checked under the other convention, is one that halves the sensitivity."""
    options = {**HERE, "noise_multiplier_convention": "sensitivity"}
    with pytest.raises(pytest.fail.Exception, match=r"(?s)unsound.*") as failure:
        certified_oracle.check(lambda p, s, t, d: right(p, 4 * s, t, d), **options, classes=["sensitivity"])
    assert "noise multiplier by sensitivity" in str(failure.value)
    certified_oracle.check(lambda p, s, t, d: right(p, 2 * s, t, d), **options, classes=["sensitivity"])


def test_poisson_accounting(certified_oracle: CertifiedOracle) -> None:
    """The Rényi divergence of Poisson sampling under add/remove, for fixed-size batches under replacement."""

    def poisson(p: float, sigma: float, steps: int, at: float) -> float:
        def at_order(a: int) -> float:
            logs = [
                math.log(math.comb(a, k)) + k * math.log(p) + (a - k) * math.log1p(-p) + k * (k - 1) / (2 * sigma**2)
                for k in range(a + 1)
            ]
            top = max(logs)
            rho = (top + math.log(math.fsum(math.exp(x - top) for x in logs))) / (a - 1)
            return steps * rho + math.log1p(-1 / a) - math.log(at * a) / (a - 1)

        return max(0.0, min(at_order(a) for a in range(2, 64)))

    assert "unsound" in caught(certified_oracle, poisson, "poisson")


def test_physical_batch(certified_oracle: CertifiedOracle) -> None:
    """The sampling rate of the physical batch, a quarter of the logical one."""
    assert "unsound" in caught(certified_oracle, lambda p, s, t, d: right(p / 4, s, t, d), "physical_batch")


@pytest.mark.parametrize(
    ("options", "share"), [({"orders": "integer"}, 1.0), ({"max_order": 64, "orders": "integer"}, 2.0)]
)
def test_short_order_grid(certified_oracle: CertifiedOracle, options: dict[str, Any], share: float) -> None:
    """A grid of orders that starts at 2, or ends at 64, is loose where the best order lies beyond."""

    def short(p: float, sigma: float, steps: int, at: float) -> float:
        return _epsilon((DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps),), at, **options)

    assert "looser than" in caught(certified_oracle, short, "order_grid", max_excess=share)


def test_overflow(certified_oracle: CertifiedOracle) -> None:
    """Sums of exponentials in doubles overflow to ∞ or NaN; NaN is unsound, ∞ without bound loose."""

    def exponential(x: float) -> float:
        return math.exp(x) if x < 709 else math.inf

    def overflowing(p: float, sigma: float, order: float) -> float:
        if p == 1 or order != int(order):
            return right_rdp(p, sigma, order)
        a = int(order)
        terms = [
            float(math.comb(a, k) if a < 1000 else math.inf)
            * p**k
            * (1 - p) ** (a - k)
            * exponential(k * (k - 1) * 2 / sigma**2)
            for k in range(a + 1)
        ]
        return math.log(sum(terms)) / (a - 1)

    assert "nan" in caught(certified_oracle, overflowing, "numerics", question="renyi")


def test_cut_off_quadrature(certified_oracle: CertifiedOracle) -> None:
    """An integral over [−12, 12] misses the mass, near αΔ, that dominates at small noise and large orders."""

    def cut_off(p: float, sigma: float, order: float) -> float:
        width, shift = 0.02, 2 / sigma
        total = math.fsum(
            math.exp(min(700.0, order * math.log1p(p * math.expm1(shift * z - shift**2 / 2)) - z * z / 2))
            for z in (-12 + width * i for i in range(1201))
        )
        return math.log(total * width / math.sqrt(2 * math.pi)) / (order - 1)

    assert "unsound" in caught(certified_oracle, cut_off, "numerics", question="renyi", max_cases=60)


def test_dropped_mass_at_tiny_delta(certified_oracle: CertifiedOracle) -> None:
    """An accountant that drops 1e-15 of probability mass answers as if δ were never smaller."""
    assert "unsound" in caught(certified_oracle, lambda p, s, t, d: right(p, s, t, max(d, 1e-15)), "tiny_delta")


def test_jump_at_tiny_delta(certified_oracle: CertifiedOracle) -> None:
    """An accountant whose ε jumps to ∞ below 1e-15 is loose without bound."""

    def jumps(p: float, sigma: float, steps: int, at: float) -> float:
        return math.inf if at < 1e-15 else right(p, sigma, steps, at)

    assert "inf" in caught(certified_oracle, jumps, "tiny_delta", max_excess=10)


def test_negative_epsilon(certified_oracle: CertifiedOracle) -> None:
    """A Rényi conversion without a clamp at 0."""

    def unclamped(p: float, sigma: float, steps: int, at: float) -> float:
        rho = right_rdp(p, sigma, 8)
        return steps * rho + math.log1p(-1 / 8) - math.log(at * 8) / 7

    assert "unsound" in caught(certified_oracle, unclamped, "negative_epsilon")


def test_domain_errors_accepted(certified_oracle: CertifiedOracle) -> None:
    """Nonsense that gets a number."""

    def gullible(p: float, sigma: float, steps: float, at: float) -> float:
        try:
            return right(p, sigma, steps, at)
        except CertifiedDPError:
            return 0.0

    text = caught(certified_oracle, gullible, "domain")
    assert "to be refused" in text


def test_calibration_rounded_to_nearest(certified_oracle: CertifiedOracle) -> None:
    """A noise multiplier rounded to two decimals misses the target about every second time."""

    def rounded(p: float, steps: int, at: float, target: float) -> float:
        return round(right_noise_multiplier(p, steps, at, target), 2)

    text = caught(certified_oracle, rounded, "calibration", question="noise_multiplier", cost="low", max_cases=20)
    assert "unsound" in text


def test_split_dependence(certified_oracle: CertifiedOracle) -> None:
    """Composition that forgets all but the last phase is unsound; adding up ε is loose."""

    def forgetful(phases: Sequence[tuple[float, float, int]], at: float) -> float:
        return right_composition(phases[-1:], at)

    def adding(phases: Sequence[tuple[float, float, int]], at: float) -> float:
        return sum(right_composition([phase], at / len(phases)) for phase in phases)

    assert "unsound" in caught(certified_oracle, forgetful, "composition", question="composition")
    text = caught(certified_oracle, adding, "composition", question="composition", max_excess=0.5)
    assert "looser than" in text


def test_lost_log1p(certified_oracle: CertifiedOracle) -> None:
    """log(1 + x) instead of log1p(x) is 0 where p = 1e-12."""

    def lost(p: float, sigma: float, order: float) -> float:
        value = right_rdp(p, sigma, order)
        return math.log(1 + math.expm1(min(700.0, (order - 1) * value))) / (order - 1) if value < 1 else value

    assert "unsound" in caught(certified_oracle, lost, "tiny_probability", question="renyi")
