"""The paper's tables: the entries are the library's numbers, and the marks are where the print differs."""

import csv
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from certified_dp import DPSGD, epsilon
from certified_dp.cli import main
from certified_dp.composition.lossless import lossless_epsilon
from certified_dp.errors import InvalidParameterError
from certified_dp.paper.table_text import FORMATS, as_markdown, as_text, fixed, footnotes, plain_rows
from certified_dp.paper.tables import COLUMNS, DIFFERENCES, Entry, TableRow, certify, paper_rows, table
from certified_dp.parameters import as_phases

#: Rows that take little time: of Tables 1, 2 and 3.
CHEAP = [("1", "1", "250"), ("2", "4", "500"), ("3", "1", "250")]
PRINTED = [row for row in paper_rows() if (row["table"], row["sigma"], row["T"]) in CHEAP]


@pytest.fixture(scope="module")
def rows() -> list[TableRow]:
    """Compute a few rows of the tables for real."""
    with ThreadPoolExecutor(1) as executor:
        return certify(PRINTED, executor=executor)


def test_entries_are_the_librarys(rows: list[TableRow]) -> None:
    """The paper's Rényi columns use integer orders up to 256; upper ends are never below the library's bound."""
    for row in rows:
        run = DPSGD(
            sampling_probability=row.sampling_probability, noise_multiplier=row.noise_multiplier, steps=row.steps
        )
        for column in ("theorem1", "wang", "birrell"):
            bound = epsilon(run, row.delta, method=column, orders="integer", max_order=256, digits=9)
            entry = row.entries[column]
            assert entry.lower is not None
            assert entry.upper is not None
            assert bound.bound.lower is not None
            assert entry.lower <= bound.bound.lower <= bound.upper <= entry.upper
            assert entry.upper - entry.lower < entry.upper / 10**7


def test_every_row_is_bracketed(rows: list[TableRow]) -> None:
    """The floor is below every upper bound, the KL hinge below the paper's bound, and nothing failed."""
    for row in rows:
        assert not [entry.error for entry in row.entries.values() if entry.error]
        floor = row.entries["floor"].lower
        assert floor is not None
        uppers = {name: row.entries[name].upper for name in COLUMNS if name != "floor"}
        assert all(upper is not None and floor < upper for upper in uppers.values())
        assert uppers["kl_hinge"] < uppers["single_pair_renyi"] <= uppers["theorem1"]  # type: ignore[operator]


def test_rows_agree_with_the_print(rows: list[TableRow]) -> None:
    """Every ε of these rows is the certified number rounded to two decimals."""
    for row in rows:
        assert not set(row.disagreements) - set(DIFFERENCES)


def test_agreement_is_rounding_to_the_print() -> None:
    """An enclosure agrees where one of its numbers rounds to the print; nothing printed is no disagreement."""
    low, high = Fraction("1.2351"), Fraction("1.2352")
    assert Entry(low, high, "1.24").agrees
    assert not Entry(low, high, "1.23").agrees
    assert Entry(Fraction("1.2349"), high, "1.23").agrees
    assert not Entry(low, high, "1.25").agrees
    assert Entry(low, high).agrees
    assert Entry(printed="1.25").agrees
    assert Entry(Fraction(100), Fraction(101), ">=100").agrees
    assert not Entry(Fraction(99), Fraction(99), ">=100").agrees
    assert Entry(Fraction("-0.0702"), Fraction("-0.0701"), "-7.01%").agrees
    assert not Entry(Fraction("-0.0702"), Fraction("-0.0701"), "-7.03%").agrees


def test_disagreements_are_marked_and_explained() -> None:
    """A wrong print is marked in every format, with what is certified; a failure says why."""
    entries = {name: Entry(Fraction(1), Fraction("1.00001")) for name in (*COLUMNS, *DIFFERENCES)}
    entries["wang"] = Entry(Fraction(1), Fraction("1.00001"), "1.02")
    entries["birrell"] = Entry(error="ResourceLimitError: too large")
    row = TableRow("9", "1e-5", "0.5", "7", "3", entries)
    assert row.disagreements == ["wang"]
    [_, mark, missing] = footnotes([row])
    assert mark == "† wang at σ = 7, T = 3: the paper prints 1.02; certified between 1 and 1.00001"
    assert missing == "no birrell at σ = 7, T = 3: ResourceLimitError: too large"
    assert "1.0001 †" in as_text([row])
    assert "| 1.0001 † |" in as_markdown([row])
    assert plain_rows([row])[0]["disagreements"] == "wang"


def test_formats(rows: list[TableRow]) -> None:
    """CSV and JSON hold the same plain rows; text and Markdown show upper bounds rounded up, floors down."""
    plain = plain_rows(rows)
    assert json.loads(FORMATS["json"](rows)) == plain
    assert list(csv.DictReader(FORMATS["csv"](rows).splitlines())) == [
        {key: row.get(key, "") for key in plain[0]} for row in plain
    ]
    for row, text in zip(rows, plain, strict=True):
        for column in COLUMNS:
            entry = row.entries[column]
            if column == "floor":
                assert entry.lower is not None
                assert Fraction(text[column]) <= entry.lower
            else:
                assert entry.upper is not None
                assert Fraction(text[column]) >= entry.upper
                assert fixed(entry.upper, 4, up=True) in as_text(rows)
    assert "Table 1: ε at δ = 1e-6, p = 0.0025" in as_text(rows)


