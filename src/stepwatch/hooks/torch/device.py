"""Statistics on an accelerator: computed there, moved to the host once per step."""

from __future__ import annotations

import numpy as np
import torch

from ...capture.open_step import OpenStep
from ...record import TensorInfo
from ...statistics import NUM_FIELDS, merge

_NAN = float("nan")


def device_row(tensor: torch.Tensor) -> torch.Tensor:
    """Return the statistics of a tensor, shape ``[NUM_FIELDS]``, float64, where the tensor is.

    The fields are those of ``statistics.FIELDS``, with the same meaning.
    """
    flat = tensor.detach().reshape(-1)
    if not flat.is_floating_point():
        flat = flat.to(torch.float64)
    elif flat.dtype.itemsize < 4:
        flat = flat.to(torch.float32)
    finite = torch.isfinite(flat)
    values = torch.where(finite, flat, 0.0)
    magnitude = values.abs()
    infinity = torch.full((), float("inf"), dtype=flat.dtype, device=flat.device)
    lows = torch.where(finite, flat, infinity)
    any_finite = finite.any()
    fields = [
        torch.full((), float(flat.numel()), dtype=torch.float64, device=flat.device),
        torch.isnan(flat).sum(),
        torch.isposinf(flat).sum(),
        torch.isneginf(flat).sum(),
        (flat == 0).sum(),
        *(
            torch.where(any_finite, extreme, _NAN)
            for extreme in (
                _smallest(lows),
                -_smallest(torch.where(finite, -flat, infinity)),
            )
        ),
        values.sum(dtype=torch.float64),
        magnitude.sum(dtype=torch.float64),
        values.to(torch.float64).square().sum(),
        torch.where(any_finite, _smallest(lows.abs()), _NAN),
    ]
    return torch.stack([field.to(torch.float64) for field in fields])


def _smallest(values: torch.Tensor) -> torch.Tensor:
    if not values.numel():
        return torch.full((), _NAN, dtype=values.dtype, device=values.device)
    return values.min()


class DeviceRows:
    """Statistics that are still on an accelerator, for one open step.

    Args:
        step: Where they go once they are on the host.
    """

    def __init__(self, step: OpenStep) -> None:
        self._step = step
        self._pending: list[tuple[TensorInfo, torch.Tensor]] = []

    def add(self, info: TensorInfo, tensor: torch.Tensor) -> None:
        """Compute the statistics of a tensor where it is."""
        if info.name not in self._step:
            self._step.statistics_of(self._step.add_row(info))[:] = _EMPTY
        self._pending.append((info, device_row(tensor)))

    def collect(self) -> None:
        """Move all that is pending to the host, in one transfer, and fill the rows."""
        if not self._pending:
            return
        rows = torch.stack([row for _, row in self._pending]).cpu().numpy()
        for (info, _), row in zip(self._pending, rows, strict=True):
            mine = self._step.statistics_of(self._step.row_of(info.name))
            mine[:] = merge(np.stack([mine, row]))
        self._pending = []


_EMPTY = merge(np.empty((0, NUM_FIELDS)))
