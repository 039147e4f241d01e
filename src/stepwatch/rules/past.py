"""The memory of UnchangedTensor: the last values of each tensor, of one worker and mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..record import Layout
from ..statistics import NUM_FIELDS
from .likeness import Digests, Tolerance
from .step_view import TensorGroup

Places = npt.NDArray[np.intp]


class Where(NamedTuple):
    """What is the same of all steps of a layout: place, number of the shape and tolerance of each
    tensor, shape ``[tensors]`` each but for the last, ``[tensors, 2]``."""

    places: Places
    shapes: Places
    tolerance: npt.NDArray[np.float64]


class Past:
    """The last values of each tensor; a tensor keeps its place, whatever else a step holds.

    Args:
        depth: So many values of each.
        tolerance: With which they are compared.
    """

    def __init__(self, depth: int, tolerance: Tolerance) -> None:
        self._depth, self._tolerance = depth, tolerance
        self._place_of: dict[str, int] = {}
        self._number_of: dict[tuple[int, ...], int] = {}
        self._known: WeakKeyDictionary[Layout, Where] = WeakKeyDictionary()
        self._count = np.zeros(0, np.int64)
        self.rows = np.zeros((0, depth, NUM_FIELDS))
        self.digests = Digests(np.zeros((0, depth), np.uint64), np.zeros((0, depth), bool))
        #: The global step of each value, and the number of its shape; as ``where`` numbers them.
        self.steps = np.zeros((0, depth), np.int64)
        self.shapes = np.zeros((0, depth), np.intp)
        #: The full values of the steps, of which many tensors share one mapping.
        self.raw = np.empty((0, depth), object)

    def where(self, group: TensorGroup, names: tuple[str, ...]) -> Where:
        """Return where the tensors are kept."""
        known = self._known.get(group.record.layout)
        if known is None:
            number, place = self._number_of, self._place_of
            infos = group.infos
            shapes = [number.setdefault(info.shape, len(number)) for info in infos]
            places = [place.setdefault(name, len(place)) for name in names]
            tolerance = self._tolerance.for_dtypes(infos)
            known = Where(np.array(places, np.intp), np.array(shapes, np.intp), tolerance)
            self._known[group.record.layout] = known
            self._grow(len(place) - len(self._count))
        return known

    def is_full(self, places: Places) -> npt.NDArray[np.bool_]:
        """Return which tensors have as many values as are kept, shape ``[tensors]``."""
        full: npt.NDArray[np.bool_] = self._count[places] >= self._depth
        return full

    def add(self, where: Where, group: TensorGroup, digests: Digests) -> None:
        """Take in the values of a step; each takes the place of the oldest of its tensor."""
        at = where.places, self._count[where.places] % self._depth
        self.rows[at] = group.record.statistics[group.rows]
        self.digests.values[at], self.digests.known[at] = digests.values, digests.known
        self.steps[at], self.shapes[at] = group.record.step, where.shapes
        raw = group.record.raw
        self.raw[at] = _Once(raw) if raw else None
        self._count[where.places] += 1

    def full_value(self, place: int, slot: int, name: str) -> npt.NDArray[np.generic] | None:
        """Return a full value that was saved; ``None`` for any other."""
        kept = self.raw[place, slot]
        return None if kept is None else kept.values.get(name)

    def _grow(self, more: int) -> None:
        for name in ("rows", "steps", "shapes", "raw", "_count"):
            setattr(self, name, _longer(getattr(self, name), more))
        digests = self.digests
        self.digests = Digests(_longer(digests.values, more), _longer(digests.known, more))


T = TypeVar("T", bound=np.generic)


def _longer(array: npt.NDArray[T], more: int) -> npt.NDArray[T]:
    return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])


class _Once:
    """Holds a mapping; NumPy would look into it, and set a tensor to each of its names."""

    def __init__(self, values: Mapping[str, npt.NDArray[np.generic]]) -> None:
        self.values = values
