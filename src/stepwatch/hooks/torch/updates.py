"""By how much an optimizer moves each parameter, relative to what it was.

The weights from before the step are copied, at steps where this is wanted only. Of a large
parameter a sample is: a copy of the whole might be the memory that training needs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING
from ...record import TensorInfo
from .parameters import Parameters
from .sampling import lie_alike, runs_of
from .scalars import Scalars
from .unnoticed import unnoticed

#: A parameter of more elements than their product is sampled by so many runs of so many elements.
RUNS, RUN_LENGTH = 1024, 256

_LOW_PRECISION = (torch.bfloat16, torch.float16)


class _Before(NamedTuple):
    """What is remembered of a parameter while its optimizer steps.

    Args:
        name: Of the parameter.
        parameter: Itself.
        pushed: Where the gradient of its sample is not zero; ``None`` where nobody asks.
        old: A copy of the sample, not narrower than float32.
    """

    name: str
    parameter: torch.Tensor
    pushed: torch.Tensor | None
    old: torch.Tensor


class Updates:
    """Observes how far each parameter is moved, and what of that is lost to rounding.

    Args:
        parameters: Of the optimizers.
        scalars: Who takes the numbers.
    """

    def __init__(self, parameters: Parameters, scalars: Scalars) -> None:
        self._parameters = parameters
        self._scalars = scalars
        self._before: list[_Before] = []

    def before(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step: remember its parameters if the step wants that."""
        self._before = []
        if not step.wants("updates"):
            return
        tracked = self._parameters.of(optimizer)
        for name, parameter in {one.weight.name: one.parameter for one in tracked}.items():
            asks_lost = _is_wanted(step, f"lost_updates/{name}") and _may_lose(parameter)
            if not parameter.requires_grad or not (
                asks_lost or _is_wanted(step, f"update_ratio/{name}")
            ):
                continue
            with unnoticed(parameter.device.type):
                sample = runs_of(parameter, RUNS, RUN_LENGTH)
                if sample is not None:
                    pushed = _pushed(parameter) if asks_lost else None
                    self._before.append(_Before(name, parameter, pushed, _widened(sample)))

    def after(self, step: OpenStep) -> None:
        """It stepped."""
        before, self._before = self._before, []
        for one in before:
            with unnoticed(one.old.device.type):
                new = runs_of(one.parameter, RUNS, RUN_LENGTH)
                if new is None or new.shape != one.old.shape or new.device != one.old.device:
                    continue
                if one.pushed is not None:
                    lost = lost_share(one.old, new, one.pushed)
                    self._scalars.add(step, f"lost_updates/{one.name}", "updates", lost)
                ratio = update_ratio(one.old, new)
                self._scalars.add(step, f"update_ratio/{one.name}", "updates", ratio)


def update_ratio(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Return the norm of a change over the norm of what it changed, without dimensions.

    Args:
        old: Before, any shape, float32, float64 or complex. It is overwritten.
        new: After, the same shape, any floating dtype.

    Returns:
        ``||new - old|| / ||old||``, l2 norms; where ``old`` is zero, 1 if ``new`` is not and 0 if
        it is as well. Where it is computed, of the real dtype of ``old``.
    """
    size = torch.linalg.vector_norm(old)
    change = torch.linalg.vector_norm(old.sub_(new))
    return torch.where(size == 0, (change != 0).to(size.dtype), change / size)


def lost_share(old: torch.Tensor, new: torch.Tensor, pushed: torch.Tensor) -> torch.Tensor:
    """Return the share of elements that were to move and are what they were.

    Weights in low precision lose an update that is small beside them, because the sum is rounded
    to what the weight was (Zamirai et al.: Revisiting bfloat16 training, 2020).

    Args:
        old: Before, any shape, of a dtype that holds every value of ``new``.
        new: After, the same shape.
        pushed: Which of them were to move, bool, the same shape.

    Returns:
        Shape ``[]``, float32, between 0 and 1; nan where none was to move.
    """
    return ((old == new) & pushed).sum().to(torch.float32) / pushed.sum()


def _is_wanted(step: OpenStep, name: str) -> bool:
    return step.level(TensorInfo(name, "updates", "float32", ())) != NOTHING


def _may_lose(parameter: torch.Tensor) -> bool:
    gradient = parameter.grad
    return (
        parameter.dtype in _LOW_PRECISION
        and gradient is not None
        and lie_alike(parameter, gradient)
    )


def _pushed(parameter: torch.Tensor) -> torch.Tensor | None:
    gradient = None if parameter.grad is None else runs_of(parameter.grad, RUNS, RUN_LENGTH)
    return None if gradient is None else gradient != 0


def _widened(sample: torch.Tensor) -> torch.Tensor:
    """Return a copy in which small changes are not rounded away."""
    narrow = sample.is_floating_point() and sample.dtype is not torch.float64
    return sample.to(torch.float32 if narrow else sample.dtype, copy=True)
