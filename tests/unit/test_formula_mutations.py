"""Slips planted in the load-bearing formulas: a check must catch each one."""

import pytest
from click.testing import CliRunner

from certified_dp.divergence.derivatives import first_derivative_polynomial
from proofs_checks import formulas
from proofs_checks.__main__ import main
from proofs_checks.planted import SLIPS, Slip, planted, try_slip


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.target.split(':')[1]}: {slip.right}")
def test_planted_slip_is_caught(slip: Slip) -> None:
    """The check named with the slip fails while the slip is in place."""
    assert try_slip(slip).caught


def test_every_load_bearing_formula_has_a_slip() -> None:
    """Each public formula of `proofs_checks.formulas` has at least one planted slip."""
    targets = {slip.target.split(":")[1] for slip in SLIPS if slip.target.startswith("proofs_checks.formulas:")}
    own = {name for name, value in vars(formulas).items() if getattr(value, "__module__", "") == formulas.__name__}
    only_a_sum_of_another = {"second_derivative_polynomial", "Value"}
    assert own - only_a_sum_of_another <= targets


def test_a_slip_is_taken_out_again() -> None:
    """After the block the formula is as it was, wherever it had been imported."""
    slip = Slip(
        "certified_dp.divergence.derivatives:first_derivative_polynomial",
        "return {(0, 2): 1",
        "return {(0, 2): 2",
        "package-polynomials",
    )
    before = first_derivative_polynomial(5)
    with planted(slip):
        assert first_derivative_polynomial(5) != before
    assert first_derivative_polynomial(5) == before


def test_a_stale_slip_is_noticed() -> None:
    """A slip whose text no longer occurs exactly once is an error, not a catch."""
    stale = Slip("proofs_checks.formulas:log_moment", "no such text", "x", "operator-16")
    with pytest.raises(ValueError, match="not once"):
        try_slip(stale)


def test_one_command_prints_the_list() -> None:
    """``--planted`` shows each slip with the check that caught it."""
    result = CliRunner().invoke(main, ["--planted", "--only", "expansion-8", "--json"])
    assert result.exit_code == 0
    assert '"caught": true' in result.stdout
