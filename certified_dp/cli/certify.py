"""Commands certify and check: write a claim with its certificate, and have the independent checker decide."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click

import certified_dp
from certified_dp.cli.shared import DELTA, EXAMPLE_RUN, HOW, RUN, command_options, print_json, split_run, working
from certified_dp.errors import CertifiedDPError, InvalidParameterError
from certified_dp.result import decimal_exact

_OUTPUT = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="NAME, or for Coq the file NAME.v."
)
_FORMAT = click.option("--format", "form", default="json", show_default=True, help="json or coq.")


@click.command(epilog=f"Example: certified-dp certify {EXAMPLE_RUN} --delta 1e-6 --method kl_hinge -o run")
@command_options(*RUN, DELTA, _OUTPUT, _FORMAT, *HOW)
def certify(delta: str, method: str, output: Path, form: str, as_json: bool, **values: Any) -> None:
    """Bound ε at δ, and write NAME.claim.json and NAME.cert.json for an independent checker (or a Coq file).

    The methods that can be certified are theorem1, single_pair_renyi, kl_hinge, and full batches; Coq files are for
    single_pair_renyi at integer orders.
    """
    if form not in ("json", "coq"):
        raise InvalidParameterError("format", form, "json or coq")
    run, options = split_run(values)
    with working("computing certified bounds"):
        result = certified_dp.epsilon(run, delta, method=method, **options)
        if form == "coq":
            from certified_dp.coq import write_coq

            write_coq(result, output)
            epsilon, written = result.upper_decimal, [output]
        else:
            certificate = result.certificate()
            epsilon, written = str(certificate.claim["epsilon"]), [*certificate.write(output)]
    if as_json:
        print_json({"epsilon": epsilon, "method": result.method, "files": [str(path) for path in written]})
        return
    click.echo(f"claim: the run is ({epsilon}, {decimal_exact(result.given)})-DP, {result.method}")
    for path in written:
        click.echo(f"wrote {path} ({path.stat().st_size} bytes)")


@click.command(epilog="Example: certified-dp check run.claim.json run.cert.json")
@click.argument("claim", type=click.Path(path_type=Path))
@click.argument("certificate", type=click.Path(path_type=Path))
def check(claim: Path, certificate: Path) -> int:
    """Have the checker decide whether a certificate proves a claim: exit status 0 verified, 1 rejected, 2 malformed.

    The checker is one file that imports nothing of this package, run by a fresh interpreter.
    """
    command = [sys.executable, "-I", str(checker_path()), str(claim), str(certificate)]
    return subprocess.run(command, check=False).returncode


def checker_path() -> Path:
    """Find the checker that was installed beside this package, without importing it."""
    path = Path(__file__).parents[2] / "proofs_checks" / "checker.py"
    if not path.is_file():
        raise CertifiedDPError(f"{path} is not installed")
    return path
