"""Which units of a ReLU are active, and which of a tanh or sigmoid are not saturated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import atanh, log, sqrt

import torch

from ...capture.open_step import OpenStep
from .arrays import tensors_in, unsupported
from .sampling import thinned
from .summaries import Summaries
from .unnoticed import unnoticed

RELU, TANH, SIGMOID = "relu", "tanh", "sigmoid"

#: Derivatives that are still worth something, for the rows of ``inside``.
SLOPES = (1e-2, 1e-4, 1e-7)
#: Above so many elements a sample of them is looked at.
MOST_ELEMENTS = 1 << 20
#: So many calls of a module are told apart, while its model runs once.
MOST_CALLS = 8

# The last pair is what smdebug calls not saturated.
_INTERVALS = {
    TANH: [
        *((-edge, edge) for edge in (atanh(sqrt(1 - slope)) for slope in SLOPES)),
        (-9.4999, 9.4999),
    ],
    SIGMOID: [
        *(
            (-edge, edge)
            for edge in (log((1 + root) / (1 - root)) for root in (sqrt(1 - 4 * s) for s in SLOPES))
        ),
        (-23.0, 16.99999),
    ],
}


def active_share(output: torch.Tensor) -> torch.Tensor:
    """Return the share of values above zero of each unit.

    Args:
        output: Shape ``[batch, units]``, ``[batch, length, units]`` or
            ``[batch, units, ...]``, any real dtype.

    Returns:
        Shape ``[units]``, float32, between 0 and 1; a nan counts as not above.
    """
    axis = _unit_axis(output)
    return _share(thinned(output, axis, MOST_ELEMENTS) > 0, axis)


def inside_share(given: torch.Tensor, kind: str) -> torch.Tensor:
    """Return the share of inputs of each unit where its function still has a slope.

    Args:
        given: As ``output`` of ``active_share``, before the function.
        kind: ``tanh`` or ``sigmoid``.

    Returns:
        Shape ``[4, units]``, float32, between 0 and 1: strictly inside the interval where the
        derivative is above each of ``SLOPES``, and inside smdebug's, (-9.4999, 9.4999) for tanh
        and (-23, 16.99999) for sigmoid. A nan is outside.
    """
    axis = _unit_axis(given)
    # float32: in bfloat16 the edges would be others.
    values = thinned(given, axis, MOST_ELEMENTS).to(torch.float32)
    return torch.stack(
        [_share((values > low) & (values < high), axis) for low, high in _INTERVALS[kind]]
    )


class Activity:
    """Observes activations, where that is asked for.

    Args:
        running: Returns the name of the innermost module that runs, ``None`` if none does.
        summaries: Who takes what is found.
    """

    def __init__(self, running: Callable[[], str | None], summaries: Summaries) -> None:
        self._running = running
        self._summaries = summaries
        self._calls: Counter[tuple[str, str]] = Counter()

    def begin(self) -> None:
        """A model begins to run: what is called now is called for the first time."""
        self._calls.clear()

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told of what modules return."""
        return step.wants("activity")

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module returned: of some the functions that they call cannot be heard."""
        del output
        if isinstance(module, (torch.nn.Tanh, torch.nn.Sigmoid)):
            kind = TANH if isinstance(module, torch.nn.Tanh) else SIGMOID
            for _, tensor in tensors_in(given):
                self._observe(step, kind, name, tensor)

    def called(self, current: Callable[[], OpenStep], kind: str, tensor: object) -> None:
        """A function was called inside of a module.

        Args:
            current: Returns the step.
            kind: ``relu``, ``tanh`` or ``sigmoid``.
            tensor: What a ReLU returned; what the others were given.
        """
        name = self._running()
        if name is not None and isinstance(tensor, torch.Tensor):
            step = current()
            if step.wants("activity"):
                self._observe(step, kind, name, tensor)

    def _observe(self, step: OpenStep, kind: str, module: str, tensor: torch.Tensor) -> None:
        number = self._calls[kind, module]
        self._calls[kind, module] += 1
        site = f"{module}/{number}" if number else module
        name = f"active/{site}" if kind == RELU else f"inside/{site}/{kind}"
        if number >= MOST_CALLS or not self._summaries.wants(step, "activity", name):
            return
        if unsupported(tensor) or tensor.layout is not torch.strided or tensor.is_complex():
            return
        if tensor.dim() < 2 or not tensor.numel():
            return  # one sample: there is nothing to take a share of
        with unnoticed(tensor.device.type):
            value = tensor.detach()
            found = active_share(value) if kind == RELU else inside_share(value, kind)
        self._summaries.add(step, "activity", name, found)


def _unit_axis(tensor: torch.Tensor) -> int:
    return 2 if tensor.dim() == 3 else 1


def _share(which: torch.Tensor, axis: int) -> torch.Tensor:
    others = [dim for dim in range(which.dim()) if dim != axis]
    return which.sum(others).to(torch.float32) / (which.numel() // which.shape[axis])
