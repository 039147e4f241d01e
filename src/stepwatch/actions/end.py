"""End the training."""

from __future__ import annotations

from typing import ClassVar

from ..errors import FindingRaised
from . import Change, Control, Finding


class Stop(Change):
    """Stops the training after its step, by ``TrainingStopped``, which is a ``SystemExit``."""

    at_most: ClassVar[int | None] = 1
    least_severity: ClassVar[str] = "warning"

    def change(self, finding: Finding, control: Control) -> str:
        control.stop(finding.headline())
        return "stopped the training"


class Raise(Change):
    """Raises ``FindingRaised`` into the training after its step; ``except Exception`` takes it."""

    least_severity: ClassVar[str] = "warning"

    def change(self, finding: Finding, control: Control) -> str:
        control.fail(FindingRaised(finding.headline()))
        return "raised into the training"
