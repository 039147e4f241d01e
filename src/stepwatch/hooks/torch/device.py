"""Statistics on an accelerator: computed there, moved to the host once per step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from ...capture.open_step import OpenStep
from ...capture.plan import DIGEST, EXPONENTS, STATISTICS
from ...record import TensorInfo
from ...statistics import NUM_FIELDS, merge
from .bits import device_digest, device_exponents

_NAN = float("nan")
Words = npt.NDArray[np.int64]


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
    """What is known of tensors but is still on an accelerator, for one open step.

    Args:
        step: Where it goes once it is on the host.
    """

    def __init__(self, step: OpenStep) -> None:
        self._step = step
        self._pending: list[tuple[Callable[[Words], None], torch.Tensor]] = []

    def add(self, info: TensorInfo, tensor: torch.Tensor, level: int = STATISTICS) -> None:
        """Compute where the tensor is what is saved of it, but for its full value."""
        if info.name not in self._step:
            self._step.statistics_of(self._step.add_row(info))[:] = _EMPTY
        parts = [device_row(tensor).view(torch.int64)]  # its bits, to travel with integers
        if level & DIGEST:
            parts.append(device_digest(tensor).reshape(1))
        if level & EXPONENTS:
            parts.append(device_exponents(tensor))
        self.defer(torch.cat(parts), partial(self._note, info, level))

    def defer(self, words: torch.Tensor, note: Callable[[Words], None]) -> None:
        """Let something be noted once it is on the host: integers of 64 bits, one axis."""
        self._pending.append((note, words))

    def collect(self) -> None:
        """Move all that is pending to the host, in one transfer from each, and note it."""
        waiting, self._pending = self._pending, []
        for device in dict.fromkeys(words.device for _, words in waiting):
            here = [one for one in waiting if one[1].device == device]
            words = torch.cat([words for _, words in here]).cpu().numpy()
            start = 0
            for note, pending in here:
                note(words[start : start + len(pending)])
                start += len(pending)

    def _note(self, info: TensorInfo, level: int, words: Words) -> None:
        mine = self._step.statistics_of(self._step.row_of(info.name))
        mine[:] = merge(np.stack([mine, words[:NUM_FIELDS].view(np.float64)]))
        rest = words[NUM_FIELDS:]
        if level & DIGEST:
            self._step.digests[info.name] = int(rest[0]) % 2**64
            rest = rest[1:]
        if level & EXPONENTS:
            self._step.add_exponents(info.name, rest)


_EMPTY = merge(np.empty((0, NUM_FIELDS)))
