"""Coq files: coqc accepts true claims, refuses lowered ones, and the proof rests on the standard library alone."""

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from certified_dp import (
    DPSGD,
    Accountant,
    Bound,
    CertifiedDPError,
    InvalidParameterError,
    Phase,
    Result,
    delta,
    epsilon,
    rdp,
)
from certified_dp.coq import LARGEST_ORDER, coq_claim, write_coq

needs_coqc = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc (Coq with coq-interval) is not installed")


def _phase(p: str | int, sigma: str | int, steps: int) -> Phase:
    return DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps)


#: Runs, δ and options of `epsilon`: an order above 60, two phases, a fraction that is no decimal, p = 1, many digits.
CLAIMS: dict[str, tuple[list[Phase], str, int]] = {
    "order_5": ([_phase("1/100", 2, 8000)], "1e-6", 7),
    "large_order": ([_phase("0.01", "7.5", 500)], "1e-9", 6),
    "two_phases": ([_phase("0.01", 2, 8000), _phase("1/30", 6, 500)], "1e-6", 6),
    "order_2": ([_phase("256/60000", "1.1", 14063)], "1e-7", 6),
    "p_1": ([_phase(1, 30, 50)], "1e-5", 6),
    "p_1_and_less": ([_phase("0.01", 2, 800), _phase(1, 40, 20)], "1e-6", 6),
    "thirty_digits": ([_phase("0.0025", 2, 64000)], "1e-6", 30),
    "huge_moment": ([_phase("0.5", "0.001", 5)], "0.5", 6),
}


def _result(name: str) -> Result:
    phases, at_delta, digits = CLAIMS[name]
    return epsilon(phases, at_delta, method="single_pair_renyi", orders="integer", digits=digits)


def _coqc(path: Path) -> subprocess.CompletedProcess[str]:
    command = ["coqc", "-q", path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=120, check=False)


def _statement(text: str) -> tuple[int, Fraction, Fraction]:
    """Read order, δ and ε back from the theorem."""
    found = re.search(r"^Theorem claim : epsilon (\d+) run (\S+) <= (\S+)\.$", text, re.MULTILINE)
    assert found is not None
    return int(found[1]), Fraction(found[2]), Fraction(found[3])


def _lowered(text: str, epsilon: Fraction) -> str:
    return re.sub(r"^(Theorem claim : .* <= )\S+\.$", rf"\g<1>{epsilon}.", text, flags=re.MULTILINE)


@needs_coqc
@pytest.mark.parametrize("name", CLAIMS)
def test_coqc_accepts_the_claim_and_refuses_it_lowered(name: str, tmp_path: Path) -> None:
    """Coq proves the printed ε, and cannot conclude once 1e−5 is taken from it."""
    path, result = tmp_path / "claim.v", _result(name)
    write_coq(result, path)
    done = _coqc(path)
    assert (done.returncode, done.stderr) == (0, "")

    lowered = tmp_path / "lowered.v"
    text = _lowered(path.read_text(encoding="utf-8"), result.upper - Fraction(1, 10**5))
    lowered.write_text(text, encoding="utf-8")
    refused = _coqc(lowered)
    assert refused.returncode == 1
    assert "Numerical evaluation failed to conclude" in refused.stderr


@needs_coqc
def test_the_reference_claim_is_proved_at_six_decimals(tmp_path: Path) -> None:
    """At (1/100, 2, 8000, 1e−6) Coq proves ε ≤ 6.577713, and neither 1e−5 nor 1e−6 less."""
    phases = [_phase("1/100", 2, 8000)]
    for claim, proved in [("6.577713", True), ("6.577712", False), ("6.577703", False)]:
        path = tmp_path / "claim.v"
        path.write_text(coq_claim(phases, "1e-6", claim, 5), encoding="utf-8")
        assert (_coqc(path).returncode == 0) is proved


@needs_coqc
def test_the_proofs_rest_on_the_standard_library_alone(tmp_path: Path) -> None:
    """Print Assumptions lists the axioms that the header names and the kernel's integers; nothing is admitted."""
    path = tmp_path / "claim.v"
    text = coq_claim([_phase("1/100", 2, 8000)], "1e-6", "6.577713", 5)
    path.write_text(text + "Print Assumptions moment_is_expectation.\nPrint Assumptions claim.\n", encoding="utf-8")
    done = _coqc(path)
    assert (done.returncode, done.stderr) == (0, "")
    _, of_moment, of_claim = done.stdout.split("Axioms:")
    reals = {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
    }
    assert _names(of_moment) == reals
    integers = {name for name in _names(of_claim) if name.startswith(("PrimInt63.", "Uint63."))}
    assert _names(of_claim) - integers == reals | {"Classical_Prop.classic"}
    for name in (*reals, "Classical_Prop.classic"):
        module, axiom = name.split(".")
        assert module in text
        assert axiom in text


