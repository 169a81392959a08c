"""Rows to files: deterministic text, and never a half-written file under the final name."""

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from certified_dp.errors import InvalidParameterError


def columns(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys of all rows, in the order in which they first appear."""
    return list(dict.fromkeys(key for row in rows for key in row))


def as_csv(rows: Sequence[Mapping[str, str]]) -> str:
    r"""Return rows as CSV with a header.

    Example:
        >>> as_csv([{"steps": "1", "upper": "0.5"}, {"steps": "2"}])
        'steps,upper\n1,0.5\n2,\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(rows: Sequence[Mapping[str, str]]) -> str:
    """Return rows as a JSON list of objects, one a line."""
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    return "[\n" + ",\n".join(lines) + "\n]\n"


#: How rows are written, by the suffix of the file.
FORMATS = {".csv": as_csv, ".json": as_json}


def check_suffix(path: Path) -> None:
    """Refuse a file name that no format goes with, and a folder that is not there, before any work is done.

    Raises: InvalidParameterError.
    """
    if path.suffix not in FORMATS:
        raise InvalidParameterError("output", str(path), f"a file name that ends in {' or '.join(FORMATS)}")
    check_folder(path)


def check_folder(path: Path) -> None:
    """Refuse an output that is a folder, or in a folder that does not exist.

    Raises: InvalidParameterError.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidParameterError("output", str(path), "a file in a folder that exists")


def write_rows(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Write rows in the format that the file name asks for."""
    write_text(path, FORMATS[path.suffix](rows))


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name beside it, then rename it: it is there whole, or as it was before."""
    partial = path.with_name(path.name + ".partial")
    with open(partial, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
