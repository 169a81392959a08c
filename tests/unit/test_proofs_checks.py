"""The runner of proofs_checks, its rules about what counts as a pass, and the map from equations to code."""

import json
import re
from fractions import Fraction
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest
import sympy as sp
from click.testing import CliRunner
from flint import arb

from certified_dp.enclosure import ball, working_precision
from certified_dp.errors import PrecisionExhaustedError
from proofs_checks import registry, symbolic
from proofs_checks.__main__ import main
from proofs_checks.pairs import Pair, divergence, power, single_pair_tails, tails
from proofs_checks.quadrature import gaussian_mean
from proofs_checks.registry import CheckFailedError, Claim, all_claims, find_claim, require, run

TESTS = Path(__file__).parents[1]


def _claim(check: object) -> Claim:
    return Claim("made-up", "nowhere", "proved", "by hand", "Nothing.", check)  # type: ignore[arg-type]


def test_there_are_enough_claims_and_each_says_what_it_claims() -> None:
    """At least 30 claims, each with a statement, a source, a method and one of the three status words."""
    claims = all_claims()
    assert len(claims) >= 30
    assert len({claim.name for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.statement.endswith(".")
        assert claim.source
        assert claim.how
        assert claim.status in {"proved", "certified", "spot-checked"}


@pytest.mark.parametrize("claim", [c for c in all_claims() if c.status == "proved"], ids=lambda claim: claim.name)
def test_symbolic_claims_hold(claim: Claim) -> None:
    """Every claim with the status ``proved`` passes."""
    (outcome,) = run([claim])
    assert outcome.passed, outcome.failure


@pytest.mark.slow
@pytest.mark.parametrize("claim", [c for c in all_claims() if c.status != "proved"], ids=lambda claim: claim.name)
def test_ball_claims_hold(claim: Claim) -> None:
    """Every claim settled by balls passes."""
    (outcome,) = run([claim])
    assert outcome.passed, outcome.failure


def test_any_exception_is_a_failure() -> None:
    """A check that raises anything, a refusal of the package included, has failed."""

    def refuses() -> None:
        raise PrecisionExhaustedError("out of bits")

    (outcome,) = run([_claim(refuses)])
    assert not outcome.passed
    assert "out of bits" in outcome.failure


def test_only_true_passes() -> None:
    """``require`` takes nothing but True, and a residual other than the literal 0 fails."""
    require(True, "fine")
    for value in (False, None, 1):
        with pytest.raises(CheckFailedError):
            require(value, "not True")  # type: ignore[arg-type]
    x = sp.Symbol("x", positive=True)
    symbolic.must_vanish((x + 1) ** 2 - x**2 - 2 * x - 1, "binomial")
    with pytest.raises(CheckFailedError, match="left over"):
        symbolic.must_vanish(sp.Float("1e-40") * x, "tiny")
    with pytest.raises(CheckFailedError):
        symbolic.must_be_nonnegative(x - 1, "no sign")


def test_two_claims_cannot_share_a_name() -> None:
    """A second claim under a taken name is refused."""
    all_claims()
    with pytest.raises(ValueError, match="two claims"):
        registry.claim(name="expansion-8", source="", status="proved", how="")(lambda: None)


def test_exit_status_of_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 when all hold, 1 when one fails, 2 for an unknown name."""
    runner = CliRunner()
    good = runner.invoke(main, ["--only", "lemma-c-end-values"])
    assert good.exit_code == 0
    assert "holds" in good.output
    unknown = runner.invoke(main, ["--only", "no-such-claim"])
    assert unknown.exit_code == 2
    assert "no-such-claim" in unknown.output

    def fails() -> None:
        raise CheckFailedError("seven is left over")

    monkeypatch.setattr("proofs_checks.__main__.all_claims", lambda: [_claim(fails)])
    bad = runner.invoke(main, [])
    assert bad.exit_code == 1
    assert "seven is left over" in bad.output


def test_json_and_list() -> None:
    """--json and --list print what a program can read."""
    runner = CliRunner()
    (row,) = json.loads(runner.invoke(main, ["--only", "proposition-4", "--json"]).stdout)
    assert row["name"] == "proposition-4"
    assert row["status"] == "proved"
    assert row["passed"] is True
    listed = json.loads(runner.invoke(main, ["--list", "--json"]).stdout)
    assert [entry["name"] for entry in listed] == [claim.name for claim in all_claims()]


def test_paper_map_has_not_rotted() -> None:
    """Every function, check and test that paper_map.toml names exists, and every numbered equation is there."""
    tomllib = pytest.importorskip("tomllib")
    entries = tomllib.loads((files("proofs_checks") / "paper_map.toml").read_text("utf-8"))["entry"]
    for entry in entries:
        assert set(entry) <= {"equation", "function", "check", "test"}, entry
        find_claim(entry["check"])
        if "function" in entry:
            module, name = entry["function"].split(":")
            assert callable(getattr(import_module(module), name)), entry
        if "test" in entry:
            path, name = entry["test"].split("::")
            assert f"def {name}(" in (TESTS / path).read_text("utf-8"), entry
    mapped = {int(number) for entry in entries for number in re.findall(r"\((\d+)\)", entry["equation"])}
    assert set(range(15, 46)) <= mapped
    assert {2, 3, 4, 5, 6, 7, 8, 9} <= mapped


def test_documents_name_existing_checks() -> None:
    """Every check that domination_theorem.md and errata.md mention exists."""
    names = {claim.name for claim in all_claims()}
    theorem = (files("proofs_checks") / "domination_theorem.md").read_text("utf-8")
    marks = re.findall(r"✓ ([a-z0-9, -]*[a-z0-9])", theorem)
    assert len(marks) > 30
    for mark in marks:
        assert {name.strip() for name in mark.split(",")} <= names | {"name"}, mark
    errata = (files("proofs_checks") / "errata.md").read_text("utf-8")
    for mark in re.findall(r"checks? (`[^)]*`)", errata):
        assert set(re.findall(r"`([a-z0-9-]+)`", mark)) <= names, mark


def test_gaussian_mean_encloses_known_means() -> None:
    """E e^{Z} = √e and E cos Z = e^{−1/2}, at two accuracies."""
    with working_precision(200):
        for bits in (40, 150):
            exponential = gaussian_mean(lambda z: z.exp(), strip=4.0, envelope=lambda d: [(arb(1), arb(1))], bits=bits)
            assert exponential.overlaps(arb("0.5").exp())
            assert exponential.rel_accuracy_bits() > bits - 8
            cosine = gaussian_mean(
                lambda z: z.cos(), strip=4.0, envelope=lambda d: [(d.cosh(), arb(0))], bits=bits
            )  # |cos(x+iy)| ≤ cosh y
            assert cosine.overlaps((-arb(1) / 2).exp())
            assert cosine.rel_accuracy_bits() > bits - 8


def test_plane_quadrature_at_an_exact_pair() -> None:
    """At b = 0 the plane quadrature of t² gives q² + 2pq + p²e^{|a|²}."""
    p = Fraction(1, 3)
    pair = Pair((Fraction(3, 5), Fraction(4, 5)), (Fraction(0), Fraction(0)), p)
    with working_precision(120):
        value = divergence(pair, power(Fraction(2)), bits=80)
        assert value.overlaps(1 - ball(p * p) + ball(p * p) * arb(1).exp())
        assert value.rel_accuracy_bits() > 60


def test_tails_of_a_nearly_single_pair() -> None:
    """With b nearly 0 the tails of r are those of the single pair."""
    p, tiny = Fraction(1, 5), Fraction(1, 10**6)
    near = Pair((Fraction(1), Fraction(0)), (Fraction(0), tiny), p)
    with working_precision(100):
        for level in (Fraction(1), Fraction(11, 10), Fraction(3)):
            of_q, of_p = tails(near, level, bits=60)
            star_q, star_p = single_pair_tails(Fraction(1), p, level)
            assert abs(of_q - star_q) < ball(10 * tiny)
            assert abs(of_p - star_p) < ball(10 * tiny)
