"""From torch's tensors to rows of a step whose saving is configured in smdebug's words.

A tensor that is saved again within a step takes the place of what was saved before, as smdebug's
readers see it: they show the last record of a name.
"""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from ...capture.debugger_plan import DebuggerPlan
from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, RAW
from ...record import TensorInfo
from ...statistics import COUNT, Row, summarize_into
from ...steps import Mode
from .arrays import dtype_name, plain, to_numpy, unsupported
from .device_batch import DeviceBatch
from .observe import on_host
from .uncommon import dense, is_uncommon, uncommon_row

_log = logging.getLogger("stepwatch")
Array = npt.NDArray[np.generic]


class SavedTensors:
    """Puts tensors into the open step, as far as the plan asks for them.

    Args:
        plan: What is saved of which tensor.
    """

    def __init__(self, plan: DebuggerPlan) -> None:
        self._plan = plan
        self._step: OpenStep | None = None
        self._when = Mode.GLOBAL, -1
        self._infos: dict[str, TensorInfo] = {}
        self._on_device = DeviceBatch()
        #: Why what was wanted could not be saved, by name.
        self.refused: dict[str, str] = {}

    def begin(self, step: OpenStep, mode: Mode, mode_step: int) -> None:
        """Put what follows into this step."""
        self._step = step
        self._when = mode, mode_step
        self._on_device = DeviceBatch()

    def add(
        self, name: str, kind: str, value: torch.Tensor | Array, trainable: bool | None = None
    ) -> None:
        """Save a tensor in the open step if the plan asks for it; read now.

        Args:
            name: Its name.
            kind: One of ``collection.BUILT_IN``.
            value: Any shape and dtype, on any device, dense or sparse. What has no statistics
                (complex numbers, texts) is saved as it is.
            trainable: As of ``TensorInfo``.
        """
        level = self._plan.level(name, kind, *self._when)
        if level == NOTHING or self._step is None:
            return
        if isinstance(value, torch.Tensor):
            self._add_tensor(self._step, name, kind, value, bool(level & RAW), trainable)
        elif value.dtype.kind in "OSMm" or value.dtype.names:
            self._refuse(name, f"dtype {value.dtype}")
        else:
            info = self._info(name, kind, value.dtype.name, value.shape, None)
            _put(self._step, info, value, raw=bool(level & RAW))

    def finish(self) -> None:
        """Bring statistics that are still on an accelerator to the host; the step ends."""
        if self._step is not None:
            self._on_device.collect()
        self._step = None

    def _add_tensor(
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
            self._refuse(name, why)
            return
        info = self._info(name, kind, dtype_name(tensor.dtype), tensor.shape, trainable)
        if tensor.layout is not torch.strided and not raw:
            step.claim(info)[:] = uncommon_row(tensor)
            return
        if is_uncommon(tensor):
            tensor = dense(tensor)
        if on_host(tensor) or tensor.is_complex():
            _put(step, info, to_numpy(tensor), raw=raw)
        else:
            self._put_from_device(step, info, tensor, raw=raw)

    def _put_from_device(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, *, raw: bool
    ) -> None:
        step.claim(info)
        if raw:
            step.raw[info.name] = to_numpy(tensor)
        self._on_device.add(tensor, partial(_fill, step, info.name))

    def _refuse(self, name: str, why: str) -> None:
        if name not in self.refused:
            self.refused[name] = why
            _log.warning("%s cannot be saved (%s); training goes on without it", name, why)

    def _info(
        self, name: str, kind: str, dtype: str, shape: tuple[int, ...], trainable: bool | None
    ) -> TensorInfo:
        info = self._infos.get(name)
        if (
            info is None
            or info.shape != shape
            or info.dtype != dtype
            or info.trainable != trainable
        ):
            kind = self._kind(name, kind)
            info = TensorInfo(name, kind, dtype, tuple(shape), trainable)
            self._infos[name] = info
        return info

    def _kind(self, name: str, kind: str) -> str:
        """Return what a tensor is; what the collection of losses holds is a loss."""
        is_loss = any(one.name == "losses" for one in self._plan.members(name))
        return "losses" if is_loss and kind == "outputs" else kind


def _fill(step: OpenStep, name: str, row: Row) -> None:
    step.statistics_of(step.row_of(name))[:] = row


def _put(step: OpenStep, info: TensorInfo, array: Array, *, raw: bool) -> None:
    row = step.claim(info)
    try:
        summarize_into(array, row)
    except TypeError:  # it has no order
        row[:] = np.nan
        row[COUNT] = array.size
    if raw:
        step.raw[info.name] = np.array(array)
