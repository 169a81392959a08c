"""The paper's Tables 1 to 6 in certified numbers, each entry held against the print."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import TYPE_CHECKING

from certified_dp.errors import InvalidParameterError
from certified_dp.paper.grid import Setting
from certified_dp.paper.rowlog import Row
from certified_dp.paper.sweep import sweep
from certified_dp.parameters import Number, exact_integer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from certified_dp.paper.sweep import SweepOptions

#: The tables' columns, the paper's four first, with the options of each.
COLUMNS: dict[str, Setting] = {
    **{name: {"orders": "integer", "max_order": "256"} for name in ("theorem1", "birrell", "wang")},
    "lossless": {"relative_slack": "0.0005"},
    "single_pair_renyi": {},
    "kl_hinge": {},
    "floor": {},
}
#: Columns for one/lossless − 1, the paper's first.
DIFFERENCES = {"theorem1_vs_lossless": "theorem1", "kl_hinge_vs_lossless": "kl_hinge"}
_PRINTED = {"theorem1": "ours", "birrell": "birrell", "wang": "wang", "lossless": "lossless"}
_HALF_UNIT = Fraction(5, 1000)  # of the print's second decimal


@dataclass(frozen=True)
class Entry:
    """One number of a table.

    Attributes:
        lower: exact end of its certified enclosure; None where it is not enclosed from below.
        upper: likewise from above.
        printed: what the paper prints here, "" where it prints nothing.
        error: why there is no number.
    """

    lower: Fraction | None = None
    upper: Fraction | None = None
    printed: str = ""
    error: str = ""

    @property
    def agrees(self) -> bool:
        """Whether some number in the enclosure rounds to the print (nothing printed or computed: True)."""
        if not self.printed or self.lower is None or self.upper is None:
            return True
        if self.printed.startswith(">="):
            return self.upper >= Fraction(self.printed[2:]) - _HALF_UNIT
        unit = Fraction(1, 100) if self.printed.endswith("%") else Fraction(1)
        printed = Fraction(self.printed.rstrip("%"))
        return self.lower <= (printed + _HALF_UNIT) * unit and (printed - _HALF_UNIT) * unit <= self.upper


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        table: its number.
        delta, sampling_probability, noise_multiplier, steps: as the paper prints them.
        entries: by column: those of `COLUMNS` and those of `DIFFERENCES`.
    """

    table: str
    delta: str
    sampling_probability: str
    noise_multiplier: str
    steps: str
    entries: dict[str, Entry]

    @property
    def disagreements(self) -> list[str]:
        """The columns in which the print is not the certified number rounded to two decimals."""
        return [column for column, entry in self.entries.items() if not entry.agrees]


def paper_rows(number: Number | None = None) -> list[dict[str, str]]:
    """Return what the paper prints, in one table or in all six.

    Raises: InvalidParameterError: not a table of the paper.

    Example:
        >>> row = paper_rows(2)[8]
        >>> row["sigma"], row["T"], row["ours"], row["lossless"], row["relative_difference"]
        ('2', '4000', '4.75', '5.28', '-10.02%')
    """
    text = resources.files(__package__).joinpath("paper_tables.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    if number is None:
        return rows
    allowed = "a table of the paper, 1 to 6"
    wanted = exact_integer("number", number, 1, allowed)
    chosen = [row for row in rows if row["table"] == str(wanted)]
    if not chosen:
        raise InvalidParameterError("number", number, allowed)
    return chosen


def table(number: Number | None = None, **how: Unpack[SweepOptions]) -> list[TableRow]:
    """Compute a table of the paper, or all of them.

    Guarantee: every entry's enclosure contains the method's own value, which is an upper bound of the true ε; the
        floor is a lower bound.
    Args: number: 1 to 6, None for all.  **how: see `sweep`.
    Raises: InvalidParameterError, and what `sweep` raises.
    """
    return certify(paper_rows(number), **how)


def certify(printed: Sequence[dict[str, str]], **how: Unpack[SweepOptions]) -> list[TableRow]:
    """Compute printed rows, from `paper_rows`; guarantee, options and errors as `table`."""
    answers = sweep(list(_settings(printed)), **how)
    count = len(COLUMNS)
    return [
        _table_row(row, dict(zip(COLUMNS, answers[count * i : count * (i + 1)], strict=True)))
        for i, row in enumerate(printed)
    ]


def _settings(printed: Sequence[dict[str, str]]) -> Iterator[Setting]:
    for row in printed:
        run = {"sampling_probability": row["p"], "noise_multiplier": row["sigma"], "steps": row["T"]}
        for column, options in COLUMNS.items():
            yield {**run, "delta": row["delta"], "method": column, "digits": "9", **options}


def _table_row(row: dict[str, str], answers: dict[str, Row]) -> TableRow:
    entries = {column: _entry(answer, row.get(_PRINTED.get(column, ""), "")) for column, answer in answers.items()}
    for name, column in DIFFERENCES.items():
        printed = row["relative_difference"] if column == "theorem1" else ""
        entries[name] = _difference(entries[column], entries["lossless"], printed)
    return TableRow(row["table"], row["delta"], row["p"], row["sigma"], row["T"], entries)


def _entry(answer: Row, printed: str) -> Entry:
    lower, upper = answer["lower"] or answer["floor"], answer["upper"]
    return Entry(Fraction(lower) if lower else None, Fraction(upper) if upper else None, printed, answer["error"])


def _difference(one: Entry, lossless: Entry, printed: str) -> Entry:
    """Enclose one/lossless − 1 (from above only, where ``one`` is an upper bound that is not itself enclosed)."""
    if one.upper is None or lossless.upper is None or not lossless.lower:
        return Entry(printed=printed)
    lower = None if one.lower is None else one.lower / lossless.upper - 1
    return Entry(lower, one.upper / lossless.lower - 1, printed)
