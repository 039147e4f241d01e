"""By how much an optimizer moves each parameter, relative to what it was.

The weights from before the step are copied, at steps where this is wanted only. Of a large
parameter a sample is: a copy of the whole might be the memory that training needs.
"""

from __future__ import annotations

import torch

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING
from ...record import TensorInfo
from .arrays import unsupported
from .parameters import Parameters
from .scalars import Scalars
from .sharded import part_of
from .unnoticed import unnoticed

#: A parameter of more elements than their product is sampled by so many runs of so many elements.
RUNS, RUN_LENGTH = 1024, 256


class Updates:
    """Observes the norm of each update over the norm of the parameter.

    Args:
        parameters: Of the optimizers.
        scalars: Who takes the numbers.
    """

    def __init__(self, parameters: Parameters, scalars: Scalars) -> None:
        self._parameters = parameters
        self._scalars = scalars
        self._before: list[tuple[str, torch.Tensor, torch.Tensor]] = []

    def before(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step: remember its parameters if the step wants that."""
        self._before = []
        if not step.wants("updates"):
            return
        tracked = self._parameters.of(optimizer)
        for name, parameter in {one.weight.name: one.parameter for one in tracked}.items():
            info = TensorInfo(f"update_ratio/{name}", "updates", "float32", ())
            if parameter.requires_grad and step.level(info) != NOTHING:
                with unnoticed(parameter.device.type):
                    sample = _sample(parameter)
                    if sample is not None:
                        self._before.append((info.name, parameter, _widened(sample)))

    def after(self, step: OpenStep) -> None:
        """It stepped."""
        before, self._before = self._before, []
        for name, parameter, old in before:
            with unnoticed(old.device.type):
                new = _sample(parameter)
                if new is not None and new.shape == old.shape and new.device == old.device:
                    self._scalars.add(step, name, "updates", update_ratio(old, new))


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


def _sample(parameter: torch.Tensor) -> torch.Tensor | None:
    """Return a view of what is compared of a parameter; ``None`` where nothing can be.

    Of one that is spread over processes, of the part that is here.
    """
    local, _, missing = part_of(parameter)
    local = local.detach()
    if missing or unsupported(local) or local.layout is not torch.strided:
        return None
    if not (local.is_floating_point() or local.is_complex()) or not local.numel():
        return None
    strides = local.stride()
    order = sorted(range(local.dim()), key=lambda dim: -strides[dim])
    flat = local.permute(order).reshape(-1)  # in the order in which it lies: no copy
    if flat.numel() <= RUNS * RUN_LENGTH:
        return flat
    every = flat.numel() // RUNS
    return flat[: RUNS * every].view(RUNS, every)[:, :RUN_LENGTH]


def _widened(sample: torch.Tensor) -> torch.Tensor:
    """Return a copy in which small changes are not rounded away."""
    narrow = sample.is_floating_point() and sample.dtype is not torch.float64
    return sample.to(torch.float32 if narrow else sample.dtype, copy=True)
