"""What a trial asks of a run, whatever the format in which it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from smdebug.core.collection import Collection
from stepwatch.hook_config import Reduction
from stepwatch.steps import Mode

#: First global step and the one behind the last; each may be open.
Span = tuple[int | None, int | None]
EVERYTHING: Span = (None, None)


@dataclass(frozen=True, slots=True)
class Saved:
    """What one worker saved of one tensor at one step.

    Args:
        mode: The mode of the step.
        mode_step: The step within the mode.
        has_value: Whether its full value is there.
        shape: Its shape, if that is known without the value.
        reductions: Which reductions of it were saved.
    """

    mode: Mode
    mode_step: int
    has_value: bool
    shape: tuple[int, ...] | None = None
    reductions: tuple[Reduction, ...] = ()


class Evidence(Protocol):
    """What is saved of the tensors of a run, as of the last ``refresh``."""

    def refresh(self) -> None:
        """See what is new; the run was read again."""

    def collections(self) -> dict[str, Collection]:
        """Return the collections, with the tensors that each holds; new objects each time."""

    def tensors(
        self, *, mode: Mode | None = None, worker: str | None = None, steps: Span = EVERYTHING
    ) -> set[str]:
        """Return the names of tensors.

        Args:
            mode: Only those that have a step of this mode.
            worker: Only those that this worker saved.
            steps: Only those that have a global step within.
        """

    def tensors_at(self, step: int) -> dict[str, set[str]]:
        """Return the names of the tensors of a global step, by worker."""

    def original_name(self, tensor: str) -> str | None:
        """Return what the framework calls a tensor; ``None`` if that was not saved."""

    def steps_of(self, tensor: str) -> Mapping[int, tuple[Mode, int]]:
        """Return the global steps of a tensor, each with its mode and mode step."""

    def saved(self, tensor: str, step: int) -> dict[str, Saved]:
        """Return what of a tensor was saved at a global step, by worker."""

    def value(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value that was saved."""

    def reduction(self, worker: str, step: int, tensor: str, reduction: Reduction) -> Any:
        """Return a reduction that was saved or follows from what was saved.

        Raises:
            LookupError: It does not follow.
        """
