"""Writes one worker's part of a run as smdebug does.

Every step that stores something is an event file and the index file that names what is in it, put
in that order: a reader that trusts only indexes never reads a value that is not there.

Everything here runs on the background thread, beside training. A file costs some calls of the
system. With each of them the thread hands the interpreter to training, and then takes it again;
training waits for that. So files are gathered and go to the store together.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from stepwatch.errors import StoreAway, StoreError
from stepwatch.formats.as_stored import StoredStep
from stepwatch.formats.interface import StoredAt
from stepwatch.formats.manifest import END, End, end_key
from stepwatch.formats.outage import Outage
from stepwatch.formats.smdebug.collections import SavedCollection, Stored
from stepwatch.formats.smdebug.layout import (
    CLAIM_KEY,
    END_KEY,
    EVENTS,
    INDEX,
    event_key,
    index_key,
    parse_step_key,
)
from stepwatch.formats.smdebug.reductions import DERIVED, from_values, reductions
from stepwatch.model.record import Layout, StepRecord
from stepwatch.numerics.statistics import COUNT
from stepwatch.store import BytesLike, Store, put_all

from .run_files import CollectionsFile
from .selection import (
    ALL,
    Content,
    Facts,
    Full,
    StepShape,
    TensorSelection,
    select_records,
    tensor_content,
)
from .template import StepTemplate

# A step is visible within two seconds: at most one until the tick that finds it gathered, the
# rest to write it.
GATHER_S = 0.75
GATHER_BYTES = 16 << 20
_FILES_AT_ONCE = 256

#: The files of one step, by key, in the order in which they are stored.
StepFiles = list[tuple[str, BytesLike]]


class WriteBatch:
    """Files of steps that are not stored yet."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._lost = 0
        self._store = store
        self._clock = clock
        self._steps: deque[StepFiles] = deque()
        self._bytes = 0
        self._since = 0.0
        self._outage = Outage(clock)

    @property
    def lost(self) -> int:
        """How many steps came and are not stored, or not yet."""
        return self._lost + len(self._steps)

    def add(self, files: StepFiles) -> None:
        """Take the files of one step, later than those before; at least one.

        Raises:
            StoreAway: The store is away, and as much as may wait for it does.
        """
        size = sum(memoryview(data).nbytes for _, data in files)
        try:
            self._outage.check_room(self._bytes + size)
        except StoreAway:
            self._lost += 1
            raise
        if not self._steps:
            self._since = self._clock()
        self._steps.append(files)
        self._bytes += size
        if self._bytes >= GATHER_BYTES:
            self._store_waiting()

    def tick(self) -> None:
        """Store what was gathered long enough."""
        if self._steps and self._clock() - self._since >= GATHER_S:
            self._store_waiting()

    def flush(self) -> None:
        """Store what was gathered. What is refused is given up, not kept for ever.

        Raises:
            StoreError: Some steps were refused; this is why the first was. The others are stored.
            StoreAway: The store is away, and what was gathered waits.
        """
        self._store_waiting()
        if self._steps:
            self._outage.check()

    def _store_waiting(self) -> None:
        """Store what was gathered; keep it where the store is away."""
        if not self._outage.asks_again:
            return
        steps, self._steps, self._bytes = self._steps, deque(), 0
        refusal: StoreError | None = None
        while steps:
            try:
                self._store_some(steps)
            except StoreAway as error:
                self._outage.begins(error)
                self._steps = steps
                self._bytes = sum(memoryview(data).nbytes for one in steps for _, data in one)
                break
            except StoreError as error:
                refusal = refusal or error
                steps.popleft()
                self._lost += 1
            except BaseException:
                self._lost += len(steps)
                raise
            else:
                self._outage.ends()
        if refusal is not None:
            raise refusal

    def _store_some(self, steps: deque[StepFiles]) -> None:
        """Store the first files of steps, and take from the steps what is stored."""
        files = list(islice(chain.from_iterable(steps), _FILES_AT_ONCE))
        num_put = put_all(self._store, files)
        while steps and num_put >= len(steps[0]):
            num_put -= len(steps.popleft())
        if num_put:
            del steps[0][:num_put]


def truncate(store: Store, worker: str, first: int) -> None:
    """Remove what a worker stored of step ``first`` and all that follow, the last step first."""
    for folder in (INDEX, EVENTS):  # so that no index names what is gone
        for key in reversed(store.list(folder)):
            step, owner = parse_step_key(key) or (-1, "")
            if step >= first and owner == worker:
                store.delete(key)


