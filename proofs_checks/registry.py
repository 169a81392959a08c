"""The list of claims: what is claimed, where it comes from, how it is checked, and running the checks."""

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["proved", "certified", "spot-checked"]

#: The topic modules, in the order of the table.
TOPICS = (
    "coupling",
    "derivatives",
    "reparametrisation",
    "curvature",
    "expansions",
    "conversion",
    "proposition2",
    "lemma4",
    "lemma5",
    "bounds",
    "asymptotics",
    "domination_algebra",
    "domination_lemma",
    "domination",
    "kl_hinge",
    "composition",
    "numerics",
)


class CheckFailedError(Exception):
    """A claim did not survive its check; the message shows the residual or the point."""


class UnknownClaimError(Exception):
    """No claim has the name asked for."""


@dataclass(frozen=True)
class Claim:
    """One claim and its check.

    Attributes:
        name: a short unique name, as ``--only`` takes it.
        source: where it is stated: an equation number of the paper, or a place in domination_theorem.md.
        status: what a pass is worth (see the package's docstring).
        how: one line on the method.
        statement: what is claimed (the first line of the check's docstring).
        check: raises when the claim fails; returns otherwise.
    """

    name: str
    source: str
    status: Status
    how: str
    statement: str
    check: Callable[[], None]


@dataclass(frozen=True)
class Outcome:
    """What one run of a check gave; ``failure`` is empty when it passed."""

    claim: Claim
    seconds: float
    failure: str

    @property
    def passed(self) -> bool:
        """Whether the check returned without raising."""
        return not self.failure


_claims: dict[str, Claim] = {}


def claim(*, name: str, source: str, status: Status, how: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register the decorated function as the check of a claim; its docstring's first line is the statement."""

    def register(check: Callable[[], None]) -> Callable[[], None]:
        if name in _claims:
            raise ValueError(f"two claims are named {name}")
        statement = (check.__doc__ or "").strip().splitlines()[0]
        _claims[name] = Claim(name, source, status, how, statement, check)
        return check

    return register


def all_claims() -> list[Claim]:
    """Import every topic and return its claims, in the order of the table."""
    for topic in TOPICS:
        importlib.import_module(f"proofs_checks.{topic}")
    return list(_claims.values())


def find_claim(name: str) -> Claim:
    """Return the claim called ``name``.

    Raises:
        UnknownClaimError: there is none.
    """
    for candidate in all_claims():
        if candidate.name == name:
            return candidate
    raise UnknownClaimError(f"no claim is named {name!r}; --list shows the names")


def run(claims: Iterable[Claim]) -> Iterator[Outcome]:
    """Run the checks one after the other; an exception of any kind is a failure, never a pass."""
    for candidate in claims:
        start = time.perf_counter()
        failure = ""
        try:
            candidate.check()
        except Exception as error:  # a check that cannot finish has not passed
            failure = f"{type(error).__name__}: {error}"
        yield Outcome(candidate, time.perf_counter() - start, failure)


def require(condition: bool, what: str) -> None:
    """Fail the running check unless ``condition`` is exactly True.

    Raises:
        CheckFailedError: with ``what``.
    """
    if condition is not True:
        raise CheckFailedError(what)
