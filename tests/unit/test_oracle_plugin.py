"""The pytest plugin: verdicts, restrictions, the report, and a five-line test file from the wheel."""

import math
import os
import subprocess
import sys
import venv
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from certified_dp.errors import InvalidParameterError
from certified_dp.oracle.check import SIGNATURES, run, select
from certified_dp.oracle.plugin import CertifiedOracle
from certified_dp.oracle.settings import FLAGS

FIVE_LINES = """from certified_dp import DPSGD, epsilon
def mine(p, sigma, steps, delta):
    return float(epsilon(DPSGD(sampling_probability=p, noise_multiplier=sigma, steps=steps), delta).upper)
def test_mine(certified_oracle):
    certified_oracle.check(mine, relation="replace_one", noise_multiplier_convention="clip_norm", classes=["domain"])
"""


def _nothing(p: float, sigma: float, order: float) -> float:
    return 0.0


@pytest.mark.certified_oracle(classes=["tiny_probability"], cost="low", max_cases=9)
def test_markers_restrict_the_cases(certified_oracle: CertifiedOracle) -> None:
    """By class, cost and number; an argument wins over the marker."""

    def infinite(p: float, sigma: float, order: float) -> float:
        return math.inf

    options: dict[str, Any] = {
        "relation": "replace_one",
        "noise_multiplier_convention": "clip_norm",
        "question": "renyi",
    }
    report = certified_oracle.check(infinite, **options)
    assert len(report.outcomes) == 9
    for outcome in report.outcomes:
        assert "tiny_probability" in outcome.case.flags
        assert outcome.case.cost == "low"
    assert len(certified_oracle.check(infinite, **options, max_cases=4).outcomes) == 4


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"relation": "add_or_remove_one"}, "relation"),
        ({"noise_multiplier_convention": "batch"}, "noise_multiplier_convention"),
        ({"question": "zcdp"}, "question"),
        ({"classes": ["unheard_of"]}, "classes"),
        ({"classes": ["composition"]}, "classes"),
        ({"cost": "free"}, "cost"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    certified_oracle: CertifiedOracle, options: dict[str, Any], name: str
) -> None:
    """Another relation, convention, question or restriction is a mistake, not a pass."""
    arguments: dict[str, Any] = {
        "relation": "replace_one",
        "noise_multiplier_convention": "clip_norm",
        "question": "renyi",
    }
    with pytest.raises(InvalidParameterError, match=name):
        certified_oracle.check(_nothing, **{**arguments, **options})


@pytest.mark.parametrize("question", SIGNATURES)
def test_every_question_has_cases(question: str) -> None:
    """And the worst answer is judged unsound in each (0, or no noise at all)."""
    cases = [case for case in select(question, max_cases=20) if not case.must_refuse and case.bracket[0] > 0]
    report = run(lambda *arguments: 0, cases, noise_multiplier_convention="clip_norm")
    assert {outcome.word for outcome in report.outcomes} == {"unsound"}


def test_worst_cases_come_first() -> None:
    """Unsound before loose, larger distances before smaller ones."""
    cases = select("renyi", max_cases=30)

    def wrong(p: Fraction, sigma: Fraction, order: Fraction) -> float:
        return 0.0 if order > 100 else math.inf if order < 2 else 1.0

    report = run(wrong, cases, noise_multiplier_convention="clip_norm", numbers="exact")
    rows = report.table(rows=30).splitlines()[1:]
    words = [row.split()[0] for row in rows]
    assert words == sorted(words, reverse=True)
    assert words[0] == "unsound"
    excesses = [abs(outcome.excess) for outcome in report.having("loose")]
    assert excesses == sorted(excesses, reverse=True)


@pytest.mark.parametrize("answer", [math.nan, -math.inf, None, "3", 1j])
def test_what_is_no_number_is_unsound(answer: object) -> None:
    """NaN compares false with every budget, so it passes where it should not."""
    [case] = select("renyi", max_cases=1)
    report = run(lambda *arguments: answer, [case], noise_multiplier_convention="clip_norm")
    assert report.word == "unsound"


def test_refusing_a_valid_case_is_loose_without_bound() -> None:
    """An exception is no false promise, but no answer either."""
    [case] = select("renyi", max_cases=1)
    report = run(lambda *arguments: 1 / 0, [case], noise_multiplier_convention="clip_norm")
    assert report.word == "loose"
    assert report.largest_excess == math.inf
    assert "ZeroDivisionError" in report.table()


def test_the_domain_cases() -> None:
    """An exception and ∞ are right, a number is not, and nothing released costs nothing."""
    cases = select("epsilon", classes=["domain"])
    assert len(cases) >= 50
    refusing = run(lambda *arguments: 1 / 0, cases, noise_multiplier_convention="clip_norm")
    assert refusing.word == "consistent"
    infinite = run(lambda *arguments: math.inf, cases, noise_multiplier_convention="clip_norm")
    assert infinite.word == "consistent"
    zero = run(lambda *arguments: 0, cases, noise_multiplier_convention="clip_norm")
    right = [outcome.case.parameters for outcome in zero.outcomes if outcome.word == "consistent"]
    assert right
    assert all("0" in (parameters["steps"], parameters["sampling_probability"]) for parameters in right)


def test_every_flag_is_asked_somewhere() -> None:
    """Every bug class can be chosen for some question."""
    for flag in FLAGS:
        assert any(select(question, classes=[flag]) for question in SIGNATURES)


def _pytest(python: Path | str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))}
    command = [str(python), "-m", "pytest", "-q", "-v", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_the_fixture_needs_five_lines(tmp_path: Path) -> None:
    """A test file of five lines passes for a right accountant, and fails with a table for a wrong one."""
    tmp_path.joinpath("test_right.py").write_text(FIVE_LINES, encoding="utf-8")
    passed = _pytest(sys.executable, tmp_path)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "64 cases, 0 unsound, 64 consistent" in passed.stdout
    wrong = FIVE_LINES.replace("    return ", "    return 1.0 #")
    tmp_path.joinpath("test_right.py").write_text(wrong, encoding="utf-8")
    failed = _pytest(sys.executable, tmp_path)
    assert failed.returncode == 1
    assert "to be refused" in failed.stdout


@pytest.mark.slow
def test_five_lines_work_from_the_wheel(tmp_path: Path) -> None:
    """Build the wheel, install it and pytest into an empty environment, run the five lines (needs a package index)."""
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path / "dist"), str(root)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = tmp_path.joinpath("dist").glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", str(wheel), "pytest"], check=True, capture_output=True)
    tests = tmp_path / "tests"
    tests.mkdir()
    tests.joinpath("test_right.py").write_text(FIVE_LINES, encoding="utf-8")
    result = _pytest(python, tests)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "64 cases, 0 unsound, 64 consistent" in result.stdout
