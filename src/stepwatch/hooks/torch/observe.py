"""From torch's tensors to rows of the open step."""

from __future__ import annotations

import weakref

import numpy as np
import torch

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, RAW
from ...record import TensorInfo
from .arrays import dtype_name, tensors_in, to_numpy, unsupported
from .device import DeviceRows
from .parameters import Tracked

# Inputs are observed only of modules whose output is not finite, and of so many in a step.
MOST_BAD_MODULES = 20


class Observer:
    """Turns tensors into rows of the open step."""

    def __init__(self) -> None:
        self._infos: dict[str, TensorInfo] = {}
        self._device: dict[int, tuple[OpenStep, DeviceRows]] = {}
        self._last: tuple[weakref.ref[torch.Tensor], int, OpenStep, int] | None = None
        #: Why what was met could not be observed, by name.
        self.refused: dict[str, str] = {}
        #: What was observed so far.
        self.seen: set[str] = set()

    def outputs(self, step: OpenStep, module: str, inputs: object, output: object) -> None:
        """Observe what a module returned; and what it was given, if that is not finite."""
        bad = False
        for path, tensor in (("", output),) if type(output) is torch.Tensor else tensors_in(output):
            name = f"output/{module}{path}"
            row = self._add(step, name, "outputs", tensor)
            bad = bad or (row is not None and _has_non_finite(step, row))
        if bad and sum(name.startswith("input/") for name in step.names) < MOST_BAD_MODULES:
            for path, tensor in tensors_in(inputs):
                self._add(step, f"input/{module}{path}", "inputs", tensor)

    def parameter(self, step: OpenStep, tracked: Tracked) -> None:
        """Observe a weight, and its gradient if it has one."""
        if tracked.weight.name in step:
            return
        self._add_known(step, tracked.weight, tracked.parameter)
        gradient = tracked.parameter.grad
        if gradient is not None:
            self._add_known(step, tracked.gradient, gradient)

    def loss(self, step: OpenStep, name: str, value: torch.Tensor) -> bool:
        """Observe a loss; return whether it could be."""
        self._add(step, name, "losses", value.detach().reshape(()))
        return name not in self.refused

    def tensor(self, step: OpenStep, name: str, value: torch.Tensor, collection: str) -> None:
        """Observe any tensor."""
        self._add(step, name, collection, value)

    def scalar(self, step: OpenStep, name: str, value: object, collection: str) -> None:
        """Observe one number."""
        if isinstance(value, torch.Tensor):
            self._add(step, name, collection, value.detach().reshape(()))
        else:
            info = self._info(name, collection, "float64", ())
            step.add(info, np.asarray(value, np.float64))
            self.seen.add(name)

    def finish(self) -> None:
        """Bring statistics that are still on an accelerator to the host; a step ends."""
        for _, rows in self._device.values():
            rows.collect()
        self._device = {}
        self._last = None

    def _add(self, step: OpenStep, name: str, collection: str, tensor: torch.Tensor) -> int | None:
        info = self._info(name, collection, dtype_name(tensor.dtype), tensor.shape)
        return self._add_known(step, info, tensor)

    def _add_known(self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor) -> int | None:
        """Observe a tensor; return its row if it is new in this step and on the host."""
        self.seen.add(info.name)
        why = unsupported(tensor)
        if why is not None:
            self.refused[info.name] = why
            return None
        level = step.level(info)
        if level == NOTHING:
            return None
        if not on_host(tensor):
            self._add_on_device(step, info, tensor, raw=level == RAW)
            return None
        if self._last is not None and info.name not in step:
            reference, version, where, row = self._last
            same = reference() is tensor and where is step
            # A container returns what its last child returned.
            if same and version == tensor._version and step.alias(info, row):
                return row
        added = step.add(info, to_numpy(tensor))
        # An inference tensor does not tell when it changes in place.
        if added is not None and info.collection == "outputs" and not tensor.is_inference():
            self._last = (weakref.ref(tensor), tensor._version, step, added)
        return added

    def _add_on_device(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, *, raw: bool
    ) -> None:
        if raw:
            step.raw[info.name] = to_numpy(tensor)
        if id(step) not in self._device:
            self._device[id(step)] = (step, DeviceRows(step))
        self._device[id(step)][1].add(info, tensor)

    def _info(self, name: str, collection: str, dtype: str, shape: tuple[int, ...]) -> TensorInfo:
        info = self._infos.get(name)
        if info is None or info.shape != shape or info.dtype != dtype:
            info = self._infos[name] = TensorInfo(name, collection, dtype, tuple(shape))
        return info


def on_host(tensor: torch.Tensor) -> bool:
    """Return whether a tensor can be read here without a transfer."""
    return tensor.is_cpu


def _has_non_finite(step: OpenStep, row: int) -> bool:
    statistics = step.statistics_of(row)
    return bool(statistics[1] or statistics[2] or statistics[3])
