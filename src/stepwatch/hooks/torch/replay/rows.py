"""Which rows of its data set a loader gave last, in which epoch, and in which evaluation.

A loader of several processes draws ahead; it gives the batches in the order in which it drew them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch

from ...shared_rows import shared_samples

#: So many sources of evaluated data are told apart: a script that generates has ever longer ones.
_MOST_SOURCES = 16


class _ByIdentity:
    """Numbers by object, of any class, as long as each lives: another one may be given its id."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[object, int]] = {}

    def __getitem__(self, thing: object) -> int:
        """Return the number of an object, 0 if it has none."""
        return self._of.get(id(thing), (None, 0))[1]

    def __setitem__(self, thing: object, number: int) -> None:
        of, key = self._of, id(thing)
        try:
            alive: object = ref(thing, lambda _: of.pop(key, None))
        except TypeError:  # of a list nobody can say when it is gone
            alive = thing
        of[key] = alive, number


class DrawnRows:
    """Follows the iterators of ``DataLoader``; what they draw is only kept, and never computed."""

    def __init__(self) -> None:
        self._ahead: WeakKeyDictionary[Any, deque[Any]] = WeakKeyDictionary()
        self._given: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._last: Any = None
        self._begun = _ByIdentity()  # how often each loader was, by what draws for it
        #: The iterator that gave a batch last; it may be gone.
        self.iterator: ref[Any] | None = None
        # After how many TRAIN steps each iterator began, and its number among all that did.
        self._begins: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()
        self._num_begins = 0
        self._last_begin = (-1, 0)  # of that which gave a batch last
        # The data sets of the iterator that began last, and of the last that was trained on.
        self._data_set: Callable[[], Any] = lambda: None
        self._trained = self._data_set
        # The last evaluation pass: of which iterator, after how many TRAIN steps, its number since.
        self._pass = (0, -1, 0)
        # What was evaluated: sources of loaders, and shapes of what no loader gave.
        self._sources = _ByIdentity()
        self._shapes: set[object] = set()
        self._num_sources = 0
        #: Which share of the samples of the last new source was trained on, and not all of it.
        self.shared = 0.0

    def ahead(self, iterator: Any, rows: Any) -> None:
        """A sampler has drawn the rows of a batch that is given later."""
        waiting = self._ahead.get(iterator)
        if waiting is None:
            waiting = self._ahead[iterator] = deque()
        waiting.append(rows)

    def drawn(self, iterator: Any, num_trained: int) -> None:
        """A loader gave a batch, or has no more, after so many TRAIN steps."""
        given = getattr(iterator, "_num_yielded", 0)
        before = self._given.get(iterator, 0)
        self._given[iterator] = given
        if given == before:
            return  # it has no more
        if given == 1:
            if -1 < self._last_begin[0] < num_trained:
                self._trained = self._data_set
            with suppress(TypeError):  # of a list nobody can say when it is gone
                self._data_set = ref(iterator._dataset)
            sampler = getattr(iterator, "_index_sampler", None)
            self._begun[sampler] = self._begun[sampler] + 1
            self._num_begins += 1
            self._begins[iterator] = num_trained, self._num_begins
        waiting = self._ahead.get(iterator)
        if given != before + 1:  # it began anew before its end: what waits may be of before
            self._ahead[iterator] = deque()
            waiting = None
        self._last = waiting.popleft() if waiting else None
        self.iterator = ref(iterator)
        self._last_begin = self._begins.get(iterator, (-1, 0))

    def epoch(self) -> float | None:
        """Return how often the loader of the last batch had gone through its data before it.

        Of a stream, of which nobody knows the end, that is a whole number; ``None`` for no batch.
        """
        iterator = None if self.iterator is None else self.iterator()
        if iterator is None:
            return None
        sampler = getattr(iterator, "_index_sampler", None)
        begun = self._begun[sampler] or 1
        try:
            share = (self._given[iterator] - 1) / len(sampler)  # type: ignore[arg-type]
        except (TypeError, ZeroDivisionError):
            share = 0.0
        return begun - 1 + min(share, 1.0)

    def begun_pass(self, num_trained: int) -> int:
        """Return which evaluation since the last TRAIN step begins with the last batch.

        It is one each time that a loader is begun.

        Args:
            num_trained: How many TRAIN steps there were.

        Returns:
            1 for the first one, and so on; 0 where none begins, or that is not known.
        """
        if not self.begins_pass(num_trained):
            return 0
        _, trained, number = self._pass
        number = number + 1 if trained == num_trained else 1
        self._pass = self._last_begin[1], num_trained, number
        return number

    def begins_pass(self, num_trained: int) -> bool:
        """Return whether the last batch begins an evaluation that ``begun_pass`` is to count."""
        begun_after, begin = self._last_begin
        return begun_after == num_trained and begin != self._pass[0]

    def new_source(self, given: object, num_trained: int) -> int:
        """Return which source of evaluated data a model is given for the first time, of all.

        Args:
            given: The first input of the model.
            num_trained: How many TRAIN steps there were.

        Returns:
            1 for the first one, and so on; 0 for one that is known, or not told apart.
        """
        if self._num_sources >= _MOST_SOURCES:
            return 0
        if self._last_begin[0] == num_trained and self.iterator is not None:
            source = _source(self.iterator())
            is_known = bool(self._sources[source])
            self._sources[source] = 1
            if not is_known:
                self.shared = _shared(self._trained(), self._data_set())
        else:
            shape = getattr(given, "shape", None)
            is_known = shape is None or shape in self._shapes
            self._shapes.add(shape)
        self._num_sources += not is_known
        return 0 if is_known else self._num_sources

    def last(self) -> Sequence[int] | None:
        """Return the rows of the last batch, ``None`` if they are not known."""
        rows = [self._last] if isinstance(self._last, int) else self._last
        if not isinstance(rows, (list, tuple)) or not rows or not isinstance(rows[0], int):
            return None
        return rows


def _source(iterator: Any) -> object:
    """Return what an iterator of a loader draws from: its data set, or the part a sampler has."""
    sampler = getattr(getattr(iterator, "_index_sampler", None), "sampler", None)
    return sampler if hasattr(sampler, "indices") else getattr(iterator, "_dataset", None)


def _shared(trained: Any, evaluated: Any) -> float:
    """Return which share of the samples of a data set another one has; see ``shared_samples``."""
    known, asked = _tensors_of(trained), _tensors_of(evaluated)
    if known is None or asked is None or trained is evaluated:
        return 0.0
    with suppress(Exception):  # on a device, or of a dtype that NumPy has not
        (samples, *_, labels), (others, *_) = known, asked
        return shared_samples(samples.numpy(), others.numpy(), labels.numpy())
    return 0.0


def _tensors_of(data_set: Any) -> Sequence[Any] | None:
    """Return the samples and labels of a ``TensorDataset``, or of a part of one."""
    if isinstance(data_set, torch.utils.data.Subset):
        known = _tensors_of(data_set.dataset)
        return None if known is None else [one[list(data_set.indices)] for one in known]
    is_known = isinstance(data_set, torch.utils.data.TensorDataset) and len(data_set.tensors) > 1
    return data_set.tensors if is_known else None
