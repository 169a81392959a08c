"""Commands about other accountants: audit judges a claimed ε, vectors lists the test vectors."""

import json
from typing import Any

import click

from certified_dp.cli.shared import (
    DELTA,
    EXAMPLE_RUN,
    HOW,
    METHOD,
    RUN,
    command_options,
    describe,
    inputs_line,
    print_json,
    split_run,
    working,
)
from certified_dp.oracle.audit import audit as judge_claim
from certified_dp.oracle.settings import FLAGS
from certified_dp.oracle.vectors import all_cases, folder, read_file, vector_files


@click.command(epilog=f"Example: certified-dp audit {EXAMPLE_RUN} --delta 1e-6 --claim 5.9")
@command_options(
    *RUN,
    DELTA,
    click.option("--claim", required=True, metavar="E", help="The ε that an accountant reports."),
    *(option for option in HOW if option is not METHOD),
)
def audit(delta: str, claim: str, as_json: bool, **values: Any) -> int:
    """Judge a claimed ε: unsound (exit status 1), consistent or loose, by the certified bracket."""
    run, options = split_run(values)
    with working("computing the certified bracket"):
        found = judge_claim(run, claim, delta, **options)
    word = found.verdict.word
    if as_json:
        print_json({"verdict": word, "claim": str(found.verdict.claimed), **describe(found.result)})
    else:
        click.echo(f"{inputs_line(found.result, 'δ')}\n\n{found}")
    return int(word == "unsound")


@click.command(epilog="Example: certified-dp vectors --flags")
@click.option("--flags", "show_flags", is_flag=True, help="Explain the flags and count their cases.")
@click.option("--path", "show_path", is_flag=True, help="Print the folder that holds the files and their schema.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def vectors(show_flags: bool, show_path: bool, as_json: bool) -> None:
    """List the test vectors: certified answers that any accountant can be held against."""
    contents = {name: read_file(name) for name in vector_files()}
    counts = {flag: sum(flag in case.flags for case in all_cases()) for flag in FLAGS}
    if as_json:
        keys = ("group", "question", "source", "noise_multiplier_convention")
        described = [
            {"file": name, "cases": len(content["cases"]), **{key: content[key] for key in keys}}
            for name, content in contents.items()
        ]
        flags = {flag: {"explanation": text, "cases": counts[flag]} for flag, text in FLAGS.items()}
        click.echo(json.dumps({"folder": str(folder()), "files": described, "flags": flags}, ensure_ascii=False))
    elif show_path:
        click.echo(str(folder()))
    elif show_flags:
        for flag, text in FLAGS.items():
            click.echo(f"{flag:<18}{counts[flag]:>5}  {text}")
    else:
        for name, content in contents.items():
            click.echo(f"{name:<27}{len(content['cases']):>5}  {content['question']:<18}{content['source']}")
        click.echo(f"{'':<27}{len(all_cases()):>5}  in {folder()}")
