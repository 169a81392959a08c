"""Certificates that the library writes are verified by the checker, which knows nothing of the library."""

import importlib.util
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certified_dp import DPSGD, epsilon
from certified_dp.certificate import CERTIFIABLE, certificate
from certified_dp.cli import main
from certified_dp.cli.certify import checker_path
from certified_dp.divergence.curvature import curvature_bound, curvature_bound_uniform
from certified_dp.errors import CertifiedDPError, InvalidParameterError, ResourceLimitError
from certified_dp.paper.tables import paper_rows
from certified_dp.parameters import Phase
from certified_dp.result import Bound, Result
from certified_dp.witnesses import decimal_between
from proofs_checks import checker

#: How each method is asked for the paper's tables.
HOW: dict[str, dict[str, Any]] = {
    "theorem1": {"method": "theorem1", "orders": "integer", "max_order": 256},
    "single_pair_renyi": {"method": "single_pair_renyi"},
}
#: Every row of the tables for which the paper prints a number by theorem1.
ROWS = [row for row in paper_rows() if row["T_relation"] == "eq" and not row["ours"].startswith(">")]
#: (p, σ, T, δ), and whether the test is fast.
HINGE = [
    ("0.01", "2", 8000, "1e-6", False), ("0.0025", "2", 64000, "1e-6", False), ("0.01", "2", 32000, "1e-6", False),
    ("0.0025", "4", 8000, "1e-6", False), ("0.04", "6", 1000, "1e-8", True), ("0.0025", "1", 250, "1e-6", True),
    ("256/60000", "1.1", 14063, "1e-7", False), ("0.125", "0.8", 1000, "1e-6", False), ("1", "3", 5, "1e-5", True),
    ("0.01", "50", 100, "1e-30", False), ("0.5", "2", 1, "1e-3", True),
]  # fmt: skip


def machinery() -> Any:
    """Load the mutation machinery of the test module beside this one."""
    spec = importlib.util.spec_from_file_location("machinery", Path(__file__).with_name("test_certificates.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(p: str, sigma: str, steps: int | str) -> Phase:
    """Describe a run."""
    return DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps)


def verify(result: Result) -> Fraction:
    """Have the checker verify a result's certificate; return the claim's ε."""
    written = certificate(result)
    claim = checker.parse(written.claim_text, checker.CLAIM)
    checker.check(claim, checker.parse(written.certificate_text, checker.CERTIFICATE))
    numbers = [tuple(phase.values()) for phase in claim["phases"]]
    assert numbers == [(p.sampling_probability, p.noise_multiplier, p.steps) for p in result.phases]
    assert claim["delta"] == result.given
    claimed = Fraction(claim["epsilon"])
    assert claimed >= result.upper
    return claimed


def unit(result: Result) -> Fraction:
    """Return an upper bound for a unit in the last printed digit."""
    return Fraction(result.upper_decimal) * Fraction(1, 10 ** (result.digits - 1))


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "delta", "how"),
    [
        ("0.01", "2", 8000, "1e-6", {"orders": "integer"}),
        ("0.01", "2", 8000, "1e-6", {"digits": 30}),
        ("0.2", "1", 500, "1e-5", {}),
        ("0.125", "0.8", 1000, "1e-6", {}),
        ("0.5", "0.05", 1, "1e-6", {}),
        ("1e-12", "1", 10**9, "1e-5", {}),
        ("0.01", "2", 10**9, "1e-6", {}),
        ("0.01", "50", 100, "1e-300", {"max_order": 2048}),
        ("0.0025", "2", 250, "1e-6", {"conversion": "tangent"}),
        ("0.3", "1", 250, "1e-6", {"conversion": "tangent"}),
        ("1e-6", "2", 10, "1e-9", {"conversion": "tangent"}),
        ("0.0025", "2", 250, "1e-6", {"conversion": "mironov"}),
        ("1", "3", 5, "1e-5", {}),
    ],
)
def test_single_pair_claims_are_the_printed_bounds(p: str, sigma: str, steps: int, delta: str, how: Any) -> None:
    """The claim is the printed ε, or one unit of its last digit more, and the checker proves it."""
    result = epsilon(run(p, sigma, steps), delta, method="single_pair_renyi", **how)
    assert verify(result) <= Fraction(result.upper_decimal) + unit(result)


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "delta", "how"),
    [
        ("0.01", "2", 8000, "1e-6", {}),
        ("0.04", "6", 1000, "1e-8", {"digits": 12}),
        ("0.04", "8", 64000, "1e-8", {}),
        ("0.01", "2", 10**9, "1e-6", {}),
        ("0.7", "3", 5, "1e-5", {}),
        ("0.0025", "2", 250, "1e-6", {"conversion": "tangent"}),
    ],
)
def test_theorem1_claims_are_the_printed_bounds(p: str, sigma: str, steps: int, delta: str, how: Any) -> None:
    """Cells that cover [0, 1/2] prove the printed ε of Theorem 1."""
    result = epsilon(run(p, sigma, steps), delta, method="theorem1", **how)
    assert verify(result) <= Fraction(result.upper_decimal) + unit(result)


