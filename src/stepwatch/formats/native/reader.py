"""Reads a run in the native format, while it is being written or years later.

It trusts only rows: a part appears whole, after the raw values that its rows name. Parts may be
merged between two listings, so the parts of a worker are checked as a chain (each says which step
the worker recorded before it). A hole means that a merge overtook the listing, which is repeated:
a merged part appears before those it replaces go, so the next listing shows it. A hole that two
listings show alike was not made by merging: a part is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import CorruptRun, RunNotFound
from ...model.json_text import parse_json
from ...model.record import Layout, StepRecord
from ...model.steps import Mode
from ...numerics.columns import numbers, rows_where
from ...runtime.parallel import map_parallel
from ...store import Store
from ..interface import Located, StepRange, last_complete_in_order
from ..manifest import RUN_KEY, End, read_ends, read_manifest, worker_in_key
from .blobs import RunBlobFile
from .observations import LayoutColumns, to_records
from .parts import (
    OBSERVATIONS,
    TENSORS,
    Part,
    Span,
    blob_name,
    covers,
    find_gaps,
    observations_key,
    parse_span,
    read_part_index,
    tensors_in,
    tensors_key,
    widest_spans,
)

_LISTINGS = 5
# Most of the time is spent waiting for a distant store.
_THREADS = 32
# Up to this many new parts, as when following, are read one by one and not by the index.
_FEW_PARTS = 8
# Footers of large parts take up to a megabyte in memory.
_FOOTERS = 64
_log = logging.getLogger("stepwatch")


class NativeReader:
    """Reads a run in the native format.

    Args:
        store: Where it lies.

    Raises:
        RunNotFound: There is no run.
        CorruptRun: ``run.json`` is damaged.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        manifest = read_manifest(store)
        if manifest is None:
            raise RunNotFound(
                f"no run at {store.url}: it holds no {RUN_KEY}; to list runs: stepwatch runs FOLDER"
            )
        self.manifest = manifest
        self._parts: dict[Span, Part] = {}
        self._layouts: dict[LayoutColumns, Layout] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._reported: set[Span] = set()
        self._footers = lru_cache(maxsize=_FOOTERS)(Part.read_footer)
        self._blob = lru_cache(maxsize=16)(self._open_blob)

    @property
    def store(self) -> Store:
        """Where the run lies."""
        return self._store

    def refresh(self) -> None:
        before: list[Span] | None = None
        for _ in range(_LISTINGS):
            spans = widest_spans(map(parse_span, self._store.list(OBSERVATIONS)))
            try:
                parts = self._open_parts(spans)
            except FileNotFoundError:
                continue  # merged away between listing and reading
            holes = find_gaps(parts.values())
            if not holes or spans == before:
                self._parts = parts
                self._report_lost(holes)
                return
            before = spans
        # Overtaken every time: the parts that were known stay valid.

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(span.worker for span in self._parts))

    def ends(self) -> dict[str, End]:
        return read_ends(self._store)

    def last_complete(self, ended: Collection[str], num_workers: int) -> int:
        ranges = {worker: self.step_ranges(worker) for worker in self.workers}
        return last_complete_in_order(ranges, ended, num_workers)

    def step_ranges(self, worker: str) -> list[StepRange]:
        return [range_ for part in self.parts(worker) for range_ in part.meta.ranges]

    def tensors(self) -> dict[str, str]:
        # Of those with the same names the smallest is read.
        by_size = sorted(self._parts.items(), key=lambda item: -item[1].num_rows)
        spans = {part.meta.names: span for span, part in by_size}
        for names in spans.keys() - self._names.keys():
            table = self._read(spans[names], None, ["tensor", "collection"])
            self._names[names] = tensors_in(table)
        found: dict[str, str] = {}
        for names in spans:
            found |= self._names[names]
        return dict(sorted(found.items()))

    def observations(
        self,
        tensors: frozenset[str] | None = None,
        columns: Sequence[str] | None = None,
        step: tuple[Mode, int] | None = None,
    ) -> Iterator[tuple[str, pa.Table]]:
        parts = [part for part in self._parts.values() if step is None or part.may_hold(*step)]

        def read(part: Part) -> pa.Table | None:
            try:
                return part.read_tensors(tensors or frozenset(), columns)
            except FileNotFoundError:
                return None  # merged into another

        # All rows of a run may not fit into memory, so they are read one part after the other.
        tables = repeat(None) if tensors is None else map_parallel(read, parts, threads=_THREADS)
        for part, table in zip(parts, tables, strict=False):
            found = self._read(part.span, tensors, columns) if table is None else table
            yield part.span.worker, found

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> Iterator[Located]:
        columns = ["step", "mode", "mode_step", "blob", "offset", "shape"]
        at = None if step is None else (mode, step)
        for who, table in self.observations(frozenset([tensor]), columns, at):
            if worker not in (None, who):
                continue
            # Codes into a few texts are slow to turn into Python's one by one.
            texts = [table.column(name).cast(pa.string()).to_pylist() for name in ("mode", "blob")]
            numbers = [table.column(name).to_pylist() for name in ("step", "mode_step")]
            for its_mode, blob, number, mode_step, part in zip(
                *texts, *numbers, _parts(table), strict=True
            ):
                if mode in (Mode.GLOBAL, its_mode):
                    yield Located(who, number, mode_step, blob, *part)

    def records(self, worker: str, after: int = -1) -> Iterator[StepRecord]:
        for part in self.parts(worker):
            if part.span.last <= after:
                continue
            table = self._read(part.span, None, None)
            for rows in to_records(table, worker, self._layouts, after):
                raw = _Raw(self, worker, rows.record.step, rows.blobs)
                yield replace(rows.record, raw=raw)

    def raw(self, worker: str, blob: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        name = f"{step}/{tensor}"
        try:
            return self._blob(worker, blob).get(name)
        except FileNotFoundError:  # it was merged into another after the row was read
            self._blob.cache_clear()
            return self._blob(worker, self._merged_blob(worker, blob)).get(name)

    def _open_blob(self, worker: str, blob: str) -> RunBlobFile:
        key = tensors_key(_blob_span(worker, blob))
        return RunBlobFile(key, partial(self._store.get, key))

    def _merged_blob(self, worker: str, blob: str) -> str:
        """Return the smallest file that holds the values of one that is gone."""
        gone = _blob_span(worker, blob)
        spans = map(parse_span, self._store.list(f"{TENSORS}{worker_in_key(worker)}/"))
        wider = [one for one in spans if one and covers(one, gone) and one.again >= gone.again]
        # where there is none, that it is gone is what the next reading says
        return blob_name(min(wider, key=lambda one: one.last - one.first, default=gone))

    def parts(self, worker: str) -> list[Part]:
        """Return the parts of a worker, in the order of steps."""
        return [part for span, part in self._parts.items() if span.worker == worker]

    def _read(
        self, span: Span, tensors: frozenset[str] | None, columns: Sequence[str] | None
    ) -> pa.Table:
        """Read a part, or the part that it was merged into."""
        for _ in range(_LISTINGS):
            part = self._parts.get(span)
            try:
                if part is None:
                    break
                if tensors is None:
                    return part.read(columns)
                return part.read_tensors(tensors, columns)
            except FileNotFoundError:
                self.refresh()
        return self._read_inside(span, tensors, columns)

    def _read_inside(
        self, span: Span, tensors: frozenset[str] | None, columns: Sequence[str] | None
    ) -> pa.Table:
        for wider in self._parts:
            if wider != span and covers(wider, span):
                names = None if columns is None else [*dict.fromkeys((*columns, "step"))]
                table = self._read(wider, tensors, names)
                steps = numbers(table.column("step"))
                return rows_where(table, (span.first <= steps) & (steps <= span.last))
        raise CorruptRun(observations_key(span), 0, "it is gone, and no other part holds its steps")

    def _open_parts(self, spans: Sequence[Span]) -> dict[Span, Part]:
        """Open the parts that are new."""
        new = [span for span in spans if span not in self._parts]
        known = read_part_index(self._store) if len(new) > _FEW_PARTS else {}

        def open_part(span: Span) -> Part:
            return Part(self._store, span, known.get(span), self._footers)

        opened = dict(zip(new, map_parallel(open_part, new, threads=_THREADS), strict=True))
        return {span: opened.get(span) or self._parts[span] for span in spans}

    def _report_lost(self, holes: list[Span]) -> None:
        for hole in holes:
            if hole not in self._reported:
                self._reported.add(hole)
                _log.warning(
                    "%s: steps of %s from %d to %d are lost: a part of observations/ is gone",
                    self._store.url, hole.worker, hole.first, hole.last,
                )  # fmt: skip


def _blob_span(worker: str, blob: str) -> Span:
    span = parse_span(f"{worker_in_key(worker)}/{blob}")
    if span is None:
        raise FileNotFoundError(f"no raw values under {blob}")
    return span


def _parts(table: pa.Table) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield for each row where a part begins and the shape of the whole; nothing for a whole."""
    if table.column("offset").null_count == len(table):
        yield from repeat((), len(table))
        return
    texts = [table.column(name).cast(pa.string()).to_pylist() for name in ("offset", "shape")]
    for offset, shape in zip(*texts, strict=True):
        yield () if offset is None else (tuple(parse_json(offset)), tuple(parse_json(shape)))


class _Raw(Mapping[str, npt.NDArray[np.generic]]):
    """The raw values of a stored step, read on access."""

    def __init__(self, reader: NativeReader, worker: str, step: int, blobs: dict[str, str]) -> None:
        self._reader = reader
        self._worker = worker
        self._step = step
        self._blobs = blobs

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        return self._reader.raw(self._worker, self._blobs[name], self._step, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)
