"""Which of what torch tells is listened to."""

from __future__ import annotations

import os
import threading

import torch


class Looking:
    """What is guarded, and looks only at its own process and thread.

    Args:
        strict: Raise our own failures into training.
    """

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        #: What ended capturing, if it failed.
        self.failure = ""
        self.active = True
        self._process, self._thread = os.getpid(), threading.get_ident()

    def _looking(self) -> bool:
        # In one expression, as it is asked twice for each module that runs.
        return (
            self.active
            and os.getpid() == self._process
            and threading.get_ident() == self._thread
            and not torch._C._get_tracing_state()
        )

    def _is_here(self) -> bool:
        """Return whether this is the process that we were made in, and no fork of it."""
        return os.getpid() == self._process


def in_backward() -> bool:
    """Return whether gradients are being computed: what runs now is computed anew for them."""
    return torch._C._current_graph_task_id() != -1


def in_transform() -> bool:
    """Return whether tensors are inside of a transform of torch.func, such as vmap."""
    return torch._C._functorch.peek_interpreter_stack() is not None
