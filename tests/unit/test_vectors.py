"""The shipped test vectors: closed format, canonical bytes, made again, verified by other means, listed."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from certified_dp.cli import cli
from certified_dp.oracle.generate import case
from certified_dp.oracle.settings import FLAGS, GROUPS, Group
from certified_dp.oracle.vectors import VectorFormatError, all_cases, canonical_bytes, parse, read_file, vector_files
from certified_dp.oracle.verify import verify

#: Groups whose cases take milliseconds.
QUICK = ("renyi", "renyi_theorem1", "hockey_stick", "epsilon_one_step", "epsilon_gaussian", "limits", "refuse")


def test_there_are_enough_cases_and_every_bug_class_has_some() -> None:
    """At least 1,500 cases, unique names, every flag used."""
    cases = all_cases()
    assert len(cases) >= 1500
    assert len({case.identifier for case in cases}) == len(cases)
    assert {flag for case in cases for flag in case.flags} == set(FLAGS)
    assert {case.group for case in cases} == {group.name for group in GROUPS}


@pytest.mark.parametrize("name", [f"{group.name}.json" for group in GROUPS])
def test_every_file_is_canonical_and_keeps_to_the_schema(name: str) -> None:
    """Reading checks both; every flag of a case is explained in its file."""
    content = read_file(name)
    assert name in vector_files()
    assert {flag for item in content["cases"] for flag in item["flags"]} == set(content["flags"])
    assert content["flags"].items() <= FLAGS.items()
    assert "2C" in content["noise_multiplier_convention"]


@pytest.mark.parametrize("name", [f"{group.name}.json" for group in GROUPS])
def test_brackets_are_not_empty(name: str) -> None:
    """Each is ordered, and at least 0."""
    for item in all_cases():
        if item.group == name.removesuffix(".json") and not item.must_refuse:
            low, high = item.bracket
            assert 0 <= low <= high


def _groups(names: tuple[str, ...]) -> list[Group]:
    return [group for group in GROUPS if group.name in names]


@pytest.mark.parametrize("group", _groups(QUICK), ids=lambda group: group.name)
def test_a_sample_is_made_again_byte_for_byte(group: Group) -> None:
    """The generator gives the shipped bytes."""
    shipped, requests = read_file(f"{group.name}.json")["cases"], group.requests()
    assert len(shipped) == len(requests)
    for index in range(0, len(requests), max(1, len(requests) // 20)):
        made = case(group, index, requests[index])
        assert canonical_bytes({"cases": [made]}) == canonical_bytes({"cases": [shipped[index]]})


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_everything_is_made_again_byte_for_byte(group: Group, tmp_path: Path) -> None:
    """The generator gives the shipped files."""
    from certified_dp.oracle.generate import write
    from certified_dp.oracle.vectors import folder

    write(group, tmp_path)
    name = f"{group.name}.json"
    assert tmp_path.joinpath(name).read_bytes() == folder().joinpath(name).read_bytes()


def _sample(name: str, count: int) -> list[str]:
    found = [item.identifier for item in all_cases() if item.group == name]
    return [found[(2 * index + 1) * len(found) // (2 * count)] for index in range(count)]


_QUICKLY_VERIFIED = ("renyi", "hockey_stick", "epsilon_one_step", "epsilon_gaussian", "limits", "refuse")


@pytest.mark.parametrize("identifier", [name for group in _QUICKLY_VERIFIED for name in _sample(group, 3)])
def test_a_sample_agrees_with_the_independent_verifier(identifier: str) -> None:
    """A value from the definitions, by mpmath at 60 digits, lies in the bracket."""
    [chosen] = [item for item in all_cases() if item.identifier == identifier]
    assert verify(chosen) is True


@pytest.mark.slow
@pytest.mark.parametrize("group", [group.name for group in GROUPS])
def test_a_larger_sample_agrees_with_the_independent_verifier(group: str) -> None:
    """Composed runs too, by an inverse Mellin transform of the one-step moments."""
    for identifier in _sample(group, 8):
        [chosen] = [item for item in all_cases() if item.identifier == identifier]
        assert verify(chosen) is not False


def test_the_verifier_notices_a_wrong_answer() -> None:
    """A bracket shifted by a millionth of its value is refused."""
    from dataclasses import replace

    for group in ("renyi", "hockey_stick", "epsilon_one_step"):
        [right] = [item for item in all_cases() if item.identifier == _sample(group, 3)[1]]
        low, high = (Fraction(right.expected[end]) * Fraction(1_000_001, 1_000_000) for end in ("lo", "hi"))
        wrong = replace(right, expected={"lo": str(low), "hi": str(high)})
        assert verify(wrong) is False


def _spoil(change: Callable[[dict[str, Any]], object]) -> bytes:
    content = copy.deepcopy(read_file("limits.json"))
    change(content)
    return canonical_bytes(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(extra=1), "extra is not allowed"),
        (lambda content: content.pop("source"), "source is missing"),
        (lambda content: content.update(format="certified-dp-vectors/2"), "certified-dp-vectors/1"),
        (lambda content: content["cases"][0].update(note="x"), "note is not allowed"),
        (lambda content: content["cases"][0].update(flags=[]), "too few items"),
        (lambda content: content["cases"][0].update(flags=["unheard_of"]), "is not one of"),
        (lambda content: content["cases"][0].update(flags=["grid", "grid"]), "repeated"),
        (lambda content: content["cases"][0]["expected"].update(lo="0,1"), "does not match"),
        (lambda content: content["cases"][0]["parameters"].update(nu="0.01"), "does not match"),
        (lambda content: content["cases"][0].update(id=7), "is not a string"),
        (lambda content: content.update(cases=[]), "too few items"),
    ],
)
def test_the_format_is_closed(change: Callable[[dict[str, Any]], object], message: str) -> None:
    """Anything that the schema does not name is refused, with the place."""
    with pytest.raises(VectorFormatError, match=message):
        parse(_spoil(change), "limits.json")


def test_other_bytes_are_refused() -> None:
    """Floats, NaN, broken JSON, and the same content in another form."""
    content = read_file("limits.json")
    for data, message in (
        (b"{", "limits.json"),
        (b'{"cases": 1.5}', "integers"),
        (b'{"cases": NaN}', "integers"),
        (json.dumps(content).encode(), "canonical"),
    ):
        with pytest.raises(VectorFormatError, match=message):
            parse(data, "limits.json")


def test_the_command_lists_them() -> None:
    """certified-dp vectors names every file, explains every flag, and gives JSON."""
    runner = CliRunner()
    listed = runner.invoke(cli, ["vectors"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in vector_files())
    assert str(len(all_cases())) in listed.output
    explained = runner.invoke(cli, ["vectors", "--flags"]).output
    assert all(flag in explained for flag in FLAGS)
    described = json.loads(runner.invoke(cli, ["vectors", "--json"]).output)
    assert sum(item["cases"] for item in described["files"]) == len(all_cases())
    assert Path(runner.invoke(cli, ["vectors", "--path"]).output.strip()).joinpath("schema.json").is_file()
