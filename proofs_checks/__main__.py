"""``python -m proofs_checks``: run the checks and print a table. Exit 0: all passed, 1: some failed, 2: bad usage."""

import json
import sys

import click
from rich.console import Console
from rich.table import Table

from proofs_checks.planted import Trial, plant_all
from proofs_checks.registry import Claim, Outcome, UnknownClaimError, all_claims, find_claim, run


def _claims_table(claims: list[Claim]) -> Table:
    table = Table(title=f"{len(claims)} claims")
    for heading in ("claim", "source", "status", "statement", "how"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        table.add_row(claim.name, claim.source, claim.status, claim.statement, claim.how)
    return table


def _outcomes_table(outcomes: list[Outcome]) -> Table:
    failed = sum(not outcome.passed for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    table = Table(title=f"{len(outcomes)} claims, {failed} failed, {seconds:.0f} s")
    for heading in ("claim", "source", "status", "how", "seconds", "result"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "seconds" else "left")
    for outcome in outcomes:
        claim = outcome.claim
        result = "[green]holds[/]" if outcome.passed else "[bold red]FAILED[/]"
        table.add_row(claim.name, claim.source, claim.status, claim.how, f"{outcome.seconds:.2f}", result)
    return table


def _outcome_json(outcome: Outcome) -> dict[str, object]:
    claim = outcome.claim
    return {
        "name": claim.name,
        "source": claim.source,
        "status": claim.status,
        "statement": claim.statement,
        "how": claim.how,
        "seconds": f"{outcome.seconds:.3f}",
        "passed": outcome.passed,
        "failure": outcome.failure,
    }


def _trials_table(trials: list[Trial]) -> Table:
    escaped = sum(not trial.caught for trial in trials)
    table = Table(title=f"{len(trials)} planted slips, {escaped} escaped")
    for heading in ("formula", "right", "planted", "caught by"):
        table.add_column(heading, overflow="fold")
    for trial in trials:
        slip = trial.slip
        verdict = f"[green]{slip.claim}[/]" if trial.caught else f"[bold red]ESCAPED[/] {slip.claim}"
        table.add_row(slip.target, slip.right, slip.wrong, verdict)
    return table


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", metavar="NAME", multiple=True, help="Run this claim only (may be repeated).")
@click.option("--list", "list_only", is_flag=True, help="List the claims without running them.")
@click.option("--planted", is_flag=True, help="Plant each known slip in its formula and show which check catches it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(only: tuple[str, ...], list_only: bool, planted: bool, as_json: bool) -> None:
    """Check every claim that the certified numbers rest on.

    Example: python -m proofs_checks --only second-derivative
    """
    console, errors = Console(), Console(stderr=True)
    try:
        claims = [find_claim(name) for name in only] if only else all_claims()
    except UnknownClaimError as error:
        errors.print(f"error: --only: {error}", markup=False, highlight=False)
        sys.exit(2)
    if planted:
        trials = []
        for trial in plant_all(only):
            trials.append(trial)
            errors.print(f"{'caught ' if trial.caught else 'ESCAPED'} {trial.slip.target}", markup=False)
        if as_json:
            click.echo(json.dumps([trial.as_json() for trial in trials], indent=1, ensure_ascii=False))
        else:
            console.print(_trials_table(trials))
        sys.exit(0 if all(trial.caught for trial in trials) else 1)
    if list_only:
        if as_json:
            rows = [{"name": c.name, "source": c.source, "status": c.status, "statement": c.statement} for c in claims]
            click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        else:
            console.print(_claims_table(claims))
        return
    outcomes = []
    for outcome in run(claims):
        outcomes.append(outcome)
        if not as_json:
            mark = "holds " if outcome.passed else "FAILED"
            errors.print(f"{mark} {outcome.seconds:7.2f} s  {outcome.claim.name}", markup=False, highlight=False)
    if as_json:
        click.echo(json.dumps([_outcome_json(outcome) for outcome in outcomes], indent=1, ensure_ascii=False))
    else:
        console.print(_outcomes_table(outcomes))
        for outcome in outcomes:
            if not outcome.passed:
                console.print(f"{outcome.claim.name}: {outcome.failure}", markup=False, highlight=False)
    sys.exit(0 if all(outcome.passed for outcome in outcomes) else 1)


if __name__ == "__main__":
    main(prog_name="python -m proofs_checks")