def _names(assumptions: str) -> set[str]:
    return set(re.findall(r"^([\w.]+)\s*:", assumptions, re.MULTILINE))


def test_the_claims_cover_orders_above_60() -> None:
    """Among the claims are the smallest order and one above 60."""
    orders = {_result(name).order or 0 for name in CLAIMS}
    assert min(orders) == 2
    assert 60 < max(orders) <= LARGEST_ORDER


@pytest.mark.parametrize("name", CLAIMS)
def test_the_file_states_what_was_printed(name: str, tmp_path: Path) -> None:
    """Order, δ and ε of the theorem, and the phases of the run, are the result's own, exactly; ε is rounded up."""
    path, result = tmp_path / "claim.v", _result(name)
    write_coq(result, path)
    text = path.read_text(encoding="utf-8")
    stated = _statement(text)
    assert result.order is not None
    assert stated == (int(result.order), result.given, Fraction(result.upper_decimal))
    assert stated[2] >= result.upper
    record = r"\{\| sampling_probability := (\S+); noise_multiplier := (\S+); steps := (\d+) \|\}"
    phases = [Phase(Fraction(p), Fraction(sigma), int(steps)) for p, sigma, steps in re.findall(record, text)]
    assert tuple(phases) == result.phases
    assert not re.search(r"\b(Axiom|Parameter|Conjecture|Admitted|admit|Abort)\b", text)
    assert "$" not in text


def test_only_what_the_file_proves_is_written(tmp_path: Path) -> None:
    """Other methods, quantities, conversions and real orders are refused in one line, and no file appears."""
    run = _phase("0.01", 2, 8000)
    few = _phase("0.0025", 2, 250)
    refused = {
        "method = 'theorem1'": epsilon(run, "1e-6", method="theorem1", max_order=6),
        "order = '": epsilon(run, "1e-6", method="single_pair_renyi"),
        "quantity = 'delta'": delta(run, 7, method="single_pair_renyi", orders="integer"),
        "quantity = 'rdp'": rdp(run, 5),
        "order: must be": Accountant().epsilon("1e-6", method="single_pair_renyi"),
        f"order = {LARGEST_ORDER + 1}": Result(
            "epsilon",
            (few,),
            Fraction(1, 2),
            "single_pair_renyi",
            Bound(Fraction(1), order=Fraction(LARGEST_ORDER + 1)),
            6,
        ),
        "epsilon = ": epsilon(few, "1e-6", method="single_pair_renyi", orders="integer", conversion="tangent"),
    }
    for start, result in refused.items():
        with pytest.raises(CertifiedDPError) as error:
            write_coq(result, tmp_path / "claim.v")
        assert str(error.value).startswith(start)
        assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_looser_conversion_is_written(tmp_path: Path) -> None:
    """Mironov's conversion gives a larger ε, which the file's own conversion proves too."""
    result = epsilon(
        _phase("0.01", 2, 8000), "1e-6", method="single_pair_renyi", orders="integer", conversion="mironov"
    )
    write_coq(result, tmp_path / "claim.v")
    assert _statement((tmp_path / "claim.v").read_text(encoding="utf-8"))[2] >= result.upper


@pytest.mark.parametrize(
    ("phases", "at_delta", "claim", "order"),
    [
        ([], "1e-6", 1, 5),
        ([_phase("0.01", 2, 0)], "1e-6", 1, 5),
        ([_phase("0.01", 2, 10)], 0, 1, 5),
        ([_phase("0.01", 2, 10)], 1, 1, 5),
        ([_phase("0.01", 2, 10)], "1e-6", -1, 5),
        ([_phase("0.01", 2, 10)], "1e-6", 1, 1),
        ([_phase("0.01", 2, 10)], "1e-6", 1, "5/2"),
        ([_phase("0.01", 2, 10)], "1e-6", 1, LARGEST_ORDER + 1),
    ],
)
def test_claims_outside_the_domain_are_refused(
    phases: list[Phase], at_delta: str | int, claim: int, order: str | int
) -> None:
    """An empty run, δ outside (0, 1), ε below 0 and orders that are no integer from 2 on are refused."""
    with pytest.raises(InvalidParameterError):
        coq_claim(phases, at_delta, claim, order)
