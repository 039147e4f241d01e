"""Steps and modes: how time is counted in a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from ..errors import ConfigError

#: The modes of steps that people count by; ``""`` is one that is not known.
TRAINS = ("", "TRAIN", "GLOBAL")


class Mode(str, Enum):
    """What the model is being used for at a step.

    ``GLOBAL`` is the view over all modes; no step is recorded in it unless a framework
    knows no modes.
    """

    TRAIN = "TRAIN"
    EVAL = "EVAL"
    PREDICT = "PREDICT"
    GLOBAL = "GLOBAL"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def _missing_(cls, value: object) -> Mode:
        """Take any case; say what there is for the rest."""
        for mode in cls:
            if isinstance(value, str) and value.upper() == mode.value:
                return mode
        raise ConfigError(f"no mode {value!r}; there are {', '.join(mode.value for mode in cls)}")


class StepCounter:
    """Numbers the steps of a run: one global count, and one within each mode.

    Args:
        first: The first global step.
        within: The first step within each mode; 0 for those that are missing.

    Example:
        >>> counter = StepCounter()
        >>> counter.next(Mode.TRAIN), counter.next(Mode.EVAL), counter.next(Mode.TRAIN)
        ((0, 0), (1, 0), (2, 1))
    """

    def __init__(self, first: int = 0, within: Mapping[Mode, int] | None = None) -> None:
        self._global = first
        self._within = dict(within or {})

    def peek(self, mode: Mode) -> tuple[int, int]:
        """Return the ``(global step, mode step)`` that the next step of ``mode`` will get."""
        return self._global, self._within.get(mode, 0)

    @property
    def counted(self) -> dict[Mode, int]:
        """How many steps of each mode there were."""
        return dict(self._within)

    def next(self, mode: Mode) -> tuple[int, int]:
        """Count one step of ``mode`` and return its ``(global step, mode step)``."""
        step, mode_step = self._global, self._within.get(mode, 0)
        self._global = step + 1
        self._within[mode] = mode_step + 1
        return step, mode_step


def count_by_mode(observed: Mapping[str, int], counted: Iterable[Mapping[str, int]]) -> str:
    """Return how many steps of each mode were observed, in words; of how many if not of all.

    Args:
        observed: By mode.
        counted: How many there were, by mode, as each worker counted; nothing where it did not.

    Example:
        >>> count_by_mode({"TRAIN": 1200, "PREDICT": 11}, [{"TRAIN": 1200, "PREDICT": 36}])
        '1,200 TRAIN, 11 of 36 PREDICT observed'
    """
    known = [*counted]
    parts = []
    for mode, count in observed.items():
        total = max((one.get(mode, 0) for one in known), default=0)
        parts.append(
            f"{count:,} of {total:,} {mode} observed" if total > count else f"{count:,} {mode}"
        )
    return ", ".join(parts)


def train_step(mode: str, step: int, mode_step: int) -> int:
    """Return the TRAIN step that people count by; that which training had come to elsewhere.

    Args:
        mode: That of the step; ``""`` where it is not known.
        step: The global step.
        mode_step: The step as its mode counts it.

    Example:
        >>> train_step("TRAIN", 9, 7), train_step("EVAL", 33, 1)
        (7, 32)
    """
    return mode_step if mode in TRAINS else max(0, step - mode_step)