def test_theorem1_at_large_orders_needs_no_cells() -> None:
    """Where (19) holds, Proposition 2 (a) replaces the cells."""
    bound = Bound(Fraction(5000), order=Fraction(8), conversion="balle")
    result = Result("epsilon", (run("0.0025", "1", 250),), Fraction(1, 10**6), "theorem1", bound, 6)
    assert "theorem1_at_zero" in [step["rule"] for step in certificate(result).certificate["steps"]]
    assert verify(result) == 5000


@pytest.mark.parametrize("method", ["single_pair_renyi", "theorem1", "kl_hinge"])
def test_phases_are_composed(method: str) -> None:
    """Several phases, one of them with full batches, make one claim."""
    phases = [run("0.01", "4", 300), run("0.02", "3", 100), run("1", "20", 10)]
    result = epsilon(phases, "1e-6", method=method)
    assert verify(result) <= result.upper * Fraction(1005, 1000)


def test_full_batches_are_exact() -> None:
    """The Gaussian curve is claimed by the default method, for a tiny δ too."""
    for delta in ("1e-5", "1e-300"):
        result = epsilon(run("1", "3", 5), delta)
        assert result.method == "gaussian"
        assert verify(result) <= Fraction(result.upper_decimal) + unit(result)


@pytest.mark.parametrize(
    ("p", "sigma", "steps", "delta"),
    [pytest.param(*case[:4], marks=[] if case[4] else [pytest.mark.slow]) for case in HINGE],
)
def test_kl_hinge_is_proved_on_a_coarser_lattice(p: str, sigma: str, steps: int, delta: str, tmp_path: Path) -> None:
    """The claim is at most 0.5% above the bound, and checked in less than a minute."""
    result = epsilon(run(p, sigma, steps), delta, method="kl_hinge")
    status, seconds, size = checked(result, tmp_path)
    claimed = Fraction(json.loads((tmp_path / "run.claim.json").read_text(encoding="utf-8"))["epsilon"])
    print(f"p={p} σ={sigma} T={steps} δ={delta}: ε ≤ {float(claimed):.7g}, {seconds:.1f} s, {size} bytes")
    assert status == 0
    assert result.upper <= claimed <= result.upper * Fraction(1005, 1000) + unit(result)
    assert seconds < 60


def processor_seconds() -> float:
    """Return what child processes have used so far."""
    used = os.times()
    return used.children_user + used.children_system


def checked(result: Result, folder: Path) -> tuple[int, float, int]:
    """Write a certificate and check it by a fresh interpreter without third-party packages.

    Returns: exit status, processor seconds, bytes of the two files.
    """
    paths = certificate(result).write(folder / "run")
    started = processor_seconds()
    command = [sys.executable, "-I", "-S", str(checker_path()), *map(str, paths)]
    status = subprocess.run(command, check=False, capture_output=True).returncode
    return status, processor_seconds() - started, sum(path.stat().st_size for path in paths)


def row_result(row: dict[str, str], method: str) -> Result:
    """Answer a row of the paper's tables."""
    return epsilon(run(row["p"], row["sigma"], row["T"]), row["delta"], **HOW[method])


@pytest.mark.parametrize("method", HOW)
def test_sampled_table_rows_are_verified_by_a_lone_checker(method: str, tmp_path: Path) -> None:
    """Rows of the paper's tables: the claim is the printed ε; the certificate is small."""
    for row in ROWS[5::60]:
        result = row_result(row, method)
        status, _, size = checked(result, tmp_path)
        assert status == 0, row
        assert size < 200_000


