"""Change what the training goes on from."""

from __future__ import annotations

from typing import ClassVar

from ..errors import ConfigError
from . import Change, Control, Finding, Guard, Rest, Skips


class Checkpoint(Change):
    """Saves models and optimizers as they are, or calls what the script gave ``on_checkpoint``."""

    at_most: ClassVar[int | None] = 3

    def change(self, finding: Finding, control: Control) -> str | Rest:
        return control.checkpoint(finding)


class LowerLr(Change):
    """Multiplies all learning rates.

    Args:
        factor: By what; above 0 and below 1.
    """

    at_most: ClassVar[int | None] = 3
    least_severity: ClassVar[str] = "warning"

    def __init__(self, factor: float = 0.5) -> None:
        if not 0 < factor < 1:
            raise ConfigError(f"factor must be above 0 and below 1, got {factor}")
        self.factor = factor

    def change(self, finding: Finding, control: Control) -> str:  # noqa: ARG002  any will do
        return control.scale_learning_rates(self.factor)


class Restore(Change):
    """Goes back to the last good state, and lets the training go on from there.

    Args:
        every: A copy of the state is made after the first TRAIN step and each so many later.
        trusted_after: A copy may be used once nothing was found in so many steps after it.
    """

    at_most: ClassVar[int | None] = 3
    least_severity: ClassVar[str] = "warning"

    def __init__(self, every: int = 20, trusted_after: int = 2) -> None:
        if every < 1 or trusted_after < 0:
            raise ConfigError(
                "every must be at least 1 and trusted_after at least 0, "
                f"got {every} and {trusted_after}"
            )
        self.every, self.trusted_after = every, trusted_after

    def prepare(self, control: Control) -> None:
        control.keep_states(self.every, self.trusted_after)

    def change(self, finding: Finding, control: Control) -> str:
        return control.restore(finding.step)


class SkipBatch(Guard):
    """Leaves out the optimizer's step where gradients are not finite, or far too large.

    Args:
        spike: How many times the median norm of the last 64 updates is too large; above 1.
            ``None`` for no such limit.
    """

    at_most: ClassVar[int | None] = 10

    def __init__(self, spike: float | None = None) -> None:
        if spike is not None and not spike > 1:
            raise ConfigError(f"spike must be above 1, got {spike}")
        self.spike = spike

    def guard(self, control: Control, skips: Skips) -> None:
        control.skip_batches(self.spike, skips)
