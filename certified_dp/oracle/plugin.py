"""The pytest plugin: the fixture ``certified_oracle`` and the marker of the same name (loaded by an entry point).

The rest of the package is imported when the fixture is used, so that other test runs do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from certified_dp.oracle.check import Report

_reports_key = pytest.StashKey[list[tuple[str, str]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "certified_oracle(classes=..., cost=..., max_cases=...): restrict the test vectors by bug class (see"
        " certified_dp.oracle.settings.FLAGS), by cost ('low' or 'high'), or by number.",
    )
    config.stash[_reports_key] = []


class CertifiedOracle:
    """Holds an accountant against certified test vectors; get it from the fixture ``certified_oracle``."""

    def __init__(self, node: pytest.Item) -> None:
        """Remember the test, whose markers restrict the cases."""
        self._node = node

    def check(
        self,
        accountant: Callable[..., Any],
        *,
        relation: str,
        noise_multiplier_convention: str,
        question: str = "epsilon",
        numbers: Literal["float", "exact"] = "float",
        classes: Collection[str] | None = None,
        cost: str | None = None,
        max_cases: int | None = None,
        max_excess: float | None = None,
    ) -> Report:
        """Run an accountant over the vectors; an unsound answer fails the test.

        Args:
            accountant: a callable (sampling_probability, noise_multiplier, steps, delta) → ε, or another by question.
            relation: "replace_one": the vectors hold for no other, so it must be said.
            noise_multiplier_convention: what σ is relative to: "clip_norm" (C) or "sensitivity" (2C).
            question: see `certified_dp.oracle.check.SIGNATURES`.
            numbers: what the accountant is given: "float" or "exact" (Fractions).
            classes: restrict the vectors by flags, as the marker does; what is given here wins.
            cost: restrict them by cost, "low" or "high".
            max_cases: restrict their number.
            max_excess: also fail when an answer is looser than this, relative to the best certified bound.

        Returns: the report; its ``table()`` is also printed at the end of the run.
        Raises: InvalidParameterError, and pytest's failure.
        """
        from certified_dp.errors import InvalidParameterError
        from certified_dp.oracle.check import run, select

        if relation != "replace_one":
            raise InvalidParameterError("relation", relation, "replace_one (fixed-size batches)")
        restriction: dict[str, Any] = {}
        for mark in reversed(list(self._node.iter_markers("certified_oracle"))):
            restriction.update(mark.kwargs)
        given = {"classes": classes, "cost": cost, "max_cases": max_cases}
        restriction.update({name: value for name, value in given.items() if value is not None})
        cases = select(question, **restriction)
        if not cases:
            raise InvalidParameterError("classes", restriction, f"a restriction that leaves cases of {question}")
        report = run(accountant, cases, noise_multiplier_convention=noise_multiplier_convention, numbers=numbers)
        self._node.config.stash[_reports_key].append((self._node.nodeid, report.table()))
        if report.word == "unsound":
            pytest.fail(f"unsound accountant\n{report.table()}", pytrace=False)
        if max_excess is not None and report.largest_excess > max_excess:
            pytest.fail(f"looser than {max_excess:.2%}\n{report.table()}", pytrace=False)
        return report


@pytest.fixture
def certified_oracle(request: pytest.FixtureRequest) -> CertifiedOracle:
    """Hold an accountant against certified test vectors: ``certified_oracle.check(accountant, relation=..., ...)``."""
    return CertifiedOracle(request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what every check found: one line, and the table with ``-v``."""
    reports = config.stash.get(_reports_key, [])
    if reports:
        terminalreporter.section("certified oracle")
        for node, table in reports:
            shown = table if config.get_verbosity() > 0 else table.partition("\n")[0]
            terminalreporter.line(f"{node}\n{shown}")
