"""When to save, and what: schedules of steps, and the policy of a collection."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConfigError


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which steps, counted within one mode.

    Args:
        every: Each ``every``-th step, counted from step 0. At least 1.
        first: First step that may be chosen. At least 0.
        last: First step that may no longer be chosen; ``None`` for no end.
        steps: Exactly these steps instead; the other fields are then ignored.

    Raises:
        ConfigError: ``every`` below 1, a negative step, or an empty window.

    Example:
        >>> schedule = Schedule(every=10, first=5)
        >>> [step for step in range(31) if schedule.wants(step)]
        [10, 20, 30]
    """

    every: int = 1
    first: int = 0
    last: int | None = None
    steps: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ConfigError(f"every must be at least 1, got {self.every}")
        if self.first < 0:
            raise ConfigError(f"first must be at least 0, got {self.first}")
        if self.last is not None and self.last <= self.first:
            raise ConfigError(f"last ({self.last}) must be above first ({self.first})")
        if any(step < 0 for step in self.steps):
            raise ConfigError(f"steps must be at least 0, got {min(self.steps)}")

    def wants(self, step: int) -> bool:
        if self.steps:
            return step in self.steps
        in_window = self.first <= step and (self.last is None or step < self.last)
        return in_window and step % self.every == 0


EVERY_STEP = Schedule()


@dataclass(frozen=True, slots=True)
class SavePolicy:
    """What to save of a tensor, and when.

    A step that saves anything else saves the statistics too: they cost little beside it.

    Args:
        statistics: Steps whose statistics are saved; ``None`` for never.
        raw: Steps whose full value is saved; ``None`` for never.
        digest: Steps whose 64-bit digest is saved; ``None`` for never.
        exponents: Steps whose histogram of exponents is saved; ``None`` for never.
    """

    statistics: Schedule | None = EVERY_STEP
    raw: Schedule | None = None
    digest: Schedule | None = None
    exponents: Schedule | None = None
