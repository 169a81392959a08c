"""All accountants side by side: rows, bracket, differences to lossless, refusals, and the command."""

import json
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from certified_dp import DPSGD, comparison, epsilon
from certified_dp.cli import main
from certified_dp.comparison import compare
from certified_dp.errors import InvalidParameterError, ResourceLimitError
from certified_dp.methods import METHODS
from certified_dp.result import Bound

RUN = DPSGD(sampling_probability="0.01", noise_multiplier=2, steps=200)
ARGUMENTS = (
    "compare",
    "--sampling-probability",
    "0.01",
    "--noise-multiplier",
    "2",
    "--steps",
    "200",
    "--delta",
    "1e-6",
)
RENYI = {name: METHODS[name] for name in ("theorem1", "birrell", "wang", "single_pair_renyi")}


def answers(bound: Bound | None) -> dict[Any, Any]:
    """Return a method that always answers ``bound``, or refuses."""

    def question(*_: Any) -> Bound:
        if bound is None:
            raise ResourceLimitError("too much")
        return bound

    return {"epsilon": question, "delta": question}


@pytest.fixture
def methods(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let comparisons see the Rényi methods, and what a test adds."""
    table = dict(RENYI)
    monkeypatch.setattr(comparison, "METHODS", table)
    monkeypatch.setattr("certified_dp.accountant.METHODS", table)
    return table


def test_every_method_has_a_row_with_the_librarys_bound(methods: dict[str, Any]) -> None:
    """Each row is that method's own answer; the best is the smallest; times are not negative."""
    result = compare(RUN, "1e-6")
    assert [row.method for row in result.rows] == list(methods)
    for row in result.rows:
        assert row.result is not None
        assert row.result.upper == epsilon(RUN, "1e-6", method=row.method).upper == result.best.bounds[row.method].upper
        assert row.result.upper >= result.best.upper
        assert row.seconds >= 0
        assert result.relative_difference(row.method) is None
    assert result.best.method == "single_pair_renyi"
    assert result.best.floor is None


def test_differences_enclose_every_lossless_value(methods: dict[str, Any]) -> None:
    """The interval holds upper/lossless − 1 for both ends of lossless; none is claimed where it may be 0."""
    methods["lossless"] = answers(Bound(Fraction(2), Fraction(19, 10)))
    result = compare(RUN, "1e-6")
    low, high = result.relative_difference("wang") or (None, None)
    upper = result.best.bounds["wang"].upper
    assert (low, high) == (upper / 2 - 1, upper * 10 / 19 - 1)
    assert result.relative_difference("lossless") is None
    methods["lossless"] = answers(Bound(Fraction(2), Fraction(0)))
    assert compare(RUN, "1e-6").relative_difference("wang") is None


def test_a_refusal_is_shown_and_the_floor_never_wins(methods: dict[str, Any]) -> None:
    """A method that raises has its reason in its row; the floor bounds from below only."""
    methods["kl_hinge"] = answers(None)
    methods["floor"] = answers(Bound(Fraction(1, 9), Fraction(1, 10)))
    result = compare(RUN, "1e-6")
    refused = next(row for row in result.rows if row.method == "kl_hinge")
    assert (refused.result, refused.error) == (None, "too much")
    assert result.best.method == "single_pair_renyi"
    assert result.best.floor == Fraction(1, 10)
    assert "floor" not in result.best.bounds


def test_full_batches_no_steps_and_bad_input(methods: dict[str, Any]) -> None:
    """With p = 1 there is an exact Gaussian row; no steps is ε = 0; bad input is refused as a whole."""
    full = compare(DPSGD(sampling_probability=1, noise_multiplier=3, steps=50), "1e-5").best
    assert full.method == "gaussian"
    assert full.floor is not None
    assert full.floor <= full.upper <= full.floor * (1 + Fraction(1, 10**5))
    assert compare(replace(RUN, steps=0), "1e-5").best.upper == 0
    with pytest.raises(InvalidParameterError, match="orders"):
        compare(RUN, "1e-6", orders="some")


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


def test_command(command: Any, methods: dict[str, Any]) -> None:
    """The print has a line for each method, differences that are settled with ~, others as intervals."""
    methods["kl_hinge"] = answers(None)
    methods["lossless"] = answers(Bound(Fraction(2), Fraction(199, 100)))
    status, out, err = command(*ARGUMENTS)
    assert (status, err) == (0, "")
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert set(lines) == {"method", *methods}
    assert "refused: too much" in lines["kl_hinge"]
    assert "% " in lines["wang"]
    assert " to " in lines["wang"]
    methods["lossless"] = answers(Bound(Fraction(2), Fraction(2)))
    assert "~" in command(*ARGUMENTS)[1]
    answer = json.loads(command(*ARGUMENTS, "--json")[1])
    assert answer["bounds"]["kl_hinge"]["error"] == "too much"
    wang = answer["bounds"]["wang"]
    low, high = map(Fraction, wang["relative_difference"])
    upper = epsilon(RUN, "1e-6", method="wang").upper
    assert low <= upper / 2 - 1 <= high
    assert Fraction(wang["upper"]) >= upper
