"""Vocabularies that were adapted anew for what a model is evaluated on.

A second ``TextVectorization`` that is adapted on the test texts numbers words by how frequent they
are there: an id means another word than in training. Each layer that was adapted is known by the
rows that it returned, and these again in what a model is fitted, evaluated and asked on.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np

from ...numerics.digest import row_digests
from ..patching import PatchSet
from .backend import Array

_KINDS = (
    keras.layers.TextVectorization,
    keras.layers.StringLookup,
    keras.layers.IntegerLookup,
)
#: So many layers are held, so many rows of each known again, and so many of what a model is given
#: looked at.
_MOST_LAYERS, _MOST_ROWS, _LOOKS, _LEAST_ROWS = 16, 20_000, 64, 8
#: Of these so many are those of the layer, and at most so many those of another one.
_OWN, _OTHER = 0.9, 0.5
#: Of the words that two layers know so many have another id.
_MOVED = 0.1


class Vocabularies:
    """Knows by the rows that it is given which layer a model was trained with."""

    def __init__(self) -> None:
        # Of each layer that was adapted; a function that prepares data keeps none itself.
        self._rows: dict[Any, set[int]] = {}
        # Of each model, at each place of what it is given, the layers whose rows it was fitted on.
        self._trained: WeakKeyDictionary[Any, dict[str, list[Any]]] = WeakKeyDictionary()
        self._found: dict[str, float] = {}
        self._inside = threading.local()

    def put(self, replaced: PatchSet) -> None:
        """Take hold of the layers."""
        owners = {name: set[type]() for name in ("adapt", "call")}
        for kind in _KINDS:
            for name, known in owners.items():
                owner = next(one for one in kind.__mro__ if name in vars(one))
                if owner not in known:
                    known.add(owner)
                    replaced.put(owner, name, self._adapting if name == "adapt" else self._calling)

    def _adapting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def adapt(layer: Any, *args: Any, **named: Any) -> Any:
            returned = original(layer, *args, **named)
            if layer in self._rows or len(self._rows) < _MOST_LAYERS:
                self._rows[layer] = set()
            return returned

        return adapt

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(layer: Any, *args: Any, **named: Any) -> Any:
            depth = getattr(self._inside, "depth", 0)
            self._inside.depth = depth + 1
            try:
                output = original(layer, *args, **named)
            finally:
                self._inside.depth = depth
            if depth == 0:  # a vectorization looks up by a layer of its own
                with suppress(Exception):  # what is traced has no value
                    rows = self._rows.get(layer)
                    if rows is not None and len(rows) < _MOST_ROWS:
                        rows.update(_digests(output, _MOST_ROWS))
            return output

        return call

    def given(self, model: Any, function: Callable[..., Any], args: Any, named: Any) -> None:
        """Note what a model is given by ``fit``, ``evaluate`` or ``predict``."""
        if not self._rows:
            return
        with suppress(Exception):  # of arguments that are wrong the function itself says so
            found = inspect.signature(function).bind_partial(model, *args, **named).arguments
            trains = "validation_data" in inspect.signature(function).parameters
            evaluated = found.get("validation_data") if trains else (found.get("x"),)
            if trains:
                for place, rows in _parts(found.get("x")):
                    known = self._trained.setdefault(model, {}).setdefault(place, [])
                    known += [one for one in self._layers_of(rows) if one not in known]
            if isinstance(evaluated, (tuple, list)) and evaluated:
                for place, rows in _parts(evaluated[0]):
                    self._compare(self._trained.get(model, {}).get(place, []), rows)

    def found(self) -> Mapping[str, float]:
        """Return what was found since it was asked last: by layer, the share of words moved."""
        found, self._found = self._found, {}
        return {f"evaluation/readapted/{name}": share for name, share in found.items()}

    def _layers_of(self, rows: set[int]) -> list[Any]:
        """Return the layers that returned all of these rows, or nearly."""
        return [
            layer
            for layer, known in self._rows.items()
            if len(rows) >= _LEAST_ROWS and len(rows & known) >= _OWN * len(rows)
        ]

    def _compare(self, trained: Sequence[Any], rows: set[int]) -> None:
        """Look whether rows are of another layer than those that were trained on."""
        layers = self._layers_of(rows)
        if len(trained) != 1 or len(layers) != 1 or layers[0] is trained[0]:
            return
        before, now = trained[0], layers[0]
        is_other = len(rows & self._rows[before]) <= _OTHER * len(rows)
        if is_other and type(before) is type(now) and _settings(before) == _settings(now):
            share = _moved(before.get_vocabulary(), now.get_vocabulary())
            if share >= _MOVED:
                self._found[f"{now.name}/{before.name}"] = share


def _parts(x: Any) -> Iterator[tuple[str, set[int]]]:
    """Yield the rows of each thing that a model is given, with its place."""
    parts = x if isinstance(x, Mapping) else dict(enumerate(x if type(x) in (list, tuple) else [x]))
    for place, part in parts.items():
        if hasattr(part, "shape"):
            yield str(place), _digests(part, _LOOKS)


def _digests(values: Any, most: int) -> set[int]:
    """Return digests of some rows of ids; nothing for what has no rows."""
    array: Array = np.asarray(values)
    if array.ndim < 2 or array.dtype.kind not in "iuf" or not array.size:
        return set()
    rows = array[:: max(1, len(array) // most)][:most].reshape(-1, array[0].size)
    return set(row_digests(np.ascontiguousarray(rows.astype(np.int64))).tolist())


def _settings(layer: Any) -> Mapping[str, Any]:
    left_out = ("name", "vocabulary", "vocabulary_size", "idf_weights")
    return {key: value for key, value in layer.get_config().items() if key not in left_out}


def _moved(before: Sequence[Any], now: Sequence[Any]) -> float:
    """Return the share of words known to both that have another id; 0.0 if there are none."""
    ids = {word: number for number, word in enumerate(before)}
    both = [ids[word] != number for number, word in enumerate(now) if word in ids]
    return sum(both) / len(both) if both else 0.0
