"""The command line: reads text exactly, asks the library, prints outward-rounded numbers."""

import importlib
import sys

import click

import certified_dp
from certified_dp.errors import CertifiedDPError, InvalidParameterError

#: The module of each command; it is loaded only when the command is asked for.
_MODULES = {
    **dict.fromkeys(("epsilon", "delta", "rdp", "calibrate"), "questions"),
    **dict.fromkeys(("compare", "limits"), "compare"),
    **dict.fromkeys(("certify", "check"), "certify"),
    **dict.fromkeys(("audit", "vectors"), "oracle"),
    **dict.fromkeys(("figure", "sweep", "table"), "paper"),
}


class _LazyGroup(click.Group):
    """Keeps the start of the everyday commands fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"certified_dp.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(certified_dp.__version__, prog_name="certified-dp")
def cli() -> None:
    """Certified privacy bounds for DP-SGD with fixed-size batches under replace adjacency."""


def main() -> None:
    """Run the command line; every refusal is one line on standard error and exit status 2."""
    try:
        status = cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except click.UsageError as error:
        _refuse(error.format_message())
    except click.Abort:
        _refuse("interrupted")
    except InvalidParameterError as error:
        _refuse(f"--{str(error).replace(error.name, error.name.replace('_', '-'), 1)}")
    except CertifiedDPError as error:
        _refuse(str(error))
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _refuse(message: str) -> None:
    click.echo(f"certified-dp: {' '.join(message.split())}", err=True)
    sys.exit(2)
