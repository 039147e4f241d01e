"""The collections file of one worker, kept in step with the tensors that it stores."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence

from ...collection import BUILT_IN, Collection
from ...hook_config import RAW, SavedCollection, SaveSteps
from ...record import TensorInfo
from ...save_policy import Schedule
from ...steps import Mode
from ...store import Store
from .choice import ALL
from .collections import collections_to_json
from .layout import collections_key

# Readers look at the file when they open a run; nobody waits for a change of it.
REWRITE_S = 1.0

_EVERY_STEP = {mode: SaveSteps(interval=1) for mode in Mode}


def as_saved(collections: Iterable[Collection]) -> tuple[SavedCollection, ...]:
    """Return collections of ours in smdebug's words; those that save nothing have no steps."""
    return tuple(
        SavedCollection(
            one.name,
            one.patterns,
            steps=dict.fromkeys(Mode, _steps(one.policy.raw or one.policy.statistics)),
            stored=RAW if one.policy.raw else ALL,
        )
        for one in collections
    )


def _steps(schedule: Schedule | None) -> SaveSteps:
    if schedule is None or schedule.steps:
        steps = sorted(schedule.steps) if schedule else ()
        return SaveSteps(end=0, steps=tuple(steps))
    return SaveSteps(schedule.every, schedule.first, schedule.last)


class CollectionsFile:
    """Says which tensors each collection holds.

    It is written before the first step is, again when it holds more, and when the run ends.

    Args:
        store: Where the run lies.
        worker: Whose file.
        num_workers: How many workers have one.
        collections: What was asked to be saved. A list may grow.
        by_kind: Whether there is also a collection for each kind of tensor that was seen.
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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._key = collections_key(worker)
        self._num_workers = num_workers
        self._collections = collections
        self._by_kind = by_kind
        self._clock = clock
        self._kind_of: dict[str, str] = {}
        self._written = b""
        # What the file was made of: how many tensors, and which collections.
        self._made_of: tuple[int, tuple[SavedCollection, ...]] | None = None
        self._at = 0.0

    def see(self, tensors: Iterable[TensorInfo]) -> None:
        """Note tensors that are stored; write the file if it is the first time."""
        for info in tensors:
            self._kind_of.setdefault(info.name, info.collection)
        if self._made_of is None:
            self.write()

    def tick(self) -> None:
        """Write the file again if it would hold more, about once a second at most."""
        now = len(self._kind_of), tuple(self._collections)
        if self._made_of not in (None, now) and self._clock() - self._at >= REWRITE_S:
            self.write()

    def write(self) -> None:
        """Write the file unless it holds all of this already."""
        made_of = len(self._kind_of), tuple(self._collections)
        data = json.dumps(self._content(made_of[1])).encode()
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
            seen = [kind for kind, names in kinds.items() if names]
            collections += tuple(
                SavedCollection(kind, steps=_EVERY_STEP, stored=ALL)
                for kind in seen
                if kind not in known
            )
            for kind in seen:
                members[kind] = members.get(kind, set()) | kinds[kind]
        return collections_to_json(collections, members, self._num_workers)
