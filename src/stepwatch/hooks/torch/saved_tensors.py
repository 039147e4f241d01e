"""From torch's tensors to rows of a step whose saving is configured in smdebug's words."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from ...capture.debugger_plan import DebuggerPlan
from ...capture.open_step import OpenStep
from ...record import TensorInfo
from ...statistics import Row
from ...steps import Mode
from ..saved_arrays import SavedArrays, put_array
from .arrays import dtype_name, plain, to_numpy, unsupported
from .device_batch import DeviceBatch
from .observe import on_host
from .uncommon import dense, is_uncommon, uncommon_row

Array = npt.NDArray[np.generic]


class SavedTensors(SavedArrays):
    """Puts tensors into the open step, as far as the plan asks for them.

    A tensor may lie on any device, and be dense or sparse.

    Args:
        plan: What is saved of which tensor.
    """

    def __init__(self, plan: DebuggerPlan) -> None:
        super().__init__(plan)
        self._on_device = DeviceBatch()

    def begin(self, step: OpenStep, mode: Mode, mode_step: int) -> None:
        super().begin(step, mode, mode_step)
        self._on_device = DeviceBatch()

    def put(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        value: torch.Tensor | Array,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        if isinstance(value, torch.Tensor):
            self._put_tensor(step, name, kind, value, raw, trainable)
        else:
            super().put(step, name, kind, value, raw, None)

    def finish(self) -> None:
        """Bring statistics that are still on an accelerator to the host; the step ends."""
        if self._step is not None:
            self._on_device.collect()
        super().finish()

    def _put_tensor(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        tensor: torch.Tensor,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        tensor = plain(tensor)
        why = unsupported(tensor)
        if why is not None:
            self.refuse(name, why)
            return
        info = self.info(name, kind, dtype_name(tensor.dtype), tensor.shape, trainable)
        if tensor.layout is not torch.strided and not raw:
            step.claim(info)[:] = uncommon_row(tensor)
            return
        if is_uncommon(tensor):
            tensor = dense(tensor)
        if on_host(tensor) or tensor.is_complex():
            put_array(step, info, to_numpy(tensor), raw=raw)
        else:
            self._put_from_device(step, info, tensor, raw=raw)

    def _put_from_device(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, *, raw: bool
    ) -> None:
        step.claim(info)
        if raw:
            step.raw[info.name] = to_numpy(tensor)
        self._on_device.add(tensor, partial(_fill, step, info.name))


def _fill(step: OpenStep, name: str, row: Row) -> None:
    step.statistics_of(step.row_of(name))[:] = row
