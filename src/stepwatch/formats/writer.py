"""What writes one worker's part of a run, whatever the format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..hook_config import Stored
from ..record import StepRecord
from ..steps import Mode
from .manifest import End

#: What of a tensor is stored at a step: of this name, mode and step within the mode.
StoredAt = Callable[[str, Mode, int], "Stored | None"]


class RunWriter(Protocol):
    """Writes one worker's part of a run. Everything here runs on the background thread."""

    @property
    def lost(self) -> int:
        """How many steps could not be stored."""

    def write(self, record: StepRecord) -> None:
        """Take one step; later than the ones before."""

    def tick(self) -> None:
        """Store what waited long enough; called a few times a second."""

    def flush(self) -> None:
        """Store what was taken."""

    def close(self, end: End) -> None:
        """Store what is left, then the note that says how the run ended."""
