"""The dp-accounting adapter: dp-accounting's own abstract tests, conventions, refusals, calibration."""

import math
from collections.abc import Collection
from fractions import Fraction

import pytest
from dp_accounting import dp_event, privacy_accountant_test
from dp_accounting.mechanism_calibration import ExplicitBracketInterval, calibrate_dp_mechanism
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant, UnsupportedEventError

from certified_dp import DPSGD, epsilon
from certified_dp.errors import InvalidParameterError
from certified_dp.interop.convention import Convention
from certified_dp.interop.dp_accounting import CertifiedAccountant

CONVENTIONS: tuple[Convention, ...] = ("clip_norm", "sensitivity")
METHOD = "single_pair_renyi"


def accountant(convention: Convention = "clip_norm", method: str = METHOD) -> CertifiedAccountant:
    return CertifiedAccountant(noise_multiplier_convention=convention, method=method)


def step(noise: float, size: int = 600, of: int = 60_000) -> dp_event.DpEvent:
    return dp_event.SampledWithoutReplacementDpEvent(of, size, dp_event.GaussianDpEvent(noise))


class TestAbstractSuite(privacy_accountant_test.PrivacyAccountantTest):  # type: ignore[misc]
    """dp-accounting's own tests of accountants, run on the adapter."""

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [accountant(convention, method) for convention in CONVENTIONS for method in (METHOD, "best")]


def test_epsilon_is_the_librarys() -> None:
    """Nested composition, in any split, gives the certified ε of the run, rounded up."""
    nested = dp_event.ComposedDpEvent(
        [dp_event.SelfComposedDpEvent(step(2.0), 7_000), dp_event.NoOpDpEvent(), step(2.0)]
    )
    value = accountant().compose(nested).compose(step(2.0), 999).get_epsilon(1e-6)
    run = DPSGD(dataset_size=60_000, batch_size=600, noise_multiplier=2, steps=8_000)
    exact = epsilon(run, "1e-6", method=METHOD).upper
    assert Fraction(value) >= exact
    assert Fraction(math.nextafter(value, 0)) < exact


def test_conventions_differ_by_a_factor_of_two() -> None:
    """σ relative to the sensitivity 2C is 2σ relative to the clip norm C."""
    by_norm = accountant("clip_norm").compose(step(2.0), 100).get_epsilon(1e-5)
    assert accountant("sensitivity").compose(step(1.0), 100).get_epsilon(1e-5) == by_norm
    assert accountant("sensitivity").compose(step(2.0), 100).get_epsilon(1e-5) < by_norm


def test_full_batch_gaussian() -> None:
    """A plain Gaussian event is one full-batch step, and its ε is exact."""
    value = accountant(method="best").compose(dp_event.GaussianDpEvent(3.0), 50).get_epsilon(1e-5)
    assert Fraction(value) >= Fraction("30.50628")
    assert Fraction(value) < Fraction("30.50629")
    whole = accountant(method="best").compose(step(3.0, 10, 10), 50).get_epsilon(1e-5)
    assert whole == value


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), "no certified bound"),
        (dp_event.SampledWithReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(1.0)), "no certified bound"),
        (dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.LaplaceDpEvent(1.0)), "no certified bound"),
        (dp_event.LaplaceDpEvent(1.0), "no certified bound"),
        (dp_event.GaussianDpEvent(-1.0), "noise_multiplier"),
        (dp_event.GaussianDpEvent(math.nan), "noise_multiplier"),
        (step(1.0, 11, 10), "batch_size"),
        (step(0.0, 11, 10), "batch_size"),
        (dp_event.SelfComposedDpEvent(step(1.0), -1), "negative"),
    ],
)
def test_refusals(event: dp_event.DpEvent, reason: str) -> None:
    """What cannot be certified is refused with dp-accounting's own error, and leaves the state alone."""
    subject = accountant()
    with pytest.raises(UnsupportedEventError, match=reason):
        subject.compose(event)
    assert not subject.supports(event)
    assert isinstance(subject.ledger, dp_event.NoOpDpEvent)
    assert subject.get_epsilon(1e-5) == 0


def test_the_limits() -> None:
    """No noise is no privacy; δ = 0 has no finite ε and δ = 1 needs none; δ(∞) = 0."""
    assert accountant().compose(step(0.0)).get_epsilon(1e-5) == math.inf
    some = accountant().compose(step(1.0))
    assert some.get_epsilon(0) == math.inf
    assert some.get_epsilon(1) == 0
    assert some.get_delta(math.inf) == 0
    assert 0 < some.get_delta(1.0) < 1
    for subject in (some, accountant()):
        for bad in (-1e-9, 1.5, math.nan):
            with pytest.raises(InvalidParameterError, match="delta"):
                subject.get_epsilon(bad)
        for bad in (-1e-9, math.nan):
            with pytest.raises(InvalidParameterError, match="epsilon"):
                subject.get_delta(bad)


def test_other_relations_and_conventions_are_refused() -> None:
    """The convention is required, and only replacement is certified."""
    with pytest.raises(TypeError, match="noise_multiplier_convention"):
        CertifiedAccountant()  # type: ignore[call-arg]
    with pytest.raises(InvalidParameterError, match="noise_multiplier_convention"):
        CertifiedAccountant(noise_multiplier_convention="batch")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="neighboring_relation"):
        CertifiedAccountant(
            noise_multiplier_convention="clip_norm", neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE
        )


def test_calibration_by_dp_accounting() -> None:
    """calibrate_dp_mechanism works on the adapter, and what it returns meets the target."""
    noise = calibrate_dp_mechanism(
        accountant,
        lambda x: dp_event.SelfComposedDpEvent(step(x), 100),
        1.0,
        1e-5,
        ExplicitBracketInterval(1, 4),
        tol=1e-3,
    )
    assert accountant().compose(step(noise), 100).get_epsilon(1e-5) <= 1
    assert accountant().compose(step(noise - 0.01), 100).get_epsilon(1e-5) > 1
