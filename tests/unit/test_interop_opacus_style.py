"""The Opacus-style accountant: same numbers as the library, and a state that nothing loses."""

import json
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given

from certified_dp import DPSGD, Phase, epsilon
from certified_dp.errors import InvalidParameterError
from certified_dp.interop.opacus_style import CertifiedOpacusAccountant
from certified_dp.oracle.strategies import dpsgd_runs
from certified_dp.parameters import as_phases

METHOD = "single_pair_renyi"


def _fed(run: tuple[Phase, ...]) -> CertifiedOpacusAccountant:
    accountant = CertifiedOpacusAccountant()
    for phase in run:
        accountant.step(
            noise_multiplier=phase.noise_multiplier, sample_rate=phase.sampling_probability, steps=phase.steps
        )
    return accountant


def test_epsilon_is_the_librarys() -> None:
    """Steps taken one by one give the certified ε of the run, rounded up."""
    accountant = CertifiedOpacusAccountant()
    for _ in range(100):
        accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    exact = epsilon(DPSGD(sampling_probability="0.01", noise_multiplier=1, steps=100), "1e-5", method=METHOD).upper
    assert Fraction(accountant.get_epsilon(delta=1e-5, method=METHOD)) >= exact
    assert len(accountant) == 100


@given(dpsgd_runs(max_phases=4))
def test_state_survives_json(run: tuple[Phase, ...]) -> None:
    """Save, JSON, load gives the same history, exactly."""
    before, after = _fed(run), CertifiedOpacusAccountant()
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    assert after.history == before.history
    assert after.state_dict() == before.state_dict()


@given(dpsgd_runs(max_phases=3), dpsgd_runs(max_phases=3))
def test_merge_is_composition(first: tuple[Phase, ...], second: tuple[Phase, ...]) -> None:
    """Merging two accountants is the composition of their runs, and leaves the second alone."""
    one, two = _fed(first), _fed(second)
    saved = two.state_dict()
    one.merge(two)
    assert as_phases(one._phases()) == as_phases([*first, *second])
    assert two.state_dict() == saved


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"history": [], "mechanism": "rdp"},
        {"history": [], "mechanism": CertifiedOpacusAccountant.mechanism(), "extra": 1},
        {"history": [["1", "0.1"]], "mechanism": CertifiedOpacusAccountant.mechanism()},
        {"history": [["0", "0.1", 1]], "mechanism": CertifiedOpacusAccountant.mechanism()},
        {"history": [["1", "0.1", -1]], "mechanism": CertifiedOpacusAccountant.mechanism()},
    ],
)
def test_a_foreign_state_is_refused(state: dict[str, object]) -> None:
    """A state of another mechanism, or one that steps could not have made, changes nothing."""
    accountant = _fed((Phase(Fraction(1, 100), Fraction(1), 5),))
    with pytest.raises(InvalidParameterError):
        accountant.load_state_dict(state)
    assert len(accountant) == 5


def test_it_needs_no_torch() -> None:
    """Importing it imports neither torch nor opacus nor numpy."""
    code = (
        "import sys, certified_dp.interop.opacus_style; sys.exit(bool({'torch','opacus','numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
