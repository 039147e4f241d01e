"""Statistics on an accelerator: computed there, moved to the host once per step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
import torch

from ...capture.open_step import OpenStep
from ...capture.plan import DIGEST, EXPONENTS, STATISTICS
from ...record import TensorInfo
from ...statistics import COUNT, NUM_FIELDS, Row, merge
from .bits import device_digest, device_exponents
from .device_batch import DeviceBatch
from .device_batch import Words as Words
from .unnoticed import unnoticed


class DeviceRows:
    """What is known of tensors but is still on an accelerator, for one open step.

    Args:
        step: Where it goes once it is on the host.
    """

    def __init__(self, step: OpenStep) -> None:
        self._step = step
        self._batch = DeviceBatch()

    def burst(self) -> AbstractContextManager[None]:
        """Add tensors that stay as they are until the end of the ``with`` block."""
        return self._batch.burst()

    def add(self, info: TensorInfo, tensor: torch.Tensor, level: int = STATISTICS) -> None:
        """Compute where the tensor is what is saved of it, but for its full value."""
        if info.name not in self._step:
            self._step.statistics_of(self._step.add_row(info))[:] = _EMPTY
        self._batch.add(tensor, partial(self._note_statistics, info.name))
        if level & (DIGEST | EXPONENTS):
            with unnoticed(tensor.device.type):
                self._add_bits(info.name, tensor, level)

    def defer(self, words: torch.Tensor, note: Callable[[Words], None]) -> None:
        """Let something be noted once it is on the host: integers of 64 bits, one axis."""
        self._batch.defer(words, note)

    def collect(self) -> None:
        """Move all that is pending to the host, in one transfer from each device, and note it."""
        self._batch.collect()

    def _add_bits(self, name: str, tensor: torch.Tensor, level: int) -> None:
        if level & DIGEST:
            self.defer(device_digest(tensor).reshape(1), partial(self._note_digest, name))
        if level & EXPONENTS:
            self.defer(device_exponents(tensor), partial(self._step.add_exponents, name))

    def _note_digest(self, name: str, words: Words) -> None:
        self._step.digests[name] = int(words[0]) % 2**64

    def _note_statistics(self, name: str, row: Row) -> None:
        mine = self._step.statistics_of(self._step.row_of(name))
        mine[:] = merge(np.stack([mine, row])) if mine[COUNT] else row


_EMPTY = merge(np.empty((0, NUM_FIELDS)))
