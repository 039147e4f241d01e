"""How smdebug numbers steps: one count over all, and one within each mode that was used."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..steps import Mode


@dataclass(slots=True)
class StepNumbers:
    """Where a training is, counted from 0; -1 before its first step.

    Args:
        first: What every count begins after; more than -1 when a training is resumed.
        step: The global step.
        within: The step within each mode that was used. That of ``GLOBAL`` is the global step.
        mode: What the model is used for from the next step on.

    Example:
        >>> numbers = StepNumbers()
        >>> numbers.use(Mode.TRAIN)
        >>> numbers.advance(), numbers.advance()
        ((<Mode.TRAIN: 'TRAIN'>, 0, 0), (<Mode.TRAIN: 'TRAIN'>, 1, 1))
        >>> numbers.use(Mode.EVAL)
        >>> numbers.advance()
        (<Mode.EVAL: 'EVAL'>, 2, 0)
    """

    first: int = -1
    step: int = -1
    within: dict[Mode, int] = field(default_factory=dict)
    mode: Mode = Mode.GLOBAL

    def __post_init__(self) -> None:
        self.within[Mode.GLOBAL] = self.step
        self.use(self.mode)

    def use(self, mode: Mode) -> None:
        """Count the next step in this mode."""
        self.mode = mode
        self.within.setdefault(mode, self.first)

    def advance(self) -> tuple[Mode, int, int]:
        """Count a step and return its mode, its number, and its number within the mode."""
        self.step += 1
        self.within[self.mode] += 1
        self.within[Mode.GLOBAL] = self.step
        return self.mode, self.step, self.within[self.mode]
