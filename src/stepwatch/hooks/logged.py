"""The hook for trainings of no framework: what a script logs by itself is all that it captures."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from .. import __version__
from ..capture.guard import guarded
from ..formats.foreign.series import tensor_of
from .base import Hook


class LoggedHook(Hook):
    """Captures numbers that it is given; rules that need no more judge them.

    Args:
        run: Directory or URL to write to, which must not hold a run yet.
        options: Those of ``Hook``.

    Example:
        >>> hook = LoggedHook("memory://logged", say=lambda line: None)
        >>> for loss in (2.0, 1.0):
        ...     hook.log({"loss": loss, "lr": 0.1})
        >>> hook.close().steps
        2
    """

    framework: ClassVar[str] = "stepwatch"

    def __init__(self, run: Any, **options: Any) -> None:
        super().__init__(run, **options)
        self._step: int | None = None
        self.attach()

    @classmethod
    def version(cls) -> str:
        return __version__

    @guarded
    def log(self, metrics: Mapping[str, object], step: int | None = None) -> None:
        """Take the numbers of a step; by their names they are losses, learning rates or metrics.

        Args:
            metrics: By name; what is no number is left out.
            step: Calls with the same one belong to one step; without it each call is a step.
        """
        if step is None or step != self._step:
            self.finish()
        self._step = step
        for name, value in metrics.items():
            number = None
            with suppress(TypeError, ValueError, RuntimeError):
                number = float(value)  # type: ignore[arg-type]
            if number is not None:
                info, mode = tensor_of(str(name))
                self.observe(info.name, info.collection, np.asarray(number), mode)
        if step is None:
            self.finish()

    def attach(self) -> None:
        self.active = True

    def detach(self) -> None:
        self.active = False

    def finish(self) -> None:
        for mode in list(self.recorder.opened):
            self.end_step(mode)
