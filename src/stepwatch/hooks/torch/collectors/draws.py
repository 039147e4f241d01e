"""Whether a model draws the very same numbers in each training step, as a script seeds in each.

Dropout masks and noise are then one pattern that the model learns with. It shows in the state of
the random generator: it is the same where each step begins, and another once the model has run.
"""

from __future__ import annotations

import torch

from ..internals import in_transform, isolated_compute

#: So many steps in a row that begin at the same place and draw; and so many are looked at.
LEAST_SAME, _MOST_LOOKS = 8, 32


class RepeatedDraws:
    """Counts the steps in a row in which a model drew the same.

    Not those that are not looked at, as a budget has it, and those in which nothing is drawn.
    """

    def __init__(self) -> None:
        self._num_looks = 0
        self._start: bytes | None = None
        self._last: bytes | None = None
        self._count = 0

    @property
    def are_known(self) -> bool:
        """Whether the same was drawn in enough steps."""
        return self._count >= LEAST_SAME

    def begin(self) -> None:
        """A model begins to run in a TRAIN step."""
        is_looked_at = self._num_looks < _MOST_LOOKS and not self.are_known
        # Within ``torch.func.vmap`` and the like no tensor has numbers that can be read.
        if self._start is None and is_looked_at and not in_transform():
            self._start = _state()

    def before_backward(self) -> None:
        """The gradients of the step are about to be computed."""
        start, self._start = self._start, None
        if start is None or in_transform():
            return
        self._num_looks += 1
        if _state() != start:
            self._count = self._count + 1 if start == self._last else 0
            self._last = start


def _state() -> bytes:
    """Return where the generators stand, on the processor and on the current device."""
    with isolated_compute("cpu"):
        state = torch.get_rng_state().numpy().tobytes()
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # of torch
            state += torch.cuda.get_rng_state().numpy().tobytes()
    return state
