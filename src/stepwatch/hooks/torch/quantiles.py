"""How the values of gradients and outputs are spread."""

from __future__ import annotations

import numpy as np
import torch

from ...capture.open_step import OpenStep
from .arrays import tensors_in, unsupported
from .parameters import Parameters
from .sampling import evenly
from .sharded import part_of
from .summaries import Summaries
from .unnoticed import unnoticed

#: So many values are looked at of a tensor.
MOST_VALUES = 4096
FRACTIONS = (0.05, 0.25, 0.5, 0.75, 0.95)


def spread(values: torch.Tensor) -> torch.Tensor:
    """Return quantiles and the kurtosis of what is finite of some values.

    Args:
        values: Shape ``[n]``, float64, on the host.

    Returns:
        Shape ``[7]``, float32: the quantiles at ``FRACTIONS``, by linear interpolation; the
        median of the magnitudes; the kurtosis ``mean((x - mean)^4) / variance^2``, 3 for a normal
        distribution (Pearson: Skew variation, a rejoinder, 1905). All nan where nothing is
        finite, and the kurtosis where all values are the same.
    """
    finite = values.numpy()
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return torch.full((len(FRACTIONS) + 2,), torch.nan)
    squares = np.square(finite - finite.mean())
    with np.errstate(invalid="ignore"):  # of what does not vary the kurtosis is 0 / 0
        kurtosis = np.mean(np.square(squares)) / np.square(np.mean(squares))
    found = [*np.quantile(finite, FRACTIONS), np.median(np.abs(finite)), kurtosis]
    return torch.tensor(found, dtype=torch.float32)


class Quantiles:
    """Observes how gradients and outputs are spread, where that is asked for.

    Args:
        parameters: Of the optimizers.
        summaries: Who takes what is found.
    """

    def __init__(self, parameters: Parameters, summaries: Summaries) -> None:
        self._parameters = parameters
        self._summaries = summaries

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told of what modules return."""
        return step.wants("quantiles")

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module returned."""
        del module, given
        for path, tensor in tensors_in(output):
            self._observe(step, f"output/{name}{path}", tensor)

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        if step.wants("quantiles"):
            scale = getattr(optimizer, "grad_scale", None)
            for one in self._parameters.of(optimizer):
                if one.parameter.grad is not None:
                    self._observe(step, one.gradient.name, one.parameter.grad, scale)

    def _observe(
        self, step: OpenStep, of: str, tensor: torch.Tensor, scale: torch.Tensor | None = None
    ) -> None:
        name = f"quantiles/{of}"
        if not self._summaries.wants(step, "quantiles", name):
            return
        local, _, missing = part_of(tensor)
        if missing or unsupported(local) or local.layout is not torch.strided:
            return
        if not local.is_floating_point() or not local.numel():
            return
        with unnoticed(local.device.type):
            values = evenly(local, MOST_VALUES).to(torch.float64)
            values = values if scale is None else values / scale
        self._summaries.add(step, "quantiles", name, values, spread)