@pytest.mark.slow
@pytest.mark.parametrize("method", HOW)
def test_all_table_rows_are_verified_by_a_lone_checker(method: str, tmp_path: Path) -> None:
    """Every row; at least 95% of the certificates are below 200 kB and checked in less than 10 s."""
    measured = []
    for row in ROWS:
        status, seconds, size = checked(row_result(row, method), tmp_path)
        assert status == 0, row
        measured.append((seconds, size))
    easy = sum(seconds < 10 and size < 200_000 for seconds, size in measured)
    seconds, sizes = (sum(column) for column in zip(*measured, strict=True))
    print(f"{method}: {len(ROWS)} certificates, {sizes} bytes, {seconds:.0f} s; {easy} small and fast")
    assert easy >= len(ROWS) * 95 / 100


@pytest.mark.parametrize(
    ("p", "sigma", "order"), [("0.0025", "1", 3), ("0.01", "2", 5), ("0.7", "3", 6), ("0.0025", "8", 60)]
)
def test_checkers_curvature_is_the_librarys(p: str, sigma: str, order: int) -> None:
    """Two programs bound |(log F)''| in the same way, so that cells chosen here are closed there."""
    claim = {"version": 1, "adjacency": "replace_one", "delta": "1e-5", "epsilon": "1",
             "phases": [{"sampling_probability": p, "noise_multiplier": sigma, "steps": 1}]}  # fmt: skip
    proof = checker.Proof(checker.parse(json.dumps(claim), checker.CLAIM))
    checker.Interval.bits = 128
    uniform = curvature_bound_uniform(Fraction(sigma), order) * (order - 1)
    assert proof._kappa(0, Fraction(order), Fraction(0)) == uniform
    for right in (Fraction(1, 2), Fraction(3, 16), Fraction(1, 1024)):
        there = proof._kappa(0, Fraction(order), right)
        here = curvature_bound(Fraction(sigma), Fraction(p), order, right) * (order - 1)
        assert uniform <= min(here, there) or here <= there * (1 + Fraction(1, 10**9)) <= here * (
            1 + Fraction(1, 10**8)
        )


@pytest.mark.parametrize(
    ("method", "how", "p", "sigma", "steps", "delta"),
    [
        ("single_pair_renyi", {"orders": "integer"}, "0.01", "2", 8000, "1e-6"),
        ("single_pair_renyi", {"orders": "integer", "conversion": "tangent"}, "0.1", "2", 100, "1e-6"),
        pytest.param("single_pair_renyi", {}, "0.01", "2", 8000, "1e-6", marks=pytest.mark.slow),
        pytest.param("theorem1", {}, "0.04", "8", 64000, "1e-8", marks=pytest.mark.slow),
        pytest.param("kl_hinge", {}, "0.04", "6", 1000, "1e-8", marks=pytest.mark.slow),
    ],
)
def test_mutants_are_refused(method: str, how: Any, p: str, sigma: str, steps: int, delta: str) -> None:
    """Field by field: no mutant of a written certificate proves a stronger claim or shows less."""
    written = certificate(epsilon(run(p, sigma, steps), delta, method=method, digits=12, **how))
    count, verified = machinery().mutate_pair(method, written.claim, written.certificate)
    print(f"{count} mutants; {verified} still prove their claims")
    assert count >= 100
    assert verified < count / 4


@given(
    st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6),
    st.fractions(Fraction(1, 2), 50, max_denominator=100),
    st.integers(1, 10**6),
    st.integers(1, 14),
    st.sampled_from(["balle", "mironov"]),
    st.sampled_from(["integer", "real"]),
)
def test_any_run_can_be_certified(
    p: Fraction, sigma: Fraction, steps: int, delta_digits: int, conversion: str, orders: str
) -> None:
    """Whatever the run, the checker proves the printed single-pair bound."""
    phase = DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps)
    how: Any = {"conversion": conversion, "orders": orders, "max_order": 200}
    result = epsilon(phase, Fraction(1, 10**delta_digits), method="single_pair_renyi", **how)
    assert verify(result) <= Fraction(result.upper_decimal) + unit(result)


@pytest.mark.parametrize("method", ["lossless", "wang", "birrell"])
def test_other_methods_are_refused(method: str) -> None:
    """The refusal is one line that names the methods that can be certified."""
    bound = epsilon(run("0.01", "2", 10), "1e-6", method="single_pair_renyi").bound
    result = Result("epsilon", (run("0.01", "2", 10),), Fraction(1, 10**6), method, bound, 6)
    with pytest.raises(InvalidParameterError, match=f"method = '{method}': must be one of {', '.join(CERTIFIABLE)}"):
        result.certificate()


