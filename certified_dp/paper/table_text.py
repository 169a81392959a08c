"""The paper's tables as text, Markdown and plain rows: bounds rounded outward, every disagreement marked."""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from certified_dp.enclosure import decimal_lower, decimal_upper
from certified_dp.paper.output import as_csv, as_json
from certified_dp.paper.rowlog import Row
from certified_dp.paper.tables import COLUMNS, DIFFERENCES, Entry, TableRow

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MARK = "†"
_HEADINGS = {
    "single_pair_renyi": "single pair Rényi",
    "kl_hinge": "KL hinge",
    "theorem1_vs_lossless": "theorem1 / lossless",
    "kl_hinge_vs_lossless": "KL hinge / lossless",
}
_DIGITS = 9
_PAPERS_GRID = (
    "The paper reads its lossless column off a grid of 10⁻⁴ in the privacy loss, which overstates ε by up to 0.2% "
    "where a single step loses little; on that grid the entries marked here come out as printed, to 1e-4."
)
#: Characters a line needs so that no number is broken.
WIDTH = 132


def plain_rows(rows: Iterable[TableRow]) -> list[Row]:
    """Return rows of text, one for each row of the table: what was computed, what the paper prints, and where not.

    A bare column name holds an upper bound (the floor: a lower bound), rounded outward; ``NAME_lower`` the lower end
    of the method's own value; differences are fractions, not percent.
    """
    return [_plain_row(row) for row in rows]


def _plain_row(row: TableRow) -> Row:
    plain: Row = {
        "table": row.table,
        "delta": row.delta,
        "sampling_probability": row.sampling_probability,
        "noise_multiplier": row.noise_multiplier,
        "steps": row.steps,
    }
    for column, entry in row.entries.items():
        lower = "" if entry.lower is None else decimal_lower(entry.lower, _DIGITS)
        upper = "" if entry.upper is None else decimal_upper(entry.upper, _DIGITS)
        plain |= {column: lower} if column == "floor" else {column: upper, f"{column}_lower": lower}
        if entry.printed:
            plain[f"{column}_printed"] = entry.printed
    errors = (f"{column}: {entry.error}" for column, entry in row.entries.items() if entry.error)
    return {**plain, "disagreements": " ".join(row.disagreements), "errors": "; ".join(errors)}


def fixed(value: Fraction, places: int, *, up: bool) -> str:
    """Print a number with ``places`` decimals, rounded in one direction.

    >>> fixed(Fraction(2, 3), 2, up=True), fixed(Fraction(-2, 3), 2, up=True), fixed(Fraction(2, 3), 2, up=False)
    ('0.67', '-0.66', '0.66')
    """
    scaled = value * 10**places
    units = math.ceil(scaled) if up else math.floor(scaled)
    whole, rest = divmod(abs(units), 10**places)
    return f"{'-' if units < 0 else ''}{whole}.{rest:0{places}d}"


def _cell(column: str, entry: Entry) -> str:
    mark = "" if entry.agrees else f" {_MARK}"
    if column == "floor":
        return "" if entry.lower is None else fixed(entry.lower, 4, up=False)
    if entry.upper is None:
        return ""
    if column not in DIFFERENCES:
        return fixed(entry.upper, 4, up=True) + mark
    percent = fixed(100 * entry.upper, 2, up=True)
    return f"{'' if percent.startswith('-') else '+'}{percent}%{mark}"


def _cells(row: TableRow) -> list[str]:
    return [row.noise_multiplier, row.steps, *(_cell(column, entry) for column, entry in row.entries.items())]


def _headings() -> list[str]:
    return ["σ", "T", *(_HEADINGS.get(name, name) for name in (*COLUMNS, *DIFFERENCES))]


def _titled(rows: Sequence[TableRow]) -> list[tuple[str, list[TableRow]]]:
    """Split rows by table, each with its title."""
    tables: dict[str, list[TableRow]] = {}
    for row in rows:
        title = f"Table {row.table}: ε at δ = {row.delta}, p = {row.sampling_probability}"
        tables.setdefault(title, []).append(row)
    return list(tables.items())


