"""What smdebug stored of a run, and the native format has no columns for, kept beside its rows.

Those are the reductions as they were stored, the order of all records, shapes that were stored by
themselves, with their names in the framework, and the collections as each worker noted them.
Statistics say the same in numbers of their own. By this a run that was converted is converted
back to one of which smdebug's readers say what they said of the first.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from ..store import Store, put_parts
from .manifest import worker_from_key, worker_in_key
from .native.blobs import RunBlobFile, encode_checked
from .native.parts import Span, parse_span, part_name

Array = npt.NDArray[np.generic]

AS_STORED = "debugger/"
_COLLECTIONS = "/collections.json"
# A file holds at most so many steps, and not many more bytes.
_STEPS_A_FILE = 500
_BYTES_A_FILE = 16 << 20


@dataclass(frozen=True, slots=True)
class StoredStep:
    """What of a step was stored, by names as they were stored.

    Args:
        names: Of all values and reductions, in order.
        shapes: The name of each tensor whose shape was stored by itself, its name in the
            framework, and the shape.
        reductions: Those of the values that are reductions, and no tensors of their own.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    reductions: Mapping[str, Array] = field(default_factory=dict)

    @property
    def layout(self) -> bytes:
        """Its names and shapes as JSON."""
        return json.dumps([self.names, self.shapes], separators=(",", ":")).encode()


class StoredStepsWriter:
    """Keeps the stored steps of one worker, which ascend."""

    def __init__(self, store: Store, worker: str) -> None:
        self._store, self._worker = store, worker
        self._arrays: dict[str, Array] = {}
        self._steps: list[int] = []
        self._layout = b""
        self._bytes = 0

    def add(self, step: int, stored: StoredStep) -> None:
        """Keep a step; of one that has the names and shapes of the one before only values."""
        layout, before = stored.layout, self._layout
        self._layout = layout
        self._steps.append(step)
        self._arrays[f"{step}/"] = np.frombuffer(b"" if layout == before else layout, np.uint8)
        for name, array in stored.reductions.items():
            self._arrays[f"{step}/{name}"] = array
            self._bytes += array.nbytes
        if len(self._steps) >= _STEPS_A_FILE or self._bytes >= _BYTES_A_FILE:
            self.flush()

    def flush(self) -> None:
        """Store what was gathered."""
        if self._steps:
            span = Span(self._worker, self._steps[0], self._steps[-1])
            put_parts(self._store, _key(span), encode_checked(self._arrays))
        self._arrays, self._steps, self._layout, self._bytes = {}, [], b"", 0


class StoredSteps:
    """Reads what was kept of all workers of a run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        keys = store.list(AS_STORED)
        spans = sorted(span for key in keys if (span := parse_span(key)) is not None)
        self._spans: dict[str, list[Span]] = {}
        for span in spans:
            self._spans.setdefault(span.worker, []).append(span)
        self._open = lru_cache(maxsize=4)(self._read)
        #: The collections file of each worker.
        self.collections = {
            worker_from_key(key[len(AS_STORED) : -len(_COLLECTIONS)]): store.get(key)
            for key in keys
            if key.endswith(_COLLECTIONS)
        }

    def of(self, worker: str) -> Callable[[int], StoredStep | None]:
        """Return what gives the steps of a worker, ``None`` for one that was not kept."""
        return partial(self._get, self._spans.get(worker, []))

    def _get(self, spans: list[Span], step: int) -> StoredStep | None:
        index = bisect_right(spans, step, key=lambda span: span.first) - 1
        if index < 0 or spans[index].last < step:
            return None
        file, layouts = self._open(spans[index])
        layout = layouts.get(step)
        if layout is None:
            return None
        names, shapes = json.loads(layout)
        there = set(file.names)
        found = {name: file.get(f"{step}/{name}") for name in names if f"{step}/{name}" in there}
        return StoredStep(
            tuple(names), tuple((name, own, tuple(shape)) for name, own, shape in shapes), found
        )

    def _read(self, span: Span) -> tuple[RunBlobFile, dict[int, bytes]]:
        """Return a file, and the names and shapes of each of its steps."""
        key = _key(span)
        file = RunBlobFile(key, partial(self._store.get, key))
        layouts: dict[int, bytes] = {}
        last = b""
        for name in file.names:
            step, _, tensor = name.partition("/")
            if not tensor:
                last = file.get(name).tobytes() or last
                layouts[int(step)] = last
        return file, layouts


def keep_collections(store: Store, worker: str, data: bytes) -> None:
    """Keep the collections file of a worker."""
    store.put(f"{AS_STORED}{worker_in_key(worker)}{_COLLECTIONS}", data)


def _key(span: Span) -> str:
    return f"{AS_STORED}{part_name(span)}.safetensors"
