"""How long each module takes, forward and backward, in a step now and then.

The forward of a module holds those of the modules inside of it. A backward is told of modules
that hold no others: it lasts from when the gradient of a module's output is there until that of
the next one is, so what is between two modules counts for the first. Times are those of the host,
which on an accelerator only launches the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import torch

from ...capture.open_step import OpenStep
from ...capture.spans import Spans
from ...formats.profile.tables import Span
from ...steps import Mode

#: One TRAIN step of so many is looked at, the first of them after as many as a script warms up.
EVERY, FIRST = 100, 10


class Layers:
    """Takes the times of modules in some TRAIN steps.

    Args:
        spans: Who takes them.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._ticks = spans.clock.ticks
        self._on = False
        self._number = -1
        self._stack: list[tuple[torch.nn.Module, int]] = []
        self._came: list[tuple[int, str]] = []

    def begin(self, step: OpenStep, number: int, *, on: bool) -> None:
        """A model begins to run in a step, of this global number."""
        self._on = on and step.mode is Mode.TRAIN and step.mode_step % EVERY == FIRST
        self._number = number
        self._stack.clear()

    def enter(self, module: torch.nn.Module) -> None:
        """A module begins to run."""
        if self._on:
            self._stack.append((module, self._ticks()))

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told of what modules return."""
        return self._on and step.mode is Mode.TRAIN

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module of this name returned."""
        del given
        if not self._on or step.mode is not Mode.TRAIN:
            return
        while self._stack:
            entered, start = self._stack.pop()  # what raised inside of it never returned
            if entered is module:
                self._tell(start, self._ticks(), f"{name or 'model'}:forward", "main")
                break
        if next(module.children(), None) is None:
            for node in _nodes(output):
                node.register_prehook(partial(self._gradient_came, name))

    def after_backward(self) -> None:
        """Gradients were computed."""
        came, self._came = self._came, []
        ends = [*came, (self._ticks(), "")]
        for (start, name), (stop, _) in pairwise(ends):
            self._tell(start, stop, f"{name or 'model'}:backward", "backward")

    def complete(self) -> None:
        """The step ends."""
        self._on = False
        self._stack.clear()
        self._came.clear()

    def _gradient_came(self, name: str, _: object) -> None:
        self._came.append((self._ticks(), name))

    def _tell(self, start: int, stop: int, name: str, thread: str) -> None:
        span = Span(start, stop - start, "layer", name, Mode.TRAIN.value, self._number, thread)
        self._spans.add(span)


def _nodes(output: object) -> Iterator[torch.autograd.graph.Node]:
    """Yield where the gradient of what a module returned comes in, of its first such tensor."""
    found = output if isinstance(output, (tuple, list)) else (output,)
    for value in found:
        if isinstance(value, torch.Tensor) and value.grad_fn is not None:
            yield value.grad_fn
            return