def footnotes(rows: Sequence[TableRow]) -> list[str]:
    """Say what every mark means and why an entry is missing, a line each."""
    notes = ["Upper bounds are rounded up, floors down; differences are at most what is shown."]
    missing: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        place = f"σ = {row.noise_multiplier}, T = {row.steps}"
        for column, entry in row.entries.items():
            if not entry.agrees:
                says = f"the paper prints {entry.printed}"
                notes.append(f"{_MARK} {column} at {place}: {says}; {_between(column, entry)}")
            if entry.error:
                missing.setdefault((column, entry.error), []).append(place)
    if any({"lossless", *DIFFERENCES} & set(row.disagreements) for row in rows):
        notes.append(_PAPERS_GRID)
    for (column, error), places in missing.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        notes.append(f"no {column} at {places[0]}{more}: {error}")
    return notes


def _between(column: str, entry: Entry) -> str:
    if entry.lower is None or entry.upper is None:
        return "not enclosed"
    if column in DIFFERENCES:
        low, high = fixed(100 * entry.lower, 4, up=False), fixed(100 * entry.upper, 4, up=True)
        return f"certified between {low}% and {high}%"
    return f"certified between {decimal_lower(entry.lower, 7)} and {decimal_upper(entry.upper, 7)}"


def _colour(column: str, entry: Entry) -> str:
    """Green below lossless and red above, as in the paper; none where the enclosures do not settle it."""
    if column not in DIFFERENCES:
        return ""
    if entry.upper is not None and entry.upper < 0:
        return "green"
    return "red" if entry.lower is not None and entry.lower > 0 else ""


def rich_tables(rows: Sequence[TableRow]) -> "list[Table]":
    """Return a coloured table for each table of the paper."""
    from rich.table import Table
    from rich.text import Text

    tables = []
    for title, part in _titled(rows):
        table = Table(title=title)
        for heading in _headings():
            table.add_column(heading, justify="right", min_width=9 if len(heading) > 1 else 1)
        for row, following in zip(part, [*part[1:], None], strict=True):
            colours = ["", "", *(_colour(*item) for item in row.entries.items())]
            cells = (Text(cell, style=colour) for cell, colour in zip(_cells(row), colours, strict=True))
            table.add_row(*cells, end_section=not following or following.noise_multiplier != row.noise_multiplier)
        tables.append(table)
    return tables


def as_text(rows: Sequence[TableRow]) -> str:
    """Return the tables as they print where there are no colours."""
    from rich.console import Console

    console = Console(width=WIDTH, color_system=None, force_terminal=False)
    with console.capture() as capture:
        print_tables(rows, console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def print_tables(rows: Sequence[TableRow], console: "Console") -> None:
    """Print the tables and their footnotes."""
    for table in rich_tables(rows):
        console.print(table)
    for note in footnotes(rows):
        console.print(note, highlight=False, markup=False)


def as_markdown(rows: Sequence[TableRow]) -> str:
    """Return the tables in Markdown, differences certified to be below lossless in bold."""
    lines = []
    for title, part in _titled(rows):
        headings = _headings()
        lines += [f"**{title}**", "", _markdown_line(headings), _markdown_line(["---:"] * len(headings))]
        for row in part:
            bold = [False, False, *(_colour(*item) == "green" for item in row.entries.items())]
            cells = (f"**{cell}**" if strong else cell for cell, strong in zip(_cells(row), bold, strict=True))
            lines.append(_markdown_line(cells))
        lines.append("")
    return "\n".join([*lines, *(f"{note}  " for note in footnotes(rows))]) + "\n"


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


FORMATS: dict[str, Callable[[Sequence[TableRow]], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "csv": lambda rows: as_csv(plain_rows(rows)),
    "json": lambda rows: as_json(plain_rows(rows)),
}
