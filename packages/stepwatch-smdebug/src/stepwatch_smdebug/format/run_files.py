"""What lies beside the steps of a run in smdebug's format: its claim and its collections.

The first worker claims the target with ``run.json``; a worker that is alone also with
``claim.smd``, at which smdebug's own hook keeps away. ``training_job_end.ts`` says that the run
ended: it is written when all workers have left their notes, so that one that ends early does not
end it for the others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence

from stepwatch.errors import CorruptRun, RunExists
from stepwatch.formats.manifest import END, RUN_KEY, Manifest
from stepwatch.formats.smdebug.collections import (
    RAW,
    SavedCollection,
    SaveSteps,
    collections_to_json,
)
from stepwatch.formats.smdebug.layout import (
    CLAIM_KEY,
    COLLECTIONS,
    END_KEY,
    INDEX,
    collections_key,
    holds_run,
    parse_step_key,
)
from stepwatch.model.collection import BUILT_IN, Collection
from stepwatch.model.record import TensorInfo
from stepwatch.model.save_policy import Schedule
from stepwatch.model.steps import Mode
from stepwatch.runtime.process import may_run
from stepwatch.store import Store

from .selection import ALL

# Readers read the file when they open a run; nobody waits for a change of it.
REWRITE_S = 1.0

_EVERY_STEP = {mode: SaveSteps(interval=1) for mode in Mode}


def to_saved_collections(collections: Iterable[Collection]) -> tuple[SavedCollection, ...]:
    """Return collections of ours as smdebug has them; those that save nothing have no steps."""
    return tuple(
        SavedCollection(
            one.name,
            one.patterns,
            steps=dict.fromkeys(Mode, _to_save_steps(one.policy.raw or one.policy.statistics)),
            stored=RAW if one.policy.raw else ALL,
        )
        for one in collections
    )


def _to_save_steps(schedule: Schedule | None) -> SaveSteps:
    if schedule is None or schedule.steps:
        steps = sorted(schedule.steps) if schedule else ()
        return SaveSteps(end=0, steps=tuple(steps))
    return SaveSteps(schedule.every, schedule.first, schedule.last)


class CollectionsFile:
    """Says which tensors each collection holds, for one worker.

    It is written before the first step is, again when it holds more, and when the run ends.

    Args:
        store: Where the run lies.
        worker: The worker.
        num_workers: How many workers have such a file.
        collections: Those that are known. A list may grow.
        by_kind: Whether there is also a collection for each kind of tensor that is stored.
        whole: The file, where it is known already; then it holds nothing else.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        store: Store,
        worker: str,
        *,
        num_workers: int,
        collections: Sequence[SavedCollection],
        by_kind: bool,
        whole: bytes = b"",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._key = collections_key(worker)
        self._num_workers = num_workers
        self._collections = collections
        self._by_kind = by_kind
        self._whole = whole
        self._clock = clock
        self._kind_of: dict[str, str] = {}
        self._written = b""
        # What the file was made of: how many tensors, and which collections.
        self._made_of: tuple[int, tuple[SavedCollection, ...]] | None = None
        self._at = 0.0

    def add(self, tensors: Iterable[TensorInfo]) -> None:
        """Note tensors that are stored; write the file if it is the first time."""
        for info in tensors:
            self._kind_of.setdefault(info.name, info.collection)
        if self._made_of is None:
            self.write()

    def tick(self) -> None:
        """Write the file again if it would hold more, about once a second at most."""
        if self._clock() - self._at >= REWRITE_S:
            self.write_changes()

    def write_changes(self) -> None:
        """Write the file again if it would hold more."""
        now = len(self._kind_of), tuple(self._collections)
        if self._made_of not in (None, now):
            self.write()

    def write(self) -> None:
        """Write the file unless it holds all of this already."""
        made_of = len(self._kind_of), tuple(self._collections)
        data = self._whole or json.dumps(self._content(made_of[1])).encode()
        if data != self._written:
            self._store.put(self._key, data)
            self._written, self._at = data, self._clock()
        self._made_of = made_of

    def _content(self, collections: tuple[SavedCollection, ...]) -> dict[str, object]:
        members = {
            one.name: {name for name in self._kind_of if one.holds(name)} for one in collections
        }
        if self._by_kind:
            kinds: dict[str, set[str]] = {kind: set() for kind in BUILT_IN}
            for name, kind in self._kind_of.items():
                kinds.setdefault(kind, set()).add(name)
            known = {one.name for one in collections}
            stored = [kind for kind, names in kinds.items() if names]
            collections += tuple(
                SavedCollection(kind, steps=_EVERY_STEP, stored=ALL)
                for kind in stored
                if kind not in known
            )
            for kind in stored:
                members[kind] = members.get(kind, set()) | kinds[kind]
        return collections_to_json(collections, members, self._num_workers)


def claim_run(
    store: Store, worker: str, manifest: Manifest, *, over_unfinished: bool = False
) -> None:
    """Claim a store for a run, as its first worker.

    With ``over_unfinished`` it may hold what a run left that never ended: its marks are removed,
    its steps stay and are replaced one by one.

    Raises:
        RunExists: It holds a run; nothing is changed.
        StoreError: It cannot be written to.
    """
    if over_unfinished:
        _take_over(store)
    elif _wrote_before(store, worker, alone=manifest.num_workers == 1):
        raise run_exists(store)
    alone = manifest.num_workers == 1
    if alone and not store.create(CLAIM_KEY, b""):
        raise run_exists(store)
    if not store.create(RUN_KEY, manifest.to_json()):
        if alone:
            store.delete(CLAIM_KEY)
        raise run_exists(store)


def join_run(
    store: Store, worker: str, manifest: Manifest, *, over_unfinished: bool = False
) -> None:
    """Make sure that a worker does not write into an earlier run; the first worker claims it.

    Raises:
        RunExists: An earlier run is there.
    """
    if over_unfinished:
        # What an earlier run left may still be there; the first worker removes it.
        if store.list(END_KEY):
            raise run_exists(store)
        return
    if store.list(END) or _wrote_before(store, worker, alone=False):
        raise run_exists(store)
    there = _manifest(store)
    if there is not None and (
        there.run_format != "smdebug" or there.num_workers != manifest.num_workers
    ):
        raise run_exists(store)


def run_exists(store: Store) -> RunExists:
    """Return the error that says that a store is not free."""
    return RunExists(f"{store.url} already holds a run; give another --run, or delete it")


def _wrote_before(store: Store, worker: str, *, alone: bool) -> bool:
    """Return whether an earlier run is there, and not what another worker of this one began."""
    if alone:
        return holds_run(store)
    mine = collections_key(worker)
    if mine in store.list(COLLECTIONS) or store.list(END_KEY) or store.list(CLAIM_KEY):
        return True
    return any((parse_step_key(key) or (0, ""))[1] == worker for key in store.list(INDEX))


def _take_over(store: Store) -> None:
    """Remove the marks of a run; RunExists if it ended, may still run, or has another format."""
    if store.list(END_KEY):
        raise run_exists(store)
    there = _manifest(store)
    if there is not None:
        ended = len(store.list(END)) >= there.num_workers
        alive = not ended and may_run(there.host, there.pid, there.process)
        if alive or there.run_format != "smdebug":
            raise run_exists(store)
    for key in (*store.list(END), RUN_KEY, CLAIM_KEY):
        store.delete(key)


def _manifest(store: Store) -> Manifest | None:
    try:
        return Manifest.from_json(RUN_KEY, store.get(RUN_KEY))
    except FileNotFoundError:
        return None
    except CorruptRun:
        raise run_exists(store) from None