_NO_NAMES: frozenset[str] = frozenset()
# One for each mode and what it alternates between; a new one takes milliseconds.
_TEMPLATES = 8


@dataclass(frozen=True, slots=True)
class _Made:
    layout: Layout
    key: tuple[object, ...]
    template: StepTemplate

    def fits(self, layout: Layout, key: tuple[object, ...]) -> bool:
        same = self.layout is layout or self.layout.tensors == layout.tensors
        return self.key == key and same


class SmdebugWriter:
    """Writes one worker's part of a run as smdebug does.

    Args:
        store: Where the run lies, which was claimed or joined.
        worker: The worker.
        num_workers: How many workers write to the run.
        stored_at: What of a tensor is stored at a step; by default everything that follows from
            what was captured, and float64 for all reductions.
        collections: Those that are known. A list may grow.
        marks_end: Whether to mark that the run ended once all workers have; ``False`` where the
            platform does.
        as_stored: Returns what exactly a step stores; ``None`` for what ``stored_at`` says.
        collections_file: The collections file, where all of it is known.
        clock: Seconds, monotonic; for tests.
    """

    def __init__(
        self,
        store: Store,
        worker: str,
        *,
        num_workers: int = 1,
        stored_at: StoredAt | None = None,
        collections: Sequence[SavedCollection] = (),
        marks_end: bool = True,
        as_stored: Callable[[int], StoredStep | None] | None = None,
        collections_file: bytes = b"",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._unwritable = 0
        self._store = store
        self._gathered = WriteBatch(store, clock)
        self._worker = worker
        self._num_workers = num_workers
        self._stored_at = stored_at
        self._marks_end = marks_end
        self._as_stored = as_stored
        self._collections = CollectionsFile(
            store,
            worker,
            num_workers=num_workers,
            collections=collections,
            by_kind=stored_at is None,
            whole=collections_file,
            clock=clock,
        )
        self._made: deque[_Made] = deque(maxlen=_TEMPLATES)
        self._known_template: tuple[tuple[object, ...], StepTemplate] | None = None
        self._last_step = -1

    @property
    def lost(self) -> int:
        """How many steps could not be stored."""
        return self._unwritable + self._gathered.lost

    def write(self, record: StepRecord) -> None:
        """Take one step, later than the ones before, or more of the last one."""
        try:
            files = self._files(record)
            if files and record.step == self._last_step:
                self._gathered.flush()
                files = self._joined(files)
        except BaseException:
            self._unwritable += 1
            raise
        if files:
            self._gathered.add(files)
            self._last_step = record.step

    def tick(self) -> None:
        """Store what was gathered long enough; called a few times a second."""
        with ExitStack() as work:  # each is done, whatever the other raises
            work.callback(self._collections.tick)
            work.callback(self._gathered.tick)

    def flush(self) -> None:
        """Store what was gathered, and what the collections hold by now."""
        with ExitStack() as work:
            work.callback(self._collections.write_changes)
            work.callback(self._gathered.flush)

    def close(self, end: End) -> None:
        """Store what is left, then the notes that say how the run ended."""
        with ExitStack() as work:
            work.callback(self._store_end, end)
            work.callback(self._collections.write)
            work.callback(self._gathered.flush)

    def _store_end(self, end: End) -> None:
        self._store.put(end_key(self._worker), end.to_json())
        # Each worker lists the notes after its own is there, so the last one finds all.
        if self._marks_end and len(self._store.list(END)) >= self._num_workers:
            self._store.put(END_KEY, b"")
        if self._num_workers == 1:
            self._store.delete(CLAIM_KEY)

    def _files(self, record: StepRecord) -> StepFiles:
        """Return the files of a step, the index last; none if nothing of it is stored."""
        known = self._as_stored(record.step) if self._as_stored is not None else None
        if known is not None:
            return self._known_files(record, known)
        stored = self._stored(record)
        contents = _contents(record, stored)
        template = self._template(record, stored, contents)
        if template.is_empty:
            return []
        files: StepFiles = []
        if template.has_events:
            numbers = _numbers(record, template.choice)
            fulls = [contents[name] for name in template.full_values]
            data = template.event_file(record, numbers, fulls)
            files.append((event_key(record.step, record.worker), data))
        files.append((index_key(record.step, record.worker), template.index_file(record)))
        return files

    def _known_files(self, record: StepRecord, known: StoredStep) -> StepFiles:
        """Return the files of a step of which it is known what exactly is stored."""
        arrays = {
            name: known.reductions[name] if name in known.reductions else record.raw[name]
            for name in known.names
        }
        contents = {name: tensor_content(array) for name, array in arrays.items()}
        shape = StepShape.of(record.mode, record.step, record.mode_step)
        fulls = [(name, one.data_type, one.shape, len(one.data)) for name, one in contents.items()]
        key = shape, tuple(fulls), known.shapes
        if self._known_template is None or self._known_template[0] != key:
            choice = TensorSelection(entries=[Full(*one) for one in fulls], shapes=[*known.shapes])
            self._known_template = key, StepTemplate(choice, shape)
            self._collections.write()
        template = self._known_template[1]
        files: StepFiles = []
        if template.has_events:
            data = template.event_file(record, np.empty((0, 0)), list(contents.values()))
            files.append((event_key(record.step, record.worker), data))
        return [*files, (index_key(record.step, record.worker), template.index_file(record))]

    def _joined(self, files: StepFiles) -> StepFiles:
        """Return the files of a step that is stored already, with what these hold behind it."""
        key, data = files[-1]
        there, more = json.loads(self._store.get(key)), json.loads(bytes(data))
        events: StepFiles = []
        if len(files) > 1:
            event, behind = files[0]
            before = self._store.get(event) if there["meta"].get("event_file_name") else b""
            for one in more["tensor_payload"]:
                one["start_idx"] += len(before)
            events.append((event, b"".join((before, behind))))
        joined = {
            "meta": {**there["meta"], **more["meta"]},
            **{
                payload: list({x["tensorname"]: x for x in there[payload] + more[payload]}.values())
                for payload in ("tensor_payload", "shape_payload")
            },
        }
        return [*events, (key, json.dumps(joined).encode())]

    def _stored(self, record: StepRecord) -> list[Stored | None]:
        if self._stored_at is None:
            return [ALL] * len(record.layout)
        mode, mode_step = record.mode, record.mode_step
        return [self._stored_at(info.name, mode, mode_step) for info in record.layout.tensors]

    def _template(
        self, record: StepRecord, stored: list[Stored | None], contents: dict[str, Content]
    ) -> StepTemplate:
        """Return the template of a step; of a new one, note the tensors in the collections."""
        facts = _facts(record, selected=self._stored_at is not None)
        shape = StepShape.of(record.mode, record.step, record.mode_step)
        fulls = [(name, one.data_type, one.shape, len(one.data)) for name, one in contents.items()]
        key = (shape, facts.key, fulls, stored)
        for made in self._made:
            if made.fits(record.layout, key):
                return made.template
        choice = select_records(record.layout, stored, contents, facts)
        template = StepTemplate(choice, shape)
        if not template.is_empty:
            tensors = zip(record.layout.tensors, stored, strict=True)
            self._collections.add(info for info, what in tensors if what is not None)
        self._made.appendleft(_Made(record.layout, key, template))
        return template


def _contents(record: StepRecord, stored: Sequence[Stored | None]) -> dict[str, Content]:
    """Return the full values that are stored, in the order of the tensors."""
    if not record.raw:
        return {}
    found = {}
    for info, what in zip(record.layout.tensors, stored, strict=True):
        array = record.raw.get(info.name)
        if array is not None and array.size and what is not None and what.raw:
            found[info.name] = tensor_content(array)
    return found


def _facts(record: StepRecord, *, selected: bool) -> Facts:
    counts = record.statistics[:, COUNT]
    missing = np.isnan(counts)
    unknown: npt.NDArray[np.bool_] | None = None
    if not selected and missing.any():
        unknown = np.isnan(reductions(record.statistics, DERIVED)) & missing[:, None]
    return Facts(counts == 1, unknown, frozenset(record.raw) if record.raw else _NO_NAMES)


def _numbers(record: StepRecord, choice: TensorSelection) -> npt.NDArray[np.float64]:
    """Return the reductions of a step, shape ``[tensors, reductions]``."""
    numbers = reductions(record.statistics, choice.reductions)
    for row, column, name in choice.from_values:
        numbers[row, column] = from_values(record.raw[name], choice.reductions[column])
    return numbers
