"""The command ``vectors``: lists the test vectors for other accountants. Loaded only when it is asked for."""

import json

import click

from certified_dp.oracle.settings import FLAGS
from certified_dp.oracle.vectors import all_cases, folder, read_file, vector_files


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
