"""Batches that functions of JAX are given: who drew them, and whether more samples are evaluated.

A jitted function that is given the same random key at each step draws the same batch each time. It
counts where what it returns is given to a function that goes on training weights: the same key for
an evaluation, or to begin a trial as the one before began, is meant so.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .losses import is_key
from .repeats import is_varied, key_content

_Kind = tuple[tuple[int, ...], str]


class GivenBatches:
    """Compares what functions that train are given with what others return and are given."""

    def __init__(self) -> None:
        self._num_steps = 0
        # What was drawn since the last step: by which function, by which key, and what came of it.
        self._drawn: list[tuple[str, bytes, list[weakref.ref[Any]]]] = []
        # By both, after how many steps it was given to a training, and in how many in a row.
        self._repeated: dict[tuple[str, bytes], tuple[int, int]] = {}
        # Whether a function draws by a key and something else.
        self._varied: dict[tuple[str, str], bool] = {}
        # What functions that train returned last; and the arrays of samples they were given.
        self._returned: list[weakref.ref[Any]] = []
        self._batch: list[weakref.ref[Any]] = []
        # Of a batch that is another object than the one before: how many samples; and their kinds.
        self._num_samples, self._kinds = 0, set[_Kind]()

    def drawn(
        self,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        output: Any,
        graph: Callable[[], Any],
    ) -> None:
        """Add a call that trains nothing.

        Args:
            function: Its name.
            args: What it was called with by position,
            kwargs: and by name.
            output: What it returned.
            graph: Returns its ``Jaxpr``, ``None`` if it is not known.
        """
        given = {str(place): value for place, value in enumerate(args)} | dict(kwargs)
        for place, value in given.items():
            content = key_content(value)
            if content is None:
                continue
            if (function, place) not in self._varied:
                self._varied[function, place] = is_varied(value, args, kwargs, graph())
            if not self._varied[function, place]:
                self._drawn.append((function, content, _refs(_arrays(output))))

    def trained(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], output: Any
    ) -> Iterator[tuple[str, int]]:
        """Add a call that trains; yield which functions drew the same for it, in how many steps."""
        weights, batch = self._parted(args, kwargs)
        drawn, self._drawn = self._drawn, []
        ours = _ids(batch) if weights else set()
        for function, content in {one[:2] for one in drawn if ours & _ids_of(one[2])}:
            last, count = self._repeated.get((function, content), (-1, 0))
            count = count + 1 if last == self._num_steps - 1 else 1
            self._repeated[function, content] = self._num_steps, count
            yield function, count
        self._num_steps += 1
        sizes = {one.shape[0] for one in batch}
        is_new = bool(self._batch) and not _ids(batch) & _ids_of(self._batch)
        self._returned = _refs(_arrays(output))
        self._num_samples = sizes.pop() if is_new and len(sizes) == 1 else 0
        self._kinds = {_of_samples(one) for one in batch}
        self._batch = _refs(batch)

    def evaluated(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
        """Return how many samples a call evaluates; 0 where they are not more than the batch has.

        It trains nothing, is given the weights, and for each array of the batch one of more
        samples. Of a batch that is the same object at each step nothing is said: it may be all
        the data.
        """
        weights, given = self._parted(args, kwargs)
        if not self._num_samples or not weights:
            return 0
        for size in {one.shape[0] for one in given if one.shape[0] > self._num_samples}:
            if self._kinds <= {_of_samples(one) for one in given if one.shape[0] == size}:
                return int(size)
        return 0

    def _parted(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return of what a call is given what a training returned last, and all other arrays."""
        given, returned = _arrays((tuple(args), dict(kwargs))), _ids_of(self._returned)
        both: tuple[list[Any], list[Any]] = [], []
        for one in given:
            both[id(one) not in returned].append(one)
        return both


def _arrays(tree: Any) -> list[Any]:
    """Return the arrays in a tree that may hold samples or weights: no scalars, and no keys."""
    return [
        leaf
        for leaf in jax.tree.leaves(tree)
        if isinstance(leaf, (jax.Array, np.ndarray))
        and not isinstance(leaf, jax.core.Tracer)
        and leaf.ndim > 0
        and leaf.shape[0] > 0
        and not is_key(leaf)
    ]


def _refs(arrays: Iterable[Any]) -> list[weakref.ref[Any]]:
    return [weakref.ref(one) for one in arrays]


def _ids(arrays: Iterable[Any]) -> set[int]:
    return {id(one) for one in arrays}


def _ids_of(refs: Iterable[weakref.ref[Any]]) -> set[int]:
    """Return the ids of those that are still there."""
    return _ids(one for one in (ref() for ref in refs) if one is not None)


def _of_samples(array: Any) -> _Kind:
    """Return shape and kind of each sample of an array."""
    return tuple(array.shape[1:]), getattr(array.dtype, "kind", "key")  # of ``jax.random``
