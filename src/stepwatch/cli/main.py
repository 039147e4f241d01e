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
        if cmd_name not in registry.names(GROUP):
            return None
        verb = registry.load(GROUP, cmd_name)
        return verb if isinstance(verb, click.Command) else None


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="See inside a training run and catch what goes wrong.",
)
@click.version_option(__version__, prog_name="stepwatch", message="%(prog)s %(version)s")
def command() -> None:
    """Do nothing of its own."""


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
        error.show()
        sys.exit(error.exit_code)
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
