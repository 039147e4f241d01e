"""Save more of the steps after a finding."""

from __future__ import annotations

from typing import ClassVar

from ..collection import parse_save
from ..errors import ConfigError
from . import Change, Control, Finding

EVERYTHING = (
    "weights:raw",
    "buffers:raw",
    "gradients:raw",
    "outputs:raw",
    "losses:raw",
    "batches:raw",
)


class CaptureMore(Change):
    """Saves full values of the next TRAIN steps.

    Args:
        steps: Of how many; at least 1.
        save: Of what, as ``--save`` texts.
    """

    at_most: ClassVar[int | None] = 3

    def __init__(self, steps: int = 3, save: tuple[str, ...] = EVERYTHING) -> None:
        if steps < 1:
            raise ConfigError(f"steps must be at least 1, got {steps}")
        self.steps = steps
        self.collections = [parse_save(text) for text in save]

    def change(self, finding: Finding, control: Control) -> str:  # noqa: ARG002  any will do
        return control.capture_more(self.collections, self.steps)
