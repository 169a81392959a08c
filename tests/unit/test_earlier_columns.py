"""The columns of the earlier Rényi accountants in Tables 1 to 6, certified: every entry."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

import certified_dp
from certified_dp import DPSGD, epsilon

TABLES = Path(certified_dp.__file__).parent / "paper" / "paper_tables.csv"
ROWS = list(csv.DictReader(TABLES.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("method", ["wang", "birrell"])
def test_every_entry(method: str) -> None:
    """The certified ε, orders 2 to 256, rounds to the printed two decimals; ">=100" is at least 100."""
    disagreements = []
    for row in ROWS:
        run = DPSGD(sampling_probability=row["p"], noise_multiplier=row["sigma"], steps=row["T"])
        answer = epsilon(run, row["delta"], method=method, orders="integer", max_order=256, digits=8)
        low, high = answer.enclosure
        if row[method].startswith(">="):
            agrees = low >= Fraction(row[method][2:])
        else:
            printed, half = Fraction(row[method]), Fraction(5, 1000)
            agrees = printed - half <= low <= high <= printed + half
        if not agrees:
            disagreements.append((row, str(answer)))
    assert not disagreements
