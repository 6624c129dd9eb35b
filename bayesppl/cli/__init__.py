"""The command line: ``bayesppl …``.

Commands import what they need when they run, so that ``--help`` answers at once. Whatever a user can get wrong
ends in one line on standard error and exit status 2.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import NoReturn

import click

from bayesppl import __version__
from bayesppl.cli.compare import compare
from bayesppl.cli.fit import fit, summary, verify
from bayesppl.cli.models import MODELS_OF_NUMBERS, in_options, undeclared
from bayesppl.cli.predict import predict
from bayesppl.cli.reproduce import reproduce
from bayesppl.cli.terminal import leave_columns_to_remarks, say, warn
from bayesppl.errors import RowError, UndeclaredIntegersError
from bayesppl.files import running


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bayesppl")
def cli() -> None:
    """Fully Bayesian generative classifiers."""


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options with the tab key.

    For bash, add this line to ~/.bashrc: eval "$(bayesppl completion bash)". Likewise for zsh and fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "bayesppl", "_BAYESPPL_COMPLETE").source())


for command in (compare, reproduce, fit, predict, summary, verify, completion):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 when done, 2 when something was refused, 130 when interrupted."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with running(typed), warnings.catch_warnings():
            leave_columns_to_remarks()
            said = cache(lambda text: warn([in_options(text)]))  # once, however many models say it
            warnings.showwarning = lambda message, *_: said(str(message))
            cli.main(args=typed, prog_name="bayesppl", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.NoSuchOption as error:
        command = error.ctx.command_path if error.ctx else "bayesppl"
        _refuse(f"{error.format_message()} '{command} --help' lists the options")
    except click.ClickException as error:
        _refuse(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("bayesppl: interrupted", err=True)
        sys.exit(130)
    except UndeclaredIntegersError as error:
        _refuse(undeclared(error.columns))
    except RowError as error:
        here = "Here: --drop COLUMN leaves a column out"
        if not MODELS_OF_NUMBERS.intersection(word.removeprefix("--model=") for word in typed):
            here += ", --categorical COLUMN takes its values for levels"
        _refuse(f"{str(error).rstrip('.')}. {here}" if typed[0] in ("fit", "compare") else str(error))
    except (TypeError, ValueError, OSError, NotImplementedError) as error:
        _refuse(str(error))
    except MemoryError as error:
        _refuse(
            f"there is not enough memory ({error or 'no more was available'}); "
            "take fewer rows or columns at a time"
        )
    sys.exit(0)


def _refuse(message: str) -> NoReturn:
    say(f"bayesppl: error: {' '.join(line.strip() for line in in_options(message).splitlines())}", err=True)
    sys.exit(2)
