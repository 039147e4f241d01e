"""From arrays to rows of a step whose saving is configured in smdebug's words.

A tensor that is saved again within a step takes the place of what was saved before, as smdebug's
readers see it: they show the last record of a name.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from ..capture.debugger_plan import DebuggerPlan
from ..capture.open_step import OpenStep
from ..capture.plan import NOTHING, RAW
from ..record import TensorInfo
from ..statistics import COUNT, summarize_into
from ..steps import Mode

_log = logging.getLogger("stepwatch")
Array = npt.NDArray[np.generic]


class SavedArrays:
    """Puts arrays into the open step, as far as the plan asks for them.

    What a framework has instead of arrays, ``put`` of a subclass takes.

    Args:
        plan: What is saved of which tensor.
    """

    def __init__(self, plan: DebuggerPlan) -> None:
        self._plan = plan
        self._step: OpenStep | None = None
        self._when = Mode.GLOBAL, -1
        self._infos: dict[str, TensorInfo] = {}
        #: Why what was wanted could not be saved, by name.
        self.refused: dict[str, str] = {}

    def begin(self, step: OpenStep, mode: Mode, mode_step: int) -> None:
        """Put what follows into this step."""
        self._step = step
        self._when = mode, mode_step

    def add(self, name: str, kind: str, value: Any, trainable: bool | None = None) -> None:
        """Save a tensor in the open step if the plan asks for it; read now.

        Args:
            name: Its name.
            kind: One of ``collection.BUILT_IN``.
            value: Any shape and dtype. What has no statistics (complex numbers, texts) is saved
                as it is.
            trainable: As of ``TensorInfo``.
        """
        level = self._plan.level(name, kind, *self._when)
        if level != NOTHING and self._step is not None:
            self.put(self._step, name, kind, value, bool(level & RAW), trainable)

    def put(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        value: Any,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        """Save a tensor that is wanted."""
        if value.dtype.kind in "OSMm" or value.dtype.names:
            self.refuse(name, f"dtype {value.dtype}")
        else:
            info = self.info(name, kind, value.dtype.name, value.shape, trainable)
            put_array(step, info, value, raw=raw)

    def finish(self) -> None:
        """The step ends."""
        self._step = None

    def refuse(self, name: str, why: str) -> None:
        """Say once why something cannot be saved."""
        if name not in self.refused:
            self.refused[name] = why
            _log.warning("%s cannot be saved (%s); training goes on without it", name, why)

    def info(
        self, name: str, kind: str, dtype: str, shape: tuple[int, ...], trainable: bool | None
    ) -> TensorInfo:
        """Return what is known of a tensor; what the collection of losses holds is a loss."""
        info = self._infos.get(name)
        if (
            info is None
            or info.shape != shape
            or info.dtype != dtype
            or info.trainable != trainable
        ):
            is_loss = any(one.name == "losses" for one in self._plan.members(name))
            kind = "losses" if is_loss and kind == "outputs" else kind
            info = TensorInfo(name, kind, dtype, tuple(shape), trainable)
            self._infos[name] = info
        return info


def put_array(step: OpenStep, info: TensorInfo, array: Array, *, raw: bool) -> None:
    """Save an array in the place of what was saved under its name."""
    row = step.claim(info)
    try:
        summarize_into(array, row)
    except TypeError:  # it has no order
        row[:] = np.nan
        row[COUNT] = array.size
    if raw:
        step.raw[info.name] = np.array(array)
