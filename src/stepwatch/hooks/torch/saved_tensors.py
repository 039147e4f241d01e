"""From torch's tensors to rows of a step whose saving is configured in smdebug's words.

A tensor that is saved again within a step takes the place of what was saved before, as smdebug's
readers see it: they show the last record of a name.
"""

from __future__ import annotations

import logging

import numpy as np
import numpy.typing as npt
import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ...capture.debugger_plan import DebuggerPlan
from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, RAW
from ...record import TensorInfo
from ...statistics import ABS_MIN, COUNT, MAX, MIN, NUM_FIELDS, ZEROS, merge, summarize_into
from ...steps import Mode
from .arrays import dtype_name, to_numpy, unsupported
from .device import device_row
from .observe import on_host

_log = logging.getLogger("stepwatch")
Array = npt.NDArray[np.generic]
Row = npt.NDArray[np.float64]

_PLAIN = (torch.Tensor, torch.nn.Parameter)


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
        self._kinds: dict[str, str] = {}
        self._on_device: dict[str, torch.Tensor] = {}
        #: Why what was wanted could not be saved, by name.
        self.refused: dict[str, str] = {}

    def begin(self, step: OpenStep, mode: Mode, mode_step: int) -> None:
        """Put what follows into this step."""
        self._step = step
        self._when = mode, mode_step
        self._on_device.clear()

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
            self._add_tensor(self._step, name, kind, value, level == RAW, trainable)
        elif value.dtype.kind in "OSMm" or value.dtype.names:
            self._refuse(name, f"dtype {value.dtype}")
        else:
            info = self._info(name, kind, value.dtype.name, value.shape, None)
            _put(self._step, info, value, raw=level == RAW)

    def finish(self) -> None:
        """Bring statistics that are still on an accelerator to the host; the step ends."""
        step, waiting = self._step, self._on_device
        if step is not None and waiting:
            rows = torch.stack(list(waiting.values())).cpu().numpy()
            for name, row in zip(waiting, rows, strict=True):
                step.statistics_of(step.row_of(name))[:] = row
        self._on_device = {}
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
        tensor = _plain(tensor)
        why = _unsaveable(tensor)
        if why is not None:
            self._refuse(name, why)
            return
        info = self._info(name, kind, dtype_name(tensor.dtype), tensor.shape, trainable)
        if tensor.layout is not torch.strided and not raw:
            step.claim(info)[:] = _sparse_row(tensor.detach())
            return
        if tensor.layout is not torch.strided:
            tensor = tensor.detach().to_dense()
        if tensor.is_complex():
            tensor = tensor.detach().resolve_conj()
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
        self._on_device[info.name] = device_row(tensor)

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


def _put(step: OpenStep, info: TensorInfo, array: Array, *, raw: bool) -> None:
    row = step.claim(info)
    try:
        summarize_into(array, row)
    except TypeError:  # it has no order
        row[:] = np.nan
        row[COUNT] = array.size
    if raw:
        step.raw[info.name] = np.array(array)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a subclass that only adds to a tensor as the tensor; others as they are."""
    if type(tensor) in _PLAIN:
        return tensor
    adds = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    if adds and not is_traceable_wrapper_subclass(tensor):
        return tensor.detach().as_subclass(torch.Tensor)
    return tensor


def _unsaveable(tensor: torch.Tensor) -> str | None:
    """Return what about a tensor cannot be saved; less than what has no statistics."""
    why = unsupported(tensor)
    if why is None or tensor.device.type == "meta" or type(tensor) not in _PLAIN:
        return why
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return why
    if tensor.layout is torch.strided:
        return None if tensor.is_complex() and tensor.dtype is not torch.complex32 else why
    return None if unsupported(_coo(tensor)._values()) is None else why


def _coo(tensor: torch.Tensor) -> torch.Tensor:
    coo: torch.Tensor = tensor.to_sparse_coo()  # type: ignore[no-untyped-call]
    return coo


def _sparse_row(tensor: torch.Tensor) -> Row:
    """Return the statistics of a sparse tensor from its values and the zeros between them."""
    values = _coo(tensor).coalesce().values()
    rows = np.empty((2, NUM_FIELDS))
    summarize_into(to_numpy(values), rows[0])
    zeros = tensor.numel() - values.numel()
    rows[1] = 0.0
    rows[1, [COUNT, ZEROS]] = zeros
    if not zeros:
        rows[1, [MIN, MAX, ABS_MIN]] = np.nan
    return merge(rows)
