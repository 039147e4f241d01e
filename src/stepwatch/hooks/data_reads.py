"""How data sets are read: in which order, and whether that changes them.

What ``predict()`` of Keras returns is in the order of the pass that it made. Labels that the script
reads from the same data set in another pass, as ``[y for x, y in data]``, come in another order if
it is shuffled anew at each: whatever is computed of both compares each prediction with the label of
another sample, and a good model looks like a guess. The iterators of ``ImageDataGenerator`` keep
their labels in the order of the files.

A data set that gives parts of an array gives views of it. What is done to a view in place, as
``x -= x.mean()`` in ``__getitem__``, is done to the data: again in each epoch, to what is left.
"""

from __future__ import annotations

import ast
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from .data_helpers import Watching
from .patching import Function, calling_first
from .script import is_script, script_tree, variables_of

_LARGEST = 1_000_000  # characters of a script
#: So many passes over a data set are looked at, and so many of these after the first, in which a
#: cache is filled, must have changed it.
_MOST_PASSES, _LEAST_CHANGED = 8, 2
#: So many samples of a batch are looked at, or all where nobody knows which these are, of so many
#: bytes in an array at most.
_MOST_SAMPLES, _MOST_BYTES = 4, 1 << 25
_MOST_ARRAYS = 16  # of a list of them


class DataReads(Watching):
    """Watches who reads data sets, and ``predict()`` of Keras, once these are imported."""

    def __init__(self) -> None:
        super().__init__()
        # By what shuffles: the name of the model that predicted of it; where labels were read.
        self._predicted: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._read: WeakSet[Any] = WeakSet()
        # Of each data set: its passes, and in how many after the first which attribute changed.
        self._passes: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._changed: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()
        self._begun: WeakSet[Any] = WeakSet()  # what has fetched a batch for a loader
        self._watched: set[type] = set()

    def begin(self) -> None:
        """Watch the packages that were imported, and those that will be."""
        reads, predicts = calling_first(self._reads), calling_first(self._predicts)
        for module, owner, name, make in (
            ("keras.src.models.model", "Model", "predict", predicts),
            ("keras.src.models.model", "Model", "fit", calling_first(self._fits)),
            ("tensorflow.python.data.ops.dataset_ops", "DatasetV2", "__iter__", reads),
            ("torch.utils.data.dataloader", "DataLoader", "__iter__", reads),
            ("torch.utils.data._utils.fetch", "_MapDatasetFetcher", "fetch", self._fetching),
        ):
            self._replaced.when_imported(module, self._putting(module, owner, name, make))

    def _putting(
        self, module: str, owner: str, name: str, make: Callable[[Function], Function]
    ) -> Callable[[], None]:
        return lambda: self._replaced.put(getattr(sys.modules[module], owner), name, make)

    # In which order

    def _predicts(self, model: Any, x: Any = None, *_: Any, **__: Any) -> None:
        """A model is about to predict."""
        with suppress(Exception):  # another version has other attributes
            stage, frame = shuffling(x), _caller()
            if stage is None or frame is None:
                return
            self._predicted[stage] = model.name
            if stage in self._read or (_keeps_labels(stage) and _reads_kept(frame, x)):
                self._found.add(f"reshuffled/{model.name}")

    def _reads(self, data: Any) -> None:
        """Somebody is about to go through a data set."""
        with suppress(Exception):
            frame = sys._getframe(3)  # beyond what stands in the place of the function
            while _is_of_data(frame) and frame.f_back is not None:
                frame = frame.f_back
            stage = shuffling(data) if is_script(frame.f_code.co_filename) else None
            if stage is None:
                return
            if reads_labels(frame):
                self._read.add(stage)
                if stage in self._predicted:
                    self._found.add(f"reshuffled/{self._predicted[stage]}")
            for name in read_by_batch(frame, data):
                self._found.add(f"other_order/{name}")

    # Whether it changes them

    def _fits(self, model: Any, x: Any = None, *_: Any, **named: Any) -> None:
        """A model of Keras is about to be trained: on a data set of a class of the script?"""
        with suppress(Exception):
            if is_split_anew(x, named.get("validation_data")):
                self._found.add(f"split_anew/{model.name}")
        with suppress(Exception):
            kind = type(x)
            is_one = any(one.__name__ in ("PyDataset", "Sequence") for one in kind.__mro__)
            if is_one and "__getitem__" in vars(kind) and kind not in self._watched:
                self._watched.add(kind)
                self._replaced.put(kind, "__getitem__", self._getting)

    def _getting(self, original: Function) -> Function:
        def get(data: Any, batch: Any) -> Any:
            # It is asked for batches in any order, and by several threads at once.
            if batch != 0:
                return original(data, batch)
            return self.comparing(data, None, lambda: original(data, batch))

        return get

    def _fetching(self, original: Function) -> Function:
        def fetch(fetcher: Any, rows: Any) -> Any:
            if fetcher in self._begun:
                return original(fetcher, rows)
            self._begun.add(fetcher)
            return self.comparing(fetcher.dataset, rows, lambda: original(fetcher, rows))

        return fetch

    def comparing(self, data: Any, rows: Any, read: Callable[[], Any]) -> Any:
        """Read a batch, the first of a pass, and compare what it was made of before and after."""
        before: dict[str, int] = {}
        with suppress(Exception):  # it has no hash, no length, or no attributes
            self._passes[data] = self._passes.get(data, 0) + 1
            holds, some = _held_by(data, rows)
            if self._passes[data] <= _MOST_PASSES:
                before = _digests(holds, some)
        given = read()
        with suppress(Exception):
            if before and self._passes[data] > 1:
                counts = self._changed.setdefault(data, {})
                for name, digest in _digests(holds, some).items():
                    if before.get(name, digest) != digest:
                        counts[name] = counts.get(name, 0) + 1
                        if counts[name] >= _LEAST_CHANGED:
                            self._found.add(f"changed_by_reading/{type(holds).__name__}.{name}")
        return given


