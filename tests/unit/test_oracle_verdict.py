"""The verdict on a claim."""

from fractions import Fraction

import pytest

from certified_dp.errors import InvalidParameterError
from certified_dp.oracle.verdict import judge


@pytest.mark.parametrize(
    ("claimed", "word", "excess"),
    [
        ("-1", "unsound", "-3"),
        ("19999999999/10000000000", "unsound", "-1/10000000000"),
        ("2", "consistent", "0"),
        ("5/2", "consistent", "0"),
        ("3", "consistent", "0"),
        ("4", "loose", "1"),
    ],
)
def test_words(claimed: str, word: str, excess: str) -> None:
    """Both ends of the bracket belong to it, and the excess is measured from the nearer end."""
    verdict = judge(Fraction(claimed), Fraction(2), Fraction(3))
    assert verdict.word == word
    assert verdict.excess == Fraction(excess)


def test_relative_excess() -> None:
    """It is a share of the end it is measured from, and None where that end is 0."""
    assert judge(Fraction(1), Fraction(2), Fraction(3)).relative_excess == Fraction(-1, 2)
    assert judge(Fraction(6), Fraction(2), Fraction(3)).relative_excess == 1
    assert judge(Fraction(-1), Fraction(0), Fraction(0)).relative_excess is None


def test_an_empty_bracket_is_refused() -> None:
    """A floor above the best bound is a bug of the caller, not a verdict."""
    with pytest.raises(InvalidParameterError, match="floor"):
        judge(Fraction(1), Fraction(3), Fraction(2))
