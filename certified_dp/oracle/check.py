"""Runs an accountant over the test vectors and reports: unsound, consistent or loose, worst cases first."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from certified_dp.enclosure import decimal_lower, decimal_upper
from certified_dp.errors import InvalidParameterError
from certified_dp.interop.convention import from_clip_norm
from certified_dp.oracle.settings import FLAGS
from certified_dp.oracle.vectors import Case, all_cases
from certified_dp.oracle.verdict import Word, judge
from certified_dp.result import decimal_exact

#: Questions an accountant can be checked on, and how it is called (p, σ, T, δ, ε, α; phases are a list of (p, σ, T)).
SIGNATURES = {
    "epsilon": "(sampling_probability, noise_multiplier, steps, delta) -> epsilon",
    "delta": "(sampling_probability, noise_multiplier, steps, epsilon) -> delta",
    "renyi": "(sampling_probability, noise_multiplier, order) -> one-step Rényi divergence",
    "renyi_theorem1": "as renyi, for an implementation of the paper's Theorem 1",
    "lossless_epsilon": "as epsilon, for an implementation of the lossless accountant",
    "composition": "(list of (sampling_probability, noise_multiplier, steps), delta) -> epsilon",
    "noise_multiplier": "(sampling_probability, steps, delta, epsilon) -> noise multiplier",
}
_ARGUMENTS = {
    "epsilon": ("sampling_probability", "noise_multiplier", "steps", "delta"),
    "delta": ("sampling_probability", "noise_multiplier", "steps", "epsilon"),
    "renyi": ("sampling_probability", "noise_multiplier", "order"),
    "renyi_theorem1": ("sampling_probability", "noise_multiplier", "order"),
    "lossless_epsilon": ("sampling_probability", "noise_multiplier", "steps", "delta"),
    "composition": ("phases", "delta"),
    "noise_multiplier": ("sampling_probability", "steps", "delta", "epsilon"),
}
_SYMBOLS = {
    "sampling_probability": "p",
    "noise_multiplier": "σ",
    "steps": "T",
    "delta": "δ",
    "epsilon": "ε",
    "order": "α",
}


@dataclass(frozen=True)
class Outcome:
    """What an accountant answered to one case.

    Attributes:
        word: the verdict; an accountant that raises on a valid case, or answers ∞, is "loose" without bound.
        excess: relative to the end of the bracket it lies beyond; ±∞ where that has no meaning.
        answer: what was answered, or the exception, as text.
    """

    case: Case
    word: Word
    excess: float
    answer: str

    @property
    def badness(self) -> tuple[bool, float]:
        """The larger, the worse."""
        return self.word == "unsound", abs(self.excess)


@dataclass(frozen=True)
class Report:
    """All outcomes of one check."""

    question: str
    noise_multiplier_convention: str
    outcomes: tuple[Outcome, ...]

    def having(self, word: Word) -> list[Outcome]:
        """Return the outcomes with a verdict, worst first."""
        found = [outcome for outcome in self.outcomes if outcome.word == word]
        return sorted(found, key=lambda outcome: outcome.badness, reverse=True)

    @property
    def word(self) -> Word:
        """The verdict on the accountant: its worst outcome's."""
        words: tuple[Word, ...] = ("unsound", "loose", "consistent")
        return next(word for word in words if word == "consistent" or self.having(word))

    @property
    def largest_excess(self) -> float:
        """How far the loosest answer lies above its bracket, relatively (0 when none does)."""
        return max((outcome.excess for outcome in self.outcomes if outcome.word == "loose"), default=0.0)

    def table(self, rows: int = 8) -> str:
        """Return a short table, worst cases first."""
        counts = ", ".join(f"{len(self.having(word))} {word}" for word in ("unsound", "consistent", "loose"))
        title = f"{self.question}: {len(self.outcomes)} cases, {counts} (noise multiplier by {self._convention_text})"
        bad = [*self.having("unsound"), *self.having("loose")]
        lines = [_row(outcome) for outcome in bad[:rows]]
        if len(bad) > rows:
            lines.append(f"  ... and {len(bad) - rows} more")
        return "\n".join([title, *lines])

    @property
    def _convention_text(self) -> str:
        return self.noise_multiplier_convention.replace("_", " ")


def _row(outcome: Outcome) -> str:
    case = outcome.case
    if case.must_refuse:
        or_value = case.expected.get("or_value")
        wanted = "to be refused" + ("" if or_value is None else f", or {or_value}")
    else:
        low, high = case.bracket
        wanted = f"[{decimal_lower(low, 6)}, {decimal_upper(high, 6)}]"
    excess = f" ({_times(outcome.excess)})" if math.isfinite(outcome.excess) else ""
    flags = ", ".join(case.flags)
    return (
        f"  {outcome.word:<8} {outcome.answer}, {wanted}{excess}  {_show(case.parameters)}  [{flags}] {case.identifier}"
    )


def _times(excess: float) -> str:
    return f"{excess:+.2%}" if excess < 10 else f"{1 + excess:.2g} times"