def _digests(data: Any, rows: Sequence[int] | None) -> dict[str, int]:
    """Return digests of the samples that a data set holds, by the name of its attribute.

    Args:
        data: An object that holds arrays, or lists of samples.
        rows: Which samples; ``None`` for all of an array.
    """
    found: dict[str, Any] = {}
    num_samples = len(data)
    for name, held in vars(data).items():
        if isinstance(held, (list, tuple)) and len(held) != num_samples:
            found |= {f"{name}[{place}]": one for place, one in enumerate(held[:_MOST_ARRAYS])}
        else:
            found[name] = held
    return {name: of for name, held in found.items() if (of := _digest(held, rows)) is not None}


def _digest(held: Any, rows: Sequence[int] | None) -> int | None:
    """Return a digest of some samples; ``None`` for what holds none, or none that are numbers."""
    with suppress(Exception):
        samples = [held] if rows is None else [held[row] for row in rows]
        parts = [p for one in samples for p in (one if isinstance(one, (tuple, list)) else (one,))]
        arrays = [np.asarray(part) for part in parts if getattr(part, "ndim", 0)]
        numbers = [one for one in arrays if one.dtype.kind in "fiu" and one.nbytes <= _MOST_BYTES]
        digest = 0
        for one in numbers:
            digest = zlib.crc32(np.ascontiguousarray(one).data, digest)
        return digest if numbers else None
    return None


def _held_by(data: Any, rows: Any) -> tuple[Any, list[int] | None]:
    """Return the data set that holds samples, and which these are there."""
    some = None if rows is None else [rows] if isinstance(rows, int) else list(rows)[:_MOST_SAMPLES]
    while hasattr(data, "indices") and hasattr(data, "dataset"):  # a Subset
        some = None if some is None else [int(data.indices[row]) for row in some]
        data = data.dataset
    return data, some


def shuffling(data: Any) -> Any:
    """Return what shuffles a data set anew at each pass, if anything does.

    Args:
        data: A ``tf.data.Dataset``, a ``DataLoader`` of PyTorch, an iterator of
            ``ImageDataGenerator``, or anything else.

    Returns:
        The same object for all data sets that are made of what it gives; ``None`` for those in
        one order, also because they were kept (``cache()``) once they had been shuffled.
    """
    if type(getattr(data, "sampler", None)).__name__ == "RandomSampler":
        return data
    if _keeps_labels(data):
        return data if data.shuffle is True else None
    stage, seen = data, 0
    while stage is not None and seen < 100:
        kind = type(stage).__name__
        if "Cache" in kind:
            return None
        if "Shuffle" in kind and hasattr(stage, "_reshuffle_each_iteration"):
            return None if stage._reshuffle_each_iteration is False else stage
        stage, seen = getattr(stage, "_input_dataset", None), seen + 1
    return None


def is_split_anew(trained: Any, validated: Any) -> bool:
    """Return whether two parts of a ``tf.data.Dataset`` were taken of what each pass shuffles anew.

    As ``data.take(n)`` and ``data.skip(n)`` after ``data = data.shuffle(...)``: which samples are
    in which part is another one in each epoch.
    """
    stage = shuffling(validated)
    return stage is not None and all(_is_part_of(stage, data) for data in (trained, validated))


def _is_part_of(stage: Any, data: Any) -> bool:
    """Return whether a data set is made of only some of what a stage gives."""
    kinds = []
    while data is not None and data is not stage:
        kinds.append(type(data).__name__)
        data = getattr(data, "_input_dataset", None)
    return data is stage and any(re.search("Take|Skip|Shard|Filter", kind) for kind in kinds)


