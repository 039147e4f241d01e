"""Converts a run from one format to another, step by step, and lists what the target cannot hold.

The notes that say how the run ended are copied last: a conversion that is broken off leaves a
run that did not end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from ..errors import ConfigError, nearest
from ..model.record import StepRecord
from ..numerics.statistics import NAN, ZEROS
from ..store import Store
from . import RunTarget, Selection, format_names, open_writer
from .as_stored import (
    AS_STORED,
    StoredStep,
    StoredSteps,
    StoredStepsWriter,
    keep_collections,
)
from .interface import RunReader, RunWriter
from .manifest import FINDINGS, RUN_KEY, Manifest, end_key
from .native.reader import NativeReader
from .smdebug.collections import SavedCollection, collections_from_json
from .smdebug.layout import collections_key
from .smdebug.reader import SmdebugReader
from .tensorboard import TensorBoardWriter


def target_names() -> tuple[str, ...]:
    """Return the formats that a run can be converted to with what is installed."""
    return (*format_names(), "tensorboard")


class Losses:
    """What a target could not hold: for each kind of loss, the tensors that it affects."""

    def __init__(self) -> None:
        self._tensors: dict[str, set[str]] = {}

    def add(self, what: str, tensor: str) -> None:
        self._tensors.setdefault(what, set()).add(tensor)

    def lines(self) -> list[str]:
        """Return one line for each kind of loss, with some of the tensors."""
        return [_line(what, sorted(tensors)) for what, tensors in self._tensors.items()]


def _line(what: str, tensors: list[str]) -> str:
    listed = ", ".join(tensors[:3]) + (", …" if len(tensors) > 3 else "")
    plural = "" if len(tensors) == 1 else "s"
    return f"{what} ({len(tensors)} tensor{plural}: {listed})"


def convert(
    source: RunReader, store: Store, target: str, on_step: Callable[[], None] = lambda: None
) -> Losses:
    """Write a run anew in another format.

    Args:
        source: The run; what it shows now is converted.
        store: Where to write; it must hold nothing.
        target: One of ``target_names()``.
        on_step: Called after each step of each worker.

    Returns:
        What the target could not hold.

    Raises:
        ConfigError: There is no such target.
        RunExists: The store holds a run.
    """
    targets = target_names()
    if target not in targets:
        raise ConfigError(
            f"no format {target!r}; there are {', '.join(targets)}{nearest(target, targets)}"
        )
    losses, ends = Losses(), source.ends()
    was_smdebug = isinstance(source, NativeReader) and bool(source.store.list(AS_STORED))
    writers = _open_writers(source, store, target)
    for worker, writer in writers.items():
        kept = StoredStepsWriter(store, worker)
        for record in source.records(worker):
            if target == "native" and isinstance(source, SmdebugReader):
                kept.add(record.step, _stored_step(source, record))
            if not (target == "smdebug" and was_smdebug):
                _FIT[target](record, losses)
            writer.write(record)
            writer.tick()
            on_step()
        kept.flush()
        writer.flush()
    if target != "tensorboard":  # of who saved nothing there is no writer
        for worker in ends.keys() - writers.keys():
            store.put(end_key(worker), ends[worker].to_json())
    for worker, writer in writers.items():
        if worker in ends:
            writer.close(ends[worker])
    return losses


def _open_writers(source: RunReader, store: Store, target: str) -> dict[str, RunWriter]:
    """Return a writer for every worker, all opened before one writes."""
    if target == "tensorboard":
        return {worker: TensorBoardWriter(store.url, worker) for worker in source.workers}
    manifest = replace(source.manifest, run_format=target)
    kept = StoredSteps(source.store) if isinstance(source, NativeReader) else None
    files = kept.collections if kept is not None else {}
    selection = Selection(collections=_collections(manifest))
    writers = {
        worker: open_writer(
            RunTarget(store, worker, manifest, is_first=number == 0),
            replace(
                selection,
                as_stored=kept.of(worker) if worker in files and kept is not None else None,
                collections_file=files.get(worker, b""),
            ),
        )
        for number, worker in enumerate(source.workers)
    }
    if isinstance(source, SmdebugReader) and target == "native":
        for worker, data in source.collections_files().items():
            keep_collections(store, worker, data)
    elif target == "smdebug":
        for worker in files.keys() - writers.keys():  # who saved nothing
            store.put(collections_key(worker), files[worker])
    return writers


def _stored_step(source: SmdebugReader, record: StepRecord) -> StoredStep:
    """Return what of a step was stored, beside its full values."""
    saved = source.saved(record.worker, record.step)
    if saved is None:
        return StoredStep(())
    names = tuple(saved.contents.byte_ranges)
    reductions = {
        name: source.value(record.worker, record.step, name)
        for name in names
        if name not in record.raw
    }
    shapes = ((name, own, shape) for name, (shape, own) in saved.contents.shapes.items())
    return StoredStep(names, tuple(shapes), reductions)


def _collections(manifest: Manifest) -> tuple[SavedCollection, ...]:
    if not manifest.debugger_collections:
        return ()
    data = json.dumps(manifest.debugger_collections).encode()
    return collections_from_json(RUN_KEY, data)[0]


def _fit_native(record: StepRecord, losses: Losses) -> None:
    del record, losses  # it holds whatever a record has


def _fit_smdebug(record: StepRecord, losses: Losses) -> None:
    _lose_more(record, losses)
    counts = record.statistics[:, NAN : ZEROS + 1].sum(axis=1)
    for row, info in enumerate(record.layout.tensors):
        if info.trainable is not None:
            losses.add("whether a parameter is trainable, and which optimizers hold it", info.name)
        if info.name in record.raw:
            if 0 in info.shape:
                losses.add("the dtype of what has no elements", info.name)
            elif info.dtype in _WIDENED:
                losses.add(
                    f"the dtype: {info.dtype} is stored as float32, the same values", info.name
                )
        elif counts[row] and info.shape:
            losses.add("how many elements are zero, nan or infinite", info.name)


def _lose_more(record: StepRecord, losses: Losses) -> None:
    """Note what only the native format has a place for."""
    for name in record.digests:
        losses.add("digests", name)
    for name in record.exponents:
        losses.add("histograms of exponents", name)
    for info in record.layout.tensors:
        if info.offset is not None:
            losses.add("where the part of a worker begins in the whole tensor", info.name)


_WIDENED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def _fit_tensorboard(record: StepRecord, losses: Losses) -> None:
    _lose_more(record, losses)
    for info in record.layout.tensors:
        if info.name in record.raw and info.shape:
            losses.add("full values: a histogram is shown instead", info.name)
        elif info.shape and info.collection in ("weights", "gradients"):
            losses.add("statistics other than the l2 norm", info.name)
        elif info.shape:
            losses.add("statistics", info.name)


_FIT: dict[str, Callable[[StepRecord, Losses], None]] = {
    "native": _fit_native,
    "smdebug": _fit_smdebug,
    "tensorboard": _fit_tensorboard,
}


def copy_findings(source: Store, target: Store) -> int:
    """Copy what rules found; return how many files that were."""
    keys = source.list(FINDINGS)
    for key in keys:
        target.put(key, source.get(key))
    return len(keys)