def test_what_the_format_has_no_room_for_is_refused() -> None:
    """No steps, another quantity, and numbers out of range."""
    good = epsilon(run("0.01", "2", 10), "1e-6", method="single_pair_renyi")
    for phases, quantity, name in (
        ((), "epsilon", "run"),
        (good.phases, "delta", "quantity"),
        ((run("1e-19", "2", 10),), "epsilon", "sampling_probability"),
        ((run("0.1", "1/101", 10),), "epsilon", "noise_multiplier"),
        ((run("0.1", "2", 10**13),), "epsilon", "steps"),
        ((run(f"1/{10**400 + 1}", "2", 10),), "epsilon", "sampling_probability"),
    ):
        result = Result(quantity, phases, good.given, good.method, good.bound, 6)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError, match=f"^{name}"):
            certificate(result)
    with pytest.raises(ResourceLimitError, match="tangent"):
        certificate(epsilon(run("0.5", "1", 10**5), "1e-6", method="single_pair_renyi", conversion="tangent"))
    with pytest.raises(InvalidParameterError, match=r"^order"):
        certificate(epsilon(run("0.01", "50", 100), "1e-300", method="single_pair_renyi"))


def test_writing_leaves_no_partial_file(tmp_path: Path) -> None:
    """Where one file cannot be written, neither is there."""
    written = certificate(epsilon(run("0.01", "2", 10), "1e-6", method="single_pair_renyi"))
    (tmp_path / "run.cert.json").mkdir()
    with pytest.raises(CertifiedDPError, match="output"):
        written.write(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run.cert.json"]


def test_decimal_between_is_the_shortest() -> None:
    """The decimal lies between the two numbers, also where they are far from 1."""
    for low in (Fraction(0), Fraction(1, 3), Fraction(10**30, 7), Fraction(1, 7 * 10**200)):
        for width in (Fraction(1, 10), Fraction(1, 10**30)):
            high = low * (1 + width)
            assert low <= Fraction(decimal_between(low, high)) <= high


def command_line(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line in this process; return the exit status."""
    monkeypatch.setattr(sys, "argv", ["certified-dp", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_commands_write_and_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Certify writes two files and prints the claim; check passes the checker's exit status through."""
    monkeypatch.chdir(tmp_path)
    asked = ["--sampling-probability", "0.01", "--noise-multiplier", "2", "--steps", "8000", "--delta", "1e-6",
             "--method", "single_pair_renyi", "--orders", "integer"]  # fmt: skip
    assert command_line(["certify", *asked, "-o", "run"], monkeypatch) == 0
    assert "claim: the run is (6.57772, 1e-06)-DP, single_pair_renyi" in capfd.readouterr().out
    assert command_line(["check", "run.claim.json", "run.cert.json"], monkeypatch) == 0
    assert capfd.readouterr().out.startswith("VERIFIED: ")
    claim = tmp_path / "run.claim.json"
    claim.write_text(claim.read_text(encoding="utf-8").replace("6.57772", "6.57771"), encoding="utf-8")
    assert command_line(["check", "run.claim.json", "run.cert.json"], monkeypatch) == 1
    assert command_line(["check", "run.claim.json", "nowhere.json"], monkeypatch) == 2
    assert command_line(["certify", *asked, "--json", "-o", "other"], monkeypatch) == 0
    answer = capfd.readouterr().out.splitlines()[-1]
    assert json.loads(answer) == {
        "epsilon": "6.57772", "method": "single_pair_renyi", "files": ["other.claim.json", "other.cert.json"]
    }  # fmt: skip
    assert command_line(["certify", *asked, "--format", "coq", "-o", "claim.v"], monkeypatch) == 0
    assert "Theorem claim : epsilon 5 run 1e-06 <= 6.57772." in (tmp_path / "claim.v").read_text(encoding="utf-8")
    assert command_line(["certify", *asked, "--format", "pdf", "-o", "claim"], monkeypatch) == 2
    assert command_line(["certify", *asked, "-o", "no/such/folder"], monkeypatch) == 2


def test_console_script_does_not_import_the_package(tmp_path: Path) -> None:
    """certified-dp-check runs the checker's main without loading certified_dp."""
    paths = certificate(epsilon(run("0.01", "2", 10), "1e-6", method="single_pair_renyi")).write(tmp_path / "run")
    code = (
        "import sys; from proofs_checks.checker import main; status = main(sys.argv[1:]); "
        "sys.exit(status or 'certified_dp' in sys.modules or 'flint' in sys.modules)"
    )
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=checker_path().parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
