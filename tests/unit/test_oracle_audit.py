"""Audits of claims that real accountants make: unsound, consistent or loose, with the exit status to match."""

import json
import sys
from fractions import Fraction

import pytest

from certified_dp import DPSGD
from certified_dp.cli import main
from certified_dp.oracle.audit import audit

RUN = DPSGD(dataset_size=50_000, batch_size=1024, noise_multiplier="1.54", steps=1464)


def claim_of_dp_accounting(noise_multiplier: float) -> float:
    """Return what dp-accounting's RdpAccountant reports for RUN under REPLACE_ONE, given this noise multiplier."""
    dp_event = pytest.importorskip("dp_accounting.dp_event")
    privacy_accountant = pytest.importorskip("dp_accounting.privacy_accountant")
    rdp = pytest.importorskip("dp_accounting.rdp")
    relation = privacy_accountant.NeighboringRelation.REPLACE_ONE
    accountant = rdp.RdpAccountant(neighboring_relation=relation)
    step = dp_event.SampledWithoutReplacementDpEvent(50_000, 1024, dp_event.GaussianDpEvent(noise_multiplier))
    return float(accountant.compose(step, 1464).get_epsilon(1e-5))


def test_dp_accounting_given_the_training_codes_noise_multiplier() -> None:
    """dp-accounting 0.6 says 5.657 for the noise multiplier as training code states it; the floor is above 8.73."""
    claim = claim_of_dp_accounting(1.54)
    assert 5.65 < claim < 5.66
    found = audit(RUN, claim, "1e-5")
    assert found.verdict.word == "unsound"
    assert found.verdict.floor > Fraction("8.73")
    assert "the run that breaks it" in str(found)


def test_dp_accounting_given_half_of_it() -> None:
    """Given σ/2, its own convention under REPLACE_ONE, it is sound, and loose."""
    found = audit(RUN, claim_of_dp_accounting(0.77), "1e-5")
    assert found.verdict.word == "loose"
    assert str(found).startswith("loose: the claim")


@pytest.mark.parametrize(
    ("claim", "word", "status"), [("5.657", "unsound", 1), ("8.9", "consistent", 0), ("12", "loose", 0)]
)
def test_command_line(
    claim: str, word: str, status: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unsound claim exits with status 1, the others with 0."""
    arguments = ["--dataset-size", "50000", "--batch-size", "1024", "--noise-multiplier", "1.54", "--steps", "1464"]
    command = ["certified-dp", "audit", *arguments, "--delta", "1e-5", "--claim", claim, "--json"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code or 0) == status
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == word
    assert Fraction(answer["floor"]) <= Fraction(answer["upper"])
