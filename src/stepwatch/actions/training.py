"""Actions on the training itself: capture more, stop, checkpoint, restore, lower learning rates."""

from __future__ import annotations

from typing import ClassVar

from ..errors import ConfigError, FindingRaised
from ..model.collection import parse_save
from . import Change, Control, Finding, Guard, Remainder, SkipDecision

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


class Checkpoint(Change):
    """Saves models and optimizers as they are, or calls what the script gave ``on_checkpoint``."""

    at_most: ClassVar[int | None] = 3

    def change(self, finding: Finding, control: Control) -> str | Remainder:
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

    def guard(self, control: Control, skips: SkipDecision) -> None:
        control.skip_batches(self.spike, skips)
