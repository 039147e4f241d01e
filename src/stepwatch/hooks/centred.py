"""Means over a centred window that are given to what forecasts the values within it.

``rolling(5, center=True)`` takes in the two values that come next. As the last of a window of
inputs, it tells what is to be predicted. A centred mean is right to show a series, and to describe
what is over; so a window is looked for in what is trained on, and its target behind it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..model.record import TensorInfo
from ..numerics.measures import Floats
from .patching import PatchSet

_FUNCTIONS = ("mean", "median", "sum", "std", "var", "min", "max")
#: So many series are remembered, of so many values; windows of fewer places are too easily alike.
_MOST_SERIES, _MOST_VALUES, _LEAST_PLACES = 16, 100_000, 6
#: Places that are compared, at most; columns of a window that are looked at.
_MOST_COMPARED, _MOST_COLUMNS = 4_000_000, 64
#: Two are the same but for scale and shift if they correlate like this.
_SAME = 1 - 1e-6


class _Centred(NamedTuple):
    """A series and what was made of it: shape ``[times]`` each, nan where that is not known.

    Args:
        half: So many values to come are in each.
    """

    name: str
    series: Floats
    smooth: Floats
    half: int


class CentredWindows:
    """Watches centred windows of pandas, and what models are trained on."""

    def __init__(self) -> None:
        self._replaced = PatchSet()
        self._known: list[_Centred] = []
        self._found: dict[str, int] = {}
        self._told: set[str] = set()

    def begin(self) -> None:
        """Watch the packages that were imported, and those that will be."""
        watched: dict[str, Callable[[], None]] = {
            "pandas": self._watch_pandas,
            "torch": self._watch_torch,  # it imports torch.utils.data itself
            "keras": self._watch_keras,
        }
        for name, ours in watched.items():
            self._replaced.when_imported(name, ours)

    def end(self) -> None:
        """Watch nothing any more."""
        self._replaced.remove()

    def found(self) -> Iterator[tuple[TensorInfo, Any]]:
        """Yield what was found since it was asked last, as tensors of a step."""
        while self._found:
            name, ahead = self._found.popitem()
            info = TensorInfo(f"evaluation/centred/{name}", "evaluations", "float64", ())
            yield info, np.asarray(float(ahead))

    def add(self, name: str, series: Floats, smooth: Floats, half: int) -> None:
        """Remember a series, and the means over its centred windows."""
        if len(series) == len(smooth) <= _MOST_VALUES and len(self._known) < _MOST_SERIES:
            self._known.append(_Centred(name, series, smooth, half))

    def look(self, x: Any, y: Any) -> None:
        """Look whether windows hold a mean that their targets are a part of.

        Args:
            x: Shape ``[windows, places, columns]``.
            y: The target of each window, any shape.
        """
        if not self._known or len(getattr(x, "shape", ())) != 3 or len(x) != len(y):
            return
        if x.shape[1] < _LEAST_PLACES or not 2 <= x.shape[2] <= _MOST_COLUMNS:
            return
        some = sorted({0, len(x) // 2, len(x) - 1})
        windows = [np.asarray(x[one], np.float64) for one in some]
        targets = [np.asarray(y[one], np.float64).ravel() for one in some]
        for known in self._known:
            if known.name not in self._told and x.shape[1] * len(known.series) <= _MOST_COMPARED:
                pairs = zip(windows, targets, strict=True)
                ahead = {_ahead(known, window, target) for window, target in pairs}
                if min(ahead) > 0:
                    self._told.add(known.name)
                    self._found[known.name.replace("/", "\N{DIVISION SLASH}")] = min(ahead)

    # What is watched

    def _watch_pandas(self) -> None:
        with suppress(Exception):  # of another version
            rolling = sys.modules["pandas.core.window.rolling"].Rolling
            for name in _FUNCTIONS:
                self._replaced.put(rolling, name, self._rolling)

    def _rolling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(rolling: Any, *args: Any, **named: Any) -> Any:
            result = original(rolling, *args, **named)
            with suppress(Exception):  # the script goes on with what it asked for
                if rolling.center and isinstance(rolling.window, int) and rolling.window > 1:
                    for name, series, smooth in _columns(rolling.obj, result):
                        self.add(name, series, smooth, rolling.window // 2)
            return result

        return call

    def _watch_torch(self) -> None:
        with suppress(Exception):
            self._replaced.put(sys.modules["torch.utils.data"].TensorDataset, "__init__", self._set)

    def _set(self, original: Callable[..., None]) -> Callable[..., None]:
        def call(data: Any, *tensors: Any) -> None:
            original(data, *tensors)
            if len(tensors) == 2 and self._known:
                with suppress(Exception):
                    self.look(*tensors)

        return call

    def _watch_keras(self) -> None:
        with suppress(Exception):
            self._replaced.put(sys.modules["keras"].Model, "fit", self._fitting)

    def _fitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(model: Any, x: Any = None, y: Any = None, *args: Any, **named: Any) -> Any:
            if self._known:
                with suppress(Exception):
                    self.look(x, y)
            return original(model, x, y, *args, **named)

        return call


def _columns(obj: Any, result: Any) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield the name, the values and the result of each series that was rolled over."""
    names = getattr(result, "columns", None)
    if names is None:
        yield str(result.name or "a series"), obj.to_numpy(np.float64), result.to_numpy(np.float64)
        return
    for name in names:
        yield str(name), obj[name].to_numpy(np.float64), result[name].to_numpy(np.float64)


def _ahead(known: _Centred, window: Floats, targets: Floats) -> int:
    """Return by how many values behind a window its target is, if the window has it; else 0."""
    places = len(window)
    for column in range(window.shape[1]):
        for at in _found_at(known.smooth, window[:, column]):
            part = known.series[at : at + places]
            for other in range(window.shape[1]):
                if other == column or not _is_same(part, window[:, other]):
                    continue
                scale, shift = np.polyfit(part, window[:, other], 1)
                close = 1e-4 * float(np.std(window[:, other]))
                behind = known.series[at + places : at + places + known.half]
                for ahead, value in enumerate(scale * behind + shift, 1):
                    if (np.abs(targets - value) <= close).any():
                        return ahead
    return 0


def _found_at(series: Floats, part: Floats) -> list[int]:
    """Return where a part begins in a series, whatever its scale and shift."""
    if len(series) < len(part) or not part.std() > 0:
        return []
    slices = np.lib.stride_tricks.sliding_window_view(series, len(part))
    centred = part - part.mean()
    with np.errstate(all="ignore"):
        spread = slices.std(axis=1) * np.linalg.norm(centred) * np.sqrt(len(part))
        alike = slices @ centred / spread
    return [int(at) for at in np.flatnonzero(alike >= _SAME)[:4]]


def _is_same(one: Floats, other: Floats) -> bool:
    return bool(one.std() > 0 < other.std() and np.corrcoef(one, other)[0, 1] >= _SAME)
