"""A copy of a run in another store, kept up to date while the run is written.

A reader of the copy finds a valid run at any moment: full values are copied before the rows that
name them, rows in the order of steps, merged parts are deleted after the part that replaced them
was copied, and the notes at the end come last. A key says what to copy, not with which bytes: the
run itself is the queue.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby

from ..errors import NotAFile, RunExists
from ..runtime.parallel import map_parallel
from ..store import PIECE_BYTES, Store, pieces_of_value, put_parts
from .blackbox import is_ring
from .manifest import END, RUN_KEY, read_manifest
from .native.parts import OBSERVATIONS, RESERVE, TENSORS
from .profile.parts import PROFILE
from .smdebug.layout import CLAIM_KEY, END_KEY, EVENTS, INDEX

#: So many keys are remembered; where more wait, they are found by listing both stores.
MOST_KEYS = 20_000
# Small values on their way at once, and how many bytes they may hold together.
_THREADS = 8
_BATCH_KEYS, _BATCH_BYTES = 64, 16 << 20

_ROWS = (OBSERVATIONS, INDEX)
_OF_PROFILE = tuple(f"{PROFILE}{what}/" for what in ("spans", "system", "traces", "python"))
# Keys under which a value never changes.
_FINAL = (*_ROWS, TENSORS, EVENTS, "checkpoints/", "blackbox/", *_OF_PROFILE)
# What may be deleted while a run is written.
_MAY_GO = (OBSERVATIONS, TENSORS, END, *_OF_PROFILE)
_WORKER = re.compile(r"(?:^|[/_])(worker_\d+)(?=[./-]|$)")


class RunCopy:
    """Makes a store hold what another holds of a run.

    Args:
        source: Where the run is written.
        target: Where the copy lies.
        worker: Only what this worker wrote; all by default.
        is_first: Whether what belongs to no worker is copied, too.
        is_new: Whether nothing of it was copied before; else that is found out by listing.
    """

    def __init__(
        self,
        source: Store,
        target: Store,
        *,
        worker: str = "",
        is_first: bool = True,
        is_new: bool = False,
    ) -> None:
        self._source, self._target = source, target
        self._worker, self._is_first = worker, is_first
        self._noted: deque[str] = deque()
        self._is_known = is_new
        self._waiting: set[str] = set()
        self._there: set[str] = set()  # of the keys that may go
        self._watched: set[str] = set()
        self._digests: dict[str, bytes] = {}  # of the values that change
        self._is_checked = self._is_begun = False
        #: How many values were put.
        self.copied = 0
        #: Why a value is left out, by key: it is no file of the run.
        self.left_out: dict[str, str] = {}

    @property
    def waiting(self) -> int:
        """How many keys are to be copied or deleted; at least 1 where that is not known."""
        return len(self._waiting) + len(self._noted) + (not self._is_known)

    def note(self, key: str) -> None:
        """A value was set or deleted; may be called by any thread."""
        if len(self._noted) < MOST_KEYS:
            self._noted.append(key)
        else:
            self._is_known = False

    def watch(self, prefixes: Sequence[str]) -> None:
        """See what another process set or deleted below prefixes that belong to no worker."""
        if self._is_first:
            here = (key for prefix in prefixes for key in self._source.list(prefix))
            before, self._watched = self._watched, set(here)
            for key in (before ^ self._watched) | set(filter(changes, self._watched)):
                self.note(key)

    def advance(self) -> None:
        """Copy what is not copied yet.

        Raises:
            StoreError: The target refuses. What is not copied is still known.
            RunExists: The target holds another run.
        """
        self._check_target()
        while not self._pass():
            continue  # what was merged meanwhile has a successor, and that comes first

    def _pass(self) -> bool:
        """Copy and delete what waits; return whether no part was merged away meanwhile."""
        gone = self._find_gone()
        for batch in self._batches(sorted(self._waiting - gone, key=_turn)):
            copied = map_parallel(self._copy, batch, threads=_THREADS)
            if not all(copied):
                return False
        for key in gone:
            if key in self._there:
                self._target.delete(key)
                self._there.discard(key)
            self._waiting.discard(key)
        return True

    def _find_gone(self) -> set[str]:
        """Take what was noted; return which keys of what waits are gone."""
        self._take()
        if not self._is_known:
            self._compare()
        gone = {key for key in self._waiting if not self._is_here(key)}
        self._take()  # what replaced them was noted before they went
        return gone

    def _take(self) -> None:
        num_before = len(self._waiting)
        while self._noted:
            key = self._noted.popleft()
            if is_copied(key):
                self._waiting.add(key)
        if len(self._waiting) > max(MOST_KEYS, num_before):
            self._waiting.clear()
            self._is_known = False

    def _compare(self) -> None:
        """List both stores, to know what waits."""
        there = {key for key in self._target.list() if self._is_mine(key)}
        self._is_known = True
        self._noted.clear()  # before the listing: what comes from here on is noted again
        here = {key for key in list_keys(self._source) if self._is_mine(key)}
        workers = {worker_of(key) for key in here} - {""}
        # What belongs to no worker may have been put there by others; but for this mark.
        more = {key for key in there - here if worker_of(key) in workers or key == END_KEY}
        self._there = more | {key for key in there if key.startswith(_MAY_GO)}
        self._waiting = more | {key for key in here if key not in there or changes(key)}

    def _is_mine(self, key: str) -> bool:
        if not self._worker:
            return True
        return worker_of(key) == self._worker or (self._is_first and not worker_of(key))

    def _is_here(self, key: str) -> bool:
        try:
            self._source.size(key)
        except FileNotFoundError:
            return False
        except NotAFile as error:
            self.left_out[key] = str(error)
            return False
        return True

    def _copy(self, key: str) -> bool:
        """Copy one value; return whether it was there."""
        try:
            size = self._source.size(key)
            data = self._source.get(key) if size <= PIECE_BYTES else b""
        except FileNotFoundError:
            return False
        if size > PIECE_BYTES:
            put_parts(self._target, key, pieces_of_value(self._source, key, size))
            self.copied += 1
        else:
            self._put(key, data)
        if key.startswith(_MAY_GO):
            self._there.add(key)
        self._waiting.discard(key)
        return True

    def _put(self, key: str, data: bytes) -> None:
        """Put a small value, unless it is one that may change and did not."""
        digest = hashlib.sha256(data).digest() if changes(key) else b""
        if not digest or self._digests.get(key) != digest:
            self._target.put(key, data)
            self.copied += 1
        if digest:
            self._digests[key] = digest

    def _batches(self, keys: Sequence[str]) -> Iterator[list[str]]:
        """Yield keys that may be copied at once: rows one by one, as they come in order."""
        for turn, of_turn in groupby(keys, lambda key: _turn(key)[0]):
            batch, held = list[str](), 0
            for key in of_turn:
                size = self._source.size(key) if turn == _ANY and self._is_here(key) else 0
                full = turn != _ANY or held + size > _BATCH_BYTES or len(batch) >= _BATCH_KEYS
                if batch and full:
                    yield batch
                    batch, held = [], 0
                batch.append(key)
                held += size
            yield batch

    def _check_target(self) -> None:
        """Raise RunExists if the target holds another run, or may do so."""
        if self._is_checked:
            return
        manifests = (read_manifest(self._source), read_manifest(self._target))
        ours, theirs = (one.run_id if one else "" for one in manifests)
        self._is_checked = bool(ours and theirs)
        if ours != theirs if self._is_checked else self._is_foreign():
            raise RunExists(f"{self._target.url} already holds another run; give another place")
        self._is_begun = True

    def _is_foreign(self) -> bool:
        """Return whether what the workers from here have there is not from here."""
        if self._is_begun:
            return False  # it was not at first, and no name has come since
        here = set(list_keys(self._source))
        workers = {worker_of(key) for key in here} - {""}
        mine = (key for key in self._target.list() if self._is_mine(key))
        there = sorted(key for key in mine if worker_of(key) in workers)
        same = [key for key in there if key in here and not changes(key)]
        strange = [key for key in there if key not in here and not key.startswith(_MAY_GO)]
        # Files of two runs may be alike in name and size; but they hold times.
        ends = {*same[:1], *same[-1:]}
        differ = any(self._source.get(key) != self._target.get(key) for key in ends)
        return bool(strange or (there and not same) or differ)


def list_keys(source: Store) -> list[str]:
    """Return the keys of a run that are copied, while it may be written.

    What is copied last is listed first. So all that a listed row names is listed, too, and where
    the end of a worker is, its rows are.
    """
    ends = [*source.list(END_KEY), *source.list(END)]
    rows = source.list(OBSERVATIONS)
    # A merge may pass by one listing, of which it would show neither the old nor the new.
    while rows != (again := source.list(OBSERVATIONS)):
        rows = again
    rows += source.list(INDEX)
    others = [key for key in source.list() if _turn(key)[0] <= _ANY and is_copied(key)]
    return [*others, *rows, *ends]


def is_copied(key: str) -> bool:
    """Return whether a key belongs into a copy: rings, claims and reserves do not."""
    return not (key.startswith(RESERVE) or key == CLAIM_KEY or is_ring(key))


def changes(key: str) -> bool:
    """Return whether the value of a key may be replaced by another."""
    return not key.startswith(_FINAL)


def worker_of(key: str) -> str:
    """Return the worker that a key names; ``""`` for none.

    Example:
        >>> worker_of("findings/worker_3.actions.jsonl"), worker_of("run.json")
        ('worker_3', '')
        >>> worker_of("events/000000000007/000000000007_worker_0.tfevents")
        'worker_0'
    """
    match = _WORKER.search(key)
    return match[1] if match else ""


_RUN, _ANY, _ROW, _END, _LAST = range(5)


def _turn(key: str) -> tuple[int, str]:
    """Return what keys are sorted by; that of rows ascends with steps."""
    if key == RUN_KEY:
        return _RUN, key
    if key.startswith(_ROWS):
        return _ROW, key
    if key == END_KEY:
        return _LAST, key
    return (_END if key.startswith(END) else _ANY), key
