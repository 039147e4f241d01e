"""What is done about a finding.

An action is a class, declared as an entry point of ``stepwatch.actions``. Its constructor takes its
parameters, which people write as texts; type hints say what they are. ``reactions.Reactions``
decides what is done about which finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ..capture.control import Control, Remainder, SkipDecision
from ..model.finding import Finding

__all__ = [
    "Action",
    "ActionContext",
    "Change",
    "Control",
    "Finding",
    "Guard",
    "Notification",
    "Remainder",
    "SkipDecision",
]


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What an action may use.

    Args:
        run: The URL of the run.
        say: Shows a line to whoever watches.
        hides: Whether a finding only follows from one that was shown, and need not be.
    """

    run: str
    say: Callable[[str], None]
    hides: Callable[[Finding], bool] = lambda _: False


class Action:
    """What all actions declare."""

    #: How often it is done in a run, unless a policy says otherwise; ``None`` for always.
    at_most: ClassVar[int | None] = None
    #: It is never done about findings below this.
    least_severity: ClassVar[str] = "info"


class Notification(Action):
    """An action that needs nothing of the training.

    It is called on a thread of its own, on which it may take its time. Where it raises it is
    called again, three times, ever later.
    """

    #: It takes no time, and is called as soon as something is found, once.
    at_once: ClassVar[bool] = False

    def act(self, finding: Finding, context: ActionContext) -> str:
        """Do it, and return what was done, in one line; raise if it could not be done."""
        raise NotImplementedError


class Change(Action):
    """An action on the training, called on its thread, between two steps."""

    def prepare(self, control: Control) -> None:
        """Ask for what is needed from the beginning; raise if it cannot be had."""

    def change(self, finding: Finding, control: Control) -> str | Remainder:
        """Do it, and return what was done; or what is left to be done in the background."""
        raise NotImplementedError


class Guard(Action):
    """An action that judges by itself, before any rule could."""

    def guard(self, control: Control, skips: SkipDecision) -> None:
        """Begin to judge.

        Args:
            control: The control of the training.
            skips: Asked about each batch that is bad; it is skipped if that returns true.
        """
        raise NotImplementedError
