"""Record every operation of the steps after a finding."""

from __future__ import annotations

from typing import ClassVar

from ..errors import ConfigError
from . import Change, Control, Finding


class Profile(Change):
    """Records every operation of the next steps, for Perfetto.

    Args:
        steps: Of how many; from 1 to 10.
    """

    at_most: ClassVar[int | None] = 3

    def __init__(self, steps: int = 3) -> None:
        if not 1 <= steps <= 10:
            raise ConfigError(f"steps must be from 1 to 10, got {steps}")
        self.steps = steps

    def change(self, finding: Finding, control: Control) -> str:  # noqa: ARG002  any will do
        return control.profile(self.steps)
