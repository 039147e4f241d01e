"""What a script logs by itself: scalars of TensorBoard, Weights & Biases,
Trackio and MLflow, and by ``stepwatch.log``.

They are saved as they are given, as ``metric/NAME``, with the TRAIN step that ends next: what is
logged after ``optimizer.step()`` belongs to the step after. Numbers only, and tensors on the host;
for what is on an accelerator nobody waits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import torch

from ....capture.open_step import OpenStep
from ....model.record import TensorInfo
from ...patching import PatchSet
from ..observe import Observer

_COLLECTION = "metrics"
#: Of so many names scalars are saved, the first ones; longer names are left out.
MOST_NAMES, LONGEST_NAME = 64, 100

Scalars = Iterator[tuple[object, object]]
Reader = Callable[..., Scalars]


def _one(
    _: object = None, name: object = None, value: object = None, *__: Any, **named: Any
) -> Scalars:
    """Yield what ``add_scalar(tag, scalar_value)`` is given, after the writer."""
    yield named.get("tag", name), named.get("scalar_value", value)


def _keyed(name: object = None, value: object = None, *_: Any, **named: Any) -> Scalars:
    """Yield what ``log_metric(key, value)`` is given."""
    yield named.get("key", name), named.get("value", value)


def _several(given: object = None, *_: Any, **named: Any) -> Scalars:
    """Yield what ``log({name: value})`` is given, by any of the names of its argument."""
    for one in (given, named.get("data"), named.get("metrics")):
        if isinstance(one, Mapping):
            yield from one.items()


def _of_object(_: object, *given: Any, **named: Any) -> Scalars:
    return _several(*given, **named)


#: The module, the class in it if it is a method, its name, and what reads its arguments.
LOGGERS: tuple[tuple[str, str, str, Reader], ...] = (
    ("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalar", _one),
    ("tensorboardX.writer", "SummaryWriter", "add_scalar", _one),
    ("wandb.sdk.wandb_run", "Run", "log", _of_object),
    ("wandb", "", "log", _several),  # bound to the run that was there before the hook
    ("trackio", "", "log", _several),
    ("mlflow", "", "log_metric", _keyed),
    ("mlflow", "", "log_metrics", _several),
    ("stepwatch.cli.session", "Session", "log", _of_object),
)


class LoggedScalars:
    """Observes what is logged, in the collection ``metrics``.

    Args:
        emit: What a wrapper calls with an iterator of names and values; it does not raise.
    """

    def __init__(self, observer: Observer, emit: Callable[[Scalars], None]) -> None:
        self._observer, self._emit = observer, emit
        self._replaced = PatchSet()
        self._waiting = list(LOGGERS)
        self._infos: dict[str, TensorInfo] = {}
        self._values: dict[TensorInfo, float] = {}
        #: Whether it listens; a trainer that hands over what it logs is not heard twice.
        self.is_on = True

    def look(self, *_: object) -> None:
        """Wrap what logs in the modules that were imported meanwhile."""
        for logger in self._waiting:
            module, owner, name, read = logger
            found: Any = sys.modules.get(module)
            if found is not None and owner:
                found = getattr(found, owner, None)
            if callable(getattr(found, name, None)):
                self._replaced.put(found, name, partial(self._wrap, read))
                self._waiting = [one for one in self._waiting if one is not logger]

    def remove(self) -> None:
        """Put back what was wrapped, and forget what waits for its step."""
        self._replaced.remove()
        self._waiting = list(LOGGERS)
        self._values = {}

    def observe(self, scalars: Scalars) -> None:
        """Remember what was logged until a TRAIN step ends; the last of each name counts."""
        if not self.is_on:
            return
        for name, value in scalars:
            number = None
            with suppress(RuntimeError, TypeError, ValueError, OverflowError):  # of odd tensors
                number = _number(value)
            info = self._info(name) if number is not None else None
            if info is not None and number is not None:
                self._values[info] = number

    def take(self) -> dict[TensorInfo, float]:
        """Return what was logged since the last TRAIN step."""
        if not self._values:
            return {}
        values, self._values = self._values, {}
        return values

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: it has what was logged."""
        for info, value in self.take().items():
            self._observer.scalar(step, info.name, value, _COLLECTION)

    def _info(self, name: object) -> TensorInfo | None:
        if not isinstance(name, str):
            return None
        info = self._infos.get(name)
        if info is None and len(self._infos) < MOST_NAMES and 0 < len(name) <= LONGEST_NAME:
            info = TensorInfo(f"metric/{name}", _COLLECTION, "float64", ())
            self._infos[name] = info
        return info

    def _wrap(self, read: Reader, original: Callable[..., Any]) -> Callable[..., Any]:
        emit = self._emit

        def log(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            emit(read(*args, **kwargs))
            return result

        return log


def _number(value: object) -> float | None:
    """Return a number as it was logged; ``None`` for all else, and for what is not on the host."""
    if isinstance(value, (int, float, np.number)):
        return None if isinstance(value, np.complexfloating) else float(value)
    if isinstance(value, torch.Tensor):
        return (
            float(value) if value.is_cpu and value.numel() == 1 and not value.is_complex() else None
        )
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "fiu":
        return float(value.reshape(()))
    return None