def _show(parameters: Mapping[str, Any]) -> str:
    if "phases" in parameters:
        inner = "; ".join(_show(phase) for phase in parameters["phases"])
        return f"{{{inner}}} δ={_short(parameters['delta'])}"
    ordered = [name for name in _SYMBOLS if name in parameters]
    return " ".join(f"{_SYMBOLS[name]}={_short(parameters[name])}" for name in ordered)


def _short(value: Any) -> str:
    try:
        return decimal_exact(Fraction(value))
    except ValueError:  # nan and inf
        return str(value)


def select(
    question: str, *, classes: Collection[str] | None = None, cost: str | None = None, max_cases: int | None = None
) -> list[Case]:
    """Choose the cases of a question, by flags and by cost; at most ``max_cases``, spread evenly.

    Raises: InvalidParameterError: an unknown question, flag or cost.

    Example:
        >>> len(select("renyi", classes=["tiny_probability"], cost="low", max_cases=20))
        20
    """
    if question not in SIGNATURES:
        raise InvalidParameterError("question", question, f"one of {', '.join(SIGNATURES)}")
    if unknown := set(classes or ()) - set(FLAGS):
        raise InvalidParameterError("classes", sorted(unknown), f"among {', '.join(FLAGS)}")
    if cost not in (None, "low", "high"):
        raise InvalidParameterError("cost", cost, "low or high")
    cases = [
        case
        for case in all_cases()
        if case.question == question
        and (classes is None or set(case.flags) & set(classes))
        and (cost is None or case.cost == cost)
    ]
    if max_cases is None or len(cases) <= max_cases:
        return cases
    return [cases[index * len(cases) // max_cases] for index in range(max_cases)]


def run(
    accountant: Callable[..., Any],
    cases: Iterable[Case],
    *,
    noise_multiplier_convention: str,
    numbers: Literal["float", "exact"] = "float",
) -> Report:
    """Ask an accountant every case and judge its answers; nothing it does stops the run.

    Args:
        accountant: a callable; see `SIGNATURES`.
        cases: of one question.
        noise_multiplier_convention: what the accountant's σ is relative to: "clip_norm" or "sensitivity".
        numbers: how it gets its arguments: as doubles, or as exact Fractions.

    Example:
        >>> from certified_dp.oracle.check import run, select
        >>> from math import expm1, log
        >>> def fails_at_small_p(p, sigma, order):
        ...     return log(1 + p * p * expm1(4 / sigma**2)) * order  # an upper bound of nothing
        >>> cases = select("renyi", classes=["tiny_probability"], max_cases=40)
        >>> run(fails_at_small_p, cases, noise_multiplier_convention="clip_norm").word
        'unsound'
    """
    chosen = list(cases)
    question = chosen[0].question if chosen else "epsilon"
    outcomes = tuple(_ask(accountant, case, noise_multiplier_convention, numbers) for case in chosen)
    return Report(question, noise_multiplier_convention, outcomes)


def _ask(accountant: Callable[..., Any], case: Case, convention: str, numbers: str) -> Outcome:
    arguments = [_argument(name, case.parameters, convention, numbers) for name in _ARGUMENTS[case.question]]
    try:
        answer = accountant(*arguments)
    except Exception as error:  # the accountant is anybody's code
        return _no_promise(case, f"{type(error).__name__}: {error}"[:60])
    return _judge(case, answer, 1 / from_clip_norm(Fraction(1), convention))


def _no_promise(case: Case, answer: str) -> Outcome:
    """Judge a refusal or ∞: right where the input is outside the domain, else loose without bound."""
    return Outcome(case, "consistent", 0, answer) if case.must_refuse else Outcome(case, "loose", math.inf, answer)


def _argument(name: str, parameters: Mapping[str, Any], convention: str, numbers: str) -> Any:
    value = parameters[name]
    if name == "phases":
        parts = ("sampling_probability", "noise_multiplier", "steps")
        return [tuple(_argument(part, phase, convention, numbers) for part in parts) for phase in value]
    if isinstance(value, int):
        return value
    if value in ("nan", "inf", "-inf"):
        return float(value)
    exact = Fraction(value)
    if name == "steps" and exact.denominator == 1:
        return exact.numerator
    if name == "noise_multiplier":
        exact = from_clip_norm(exact, convention)
    return float(exact) if numbers == "float" else exact


def _judge(case: Case, answer: Any, norms_per_unit: Fraction) -> Outcome:
    try:
        text = f"{float(answer):.8g}"
        claimed = Fraction(answer) if math.isfinite(answer) else None
    except (TypeError, ValueError, OverflowError):
        return Outcome(case, "unsound", -math.inf, f"not a number: {answer!r}"[:60])
    if claimed is None:
        return _no_promise(case, text) if answer == math.inf else Outcome(case, "unsound", -math.inf, text)
    if case.must_refuse:
        allowed = case.expected.get("or_value")
        accepted = allowed is not None and claimed == Fraction(allowed)
        return Outcome(case, "consistent" if accepted else "unsound", 0 if accepted else -math.inf, text)
    verdict = judge(claimed * (norms_per_unit if case.question == "noise_multiplier" else 1), *case.bracket)
    share = verdict.relative_excess
    excess = math.copysign(math.inf, verdict.excess) if share is None else _float(share)
    return Outcome(case, verdict.word, excess, text)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
