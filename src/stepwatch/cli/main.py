"""The command ``stepwatch``: finds the verb and turns our errors into one line.

The verbs are entry points, ours and everybody's; only the one that is asked for is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from .. import __version__, registry
from ..errors import StepwatchError

GROUP = "stepwatch.commands"
ERROR_STATUS = 2


class _Verbs(click.Group):
    """Verbs that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(registry.names(GROUP))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        verb = registry.load(GROUP, cmd_name)  # names what there is, if this is not
        return verb if isinstance(verb, click.Command) else None


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="See inside a training run and catch what goes wrong.",
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="stepwatch", message="%(prog)s %(version)s")
@click.pass_context
def command(context: click.Context) -> None:
    """Do nothing of its own, but tell what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    The exit status is 0, or 1 where a verb found something, or 2 for what cannot be done as
    asked, with one line that says what would be right.
    """
    try:
        result = command.main(
            None if arguments is None else list(arguments),
            prog_name="stepwatch",
            standalone_mode=False,
        )
    except click.Abort:
        print("stepwatch: interrupted", file=sys.stderr)
        sys.exit(130)
    except click.ClickException as error:
        print(f"stepwatch: {_in_one_line(error)}", file=sys.stderr)
        sys.exit(ERROR_STATUS)
    except StepwatchError as error:
        print(f"stepwatch: {error}", file=sys.stderr)
        sys.exit(ERROR_STATUS)
    except BrokenPipeError:
        # The reader of our output went away, as head does; nothing is left to flush to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    if callable(result):
        result()  # a verb that must run outside of the handling of errors above
    elif isinstance(result, int):
        sys.exit(result)


def _in_one_line(error: click.ClickException) -> str:
    """Return what was asked wrongly as our errors say it, and where to look up what is right."""
    said = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)  # of whatever is no fault of the usage there is none
    where = f"; see: {context.command_path} --help" if context is not None else ""
    return f"{said[:1].lower()}{said[1:]}{where}"
