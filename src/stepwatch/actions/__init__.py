"""What is done about a finding. An action is a function of a finding.

A plug-in is declared as an entry point of ``stepwatch.actions`` and is called with the training
it may act on; it returns the action.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..finding import Finding

Action = Callable[[Finding], None]


class Training(Protocol):
    """The training that an action may act on."""

    def say(self, line: str) -> None:
        """Show a line to whoever watches the training."""

    def stop(self, reason: str) -> None:
        """End the training after the step that is running."""