def reads_labels(frame: FrameType) -> bool:
    """Return whether the loop that a script begins here goes through labels alone.

    That is one over pairs of which the first part is used for nothing, as in
    ``for _, y in data: labels.append(y)``.

    Args:
        frame: Where it begins.
    """
    return _loop_at(frame.f_code.co_filename, frame.f_lineno).is_of_labels


def read_by_batch(frame: FrameType, data: Any) -> Iterator[str]:
    """Yield the variables with a value for each sample that a loop reads by the number of a batch.

    As teacher logits that were computed in an earlier pass: ``for i, (x, y) in enumerate(data):
    loss(model(x), logits[i])``, or ``logits[i * size : (i + 1) * size]``.

    Args:
        frame: Where the loop begins.
        data: A ``DataLoader``, which the loop goes through.
    """
    read = _loop_at(frame.f_code.co_filename, frame.f_lineno).by_number
    variables = variables_of(frame) if read else {}
    for name, is_slice in read:
        held: Any = variables.get(name)
        if is_slice:
            is_of_samples = hasattr(held, "shape") and len(held) == len(data.dataset)
        else:
            is_of_samples = len(held) == len(data) and len(held[0]) == data.batch_size
        if is_of_samples:
            yield name


class _Loop(NamedTuple):
    """What the code of a loop tells.

    Args:
        is_of_labels: It is over pairs, and uses only their second parts.
        by_number: What it reads by the number of the turn, and whether by a slice.
    """

    is_of_labels: bool = False
    by_number: tuple[tuple[str, bool], ...] = ()


@lru_cache(maxsize=1024)
def _loop_at(file: str, line: int) -> _Loop:
    """Return what is known of the loop of a script that begins at a line; nothing of none."""
    tree = script_tree(file, _LARGEST)
    is_of_labels, by_number = False, list[tuple[str, bool]]()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.For):
            loops: list[ast.For | ast.comprehension] = [node]
            used: list[ast.AST] = [*node.body, *node.orelse]
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            loops = [*node.generators]
            used = [node.elt, *(test for one in node.generators for test in one.ifs)]
        else:
            continue
        for loop in loops:
            if loop.iter.lineno <= line <= (loop.iter.end_lineno or loop.iter.lineno):
                is_of_labels |= _uses_second_alone(loop.target, used)
                by_number += _reads_by_number(loop, used)
    return _Loop(is_of_labels, tuple(by_number))


def _reads_by_number(
    loop: ast.For | ast.comprehension, used: Sequence[ast.AST]
) -> Iterator[tuple[str, bool]]:
    """Yield what a loop over ``enumerate(...)`` reads by its number, and whether by a slice."""
    is_counted = isinstance(loop.iter, ast.Call) and _names(loop.iter.func) == {"enumerate"}
    if not is_counted or not isinstance(loop.target, ast.Tuple):
        return
    number = _names(loop.target.elts[0])
    for node in (part for one in used for part in ast.walk(one)):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node.value, ast.Name) and _names(node.slice) & number:
            yield node.value.id, isinstance(node.slice, ast.Slice)


def _uses_second_alone(target: ast.expr, used: Sequence[ast.AST]) -> bool:
    """Return whether of pairs that a loop goes through only the second part is used."""
    if not isinstance(target, ast.Tuple) or len(target.elts) < 2:
        return False
    first, second = (_names(part) for part in target.elts[:2])
    names = set[str]().union(*map(_names, used))
    return not first & names and bool(second & names)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _keeps_labels(data: Any) -> bool:
    """Return whether it is an iterator of ``ImageDataGenerator`` that knows its labels."""
    is_one = any("preprocessing.image" in kind.__module__ for kind in type(data).__mro__)
    return is_one and getattr(data, "shuffle", None) is not None and hasattr(data, "n")


def _reads_kept(frame: FrameType, data: Any) -> bool:
    """Return whether the script uses the labels that an iterator keeps, in the order of files."""
    names = [name for name, value in variables_of(frame).items() if value is data]
    tree = script_tree(frame.f_code.co_filename, _LARGEST)
    used = {
        node.value.id
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Attribute)
        and node.attr in ("classes", "labels", "y")
        and isinstance(node.value, ast.Name)
    }
    return any(name in used for name in names)


def _caller() -> FrameType | None:
    """Return where the script calls; ``None`` for a call by a package."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_script(frame.f_code.co_filename):
        if not re.search(r"stepwatch|keras.src.utils.traceback_utils", _module(frame)):
            return None
        frame = frame.f_back
    return frame


def _is_of_data(frame: FrameType) -> bool:
    return bool(re.match(r"stepwatch|tensorflow\.python\.data|torch\.utils\.data", _module(frame)))


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
