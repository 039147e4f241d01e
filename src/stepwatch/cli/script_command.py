"""What the verbs that run a script have in common, apart from ``console``: it imports rich."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

#: Of a command that runs a script: what follows the script's name is the script's own.
SCRIPT_SETTINGS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
SCRIPT_EPILOG = "What follows SCRIPT is the script's own."
#: Of a verb that runs the program that a run names.
TRUST = click.option(
    "--trust", is_flag=True, help="Run the program of a run that somebody else made."
)


def time_limit(what: str) -> Callable[[Command], Command]:
    """Return the option ``--limit``, after which a verb ends what it runs; its value ``limit_s``.

    Args:
        what: It runs, such as ``replay``.
    """
    return click.option(
        "--limit",
        "limit_s",
        metavar="SECONDS",
        type=click.FloatRange(min=1),
        default=600.0,
        show_default=True,
        help=f"End a {what} that takes longer.",
    )