def test_colours() -> None:
    """Differences certified to be below lossless are green, above red, unsettled ones plain."""
    from rich.console import Console

    from certified_dp.paper.table_text import print_tables

    entries = {name: Entry(Fraction(1), Fraction(1)) for name in COLUMNS}
    below, above = Entry(Fraction("-0.021"), Fraction("-0.02")), Entry(Fraction("0.01"), Fraction("0.02"))
    row = TableRow(
        "9", "1e-5", "0.5", "7", "3", {**entries, "theorem1_vs_lossless": below, "kl_hinge_vs_lossless": above}
    )
    console = Console(width=140, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        print_tables([row], console)
    assert "\x1b[32m" in capture.get().split("-2.00%")[0][-20:]
    assert "\x1b[31m" in capture.get().split("+2.00%")[0][-20:]


def test_command(
    rows: list[TableRow], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table goes to standard output or to a file, and leaves no log behind; a bad request is one line."""
    few = rows[:1]
    logs: list[Path] = []

    def stub(number: int | None, *, log: Path, **how: Any) -> list[TableRow]:
        assert number in (None, 1)
        log.touch()
        logs.append(log)
        return few

    monkeypatch.setattr("certified_dp.paper.tables.table", stub)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments: str) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["certified-dp", "table", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, *capsys.readouterr()

    assert call("1") == (0, as_text(few), "")
    assert call("all", "--format", "json") == (0, FORMATS["json"](few), "")
    assert call("1", "--format", "markdown", "-o", str(tmp_path / "t.md")) == (0, "", "")
    assert (tmp_path / "t.md").read_text() == as_markdown(few)
    assert [log.parent for log in logs] == [tmp_path / "cache" / "certified-dp"] * 2 + [tmp_path]
    assert not any(log.exists() for log in logs)
    for arguments, needle in [
        (["7"], "number = 7"),
        (["x"], "number = 'x'"),
        (["1", "--format", "html"], "--format = 'html'"),
        (["1", "-o", str(tmp_path / "none" / "t.md")], "--output = "),
        (["1", "--processes", "0"], "--processes = '0'"),
    ]:
        if arguments == ["7"]:
            monkeypatch.setattr("certified_dp.paper.tables.table", table)
        status, out, err = call(*arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert needle in err


def test_paper_rows_by_number() -> None:
    """Six tables, 280 rows; other numbers are refused."""
    assert sum(len(paper_rows(number)) for number in range(1, 7)) == len(paper_rows()) == 280
    for number in (0, 7, "1.5"):
        with pytest.raises(InvalidParameterError):
            paper_rows(number)


def on_the_papers_grid(row: TableRow) -> Fraction:
    """Return the lossless ε composed on the paper's grid of 10⁻⁴, rounded up."""
    run = DPSGD(sampling_probability=row.sampling_probability, noise_multiplier=row.noise_multiplier, steps=row.steps)
    return lossless_epsilon(as_phases(run), Fraction(row.delta), grid_step=Fraction(1, 10**4)).upper


def is_explained(row: TableRow) -> bool:
    """Whether what differs from the print is what the paper's grid gives, up to 1e-4 for how tails are cut off."""
    upper, ours = on_the_papers_grid(row), row.entries["theorem1"].upper
    assert ours is not None
    lower = upper * Fraction(9999, 10000)
    ends = {"lossless": (lower, upper), "theorem1_vs_lossless": (ours / upper - 1, ours / lower - 1)}
    return all(
        column in ends and Entry(*ends[column], row.entries[column].printed).agrees for column in row.disagreements
    )


def test_the_one_epsilon_that_differs_is_the_grid_of_the_print() -> None:
    """Table 1, σ = 8, T = 4000: lossless is below 0.165, printed 0.17, and 0.1651 on the paper's grid."""
    [printed] = [row for row in paper_rows(1) if (row["sigma"], row["T"]) == ("8", "4000")]
    with ThreadPoolExecutor(1) as executor:
        [row] = certify([printed], executor=executor)
    assert row.disagreements == ["lossless", "theorem1_vs_lossless"]
    upper = row.entries["lossless"].upper
    assert upper is not None
    assert upper < Fraction("0.165") < on_the_papers_grid(row)
    assert is_explained(row)
    assert any("10⁻⁴" in note for note in footnotes([row]))


@pytest.mark.slow
def test_all_six_tables_agree_with_the_print() -> None:
    """All 280 rows, nothing missing; every entry that differs from the print is what the paper's grid gives."""
    full = table()
    assert len(full) == 280
    assert not [entry.error for row in full for entry in row.entries.values() if entry.error]
    assert not [row for row in full if row.disagreements and not is_explained(row)]
