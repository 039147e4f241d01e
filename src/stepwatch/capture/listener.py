"""Who looks at every step in the training process, before it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..record import StepRecord
from ..store import Store


class Listener(Protocol):
    """Looks at every step on the background thread, before it is stored."""

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Learn where the run lies; called once, before the first step."""

    def look(self, record: StepRecord) -> None:
        """Look at one step."""

    def finish(self) -> None:
        """The last step was seen."""
