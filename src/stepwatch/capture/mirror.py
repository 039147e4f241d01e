"""The mirror of a run: what is stored on this machine is copied elsewhere, beside the training.

The run itself is the spool. What waits to be copied lies there already, so a network that is away
for hours costs neither memory nor disk, and slows nothing: it only makes the copy late.
"""

from __future__ import annotations

import builtins
import logging
import os
from collections.abc import Callable, Sequence
from time import monotonic, sleep

from ..background import Background
from ..errors import ConfigError, StepwatchError, StoreError
from ..formats.copying import RunCopy
from ..formats.profile.layout import SAMPLED
from ..store import BytesLike, Store, open_store, put_all, put_parts
from .last_wait import LastWait

# How long the end of training may wait for the copy.
CLOSE_TIMEOUT_S = 60.0
TICK_S = 1.0
# A store that refuses is asked again after 1, 2, 4 ... seconds; at the end, so many times.
_LONGEST_PAUSE_S = 8.0
_LAST_TRIES = 3

_log = logging.getLogger("stepwatch")


class Mirror:
    """Copies what one worker stores to another store.

    Args:
        store: Where the run is written.
        url: Where the copy lies.
        worker: Who writes.
        is_first: Whether this worker also copies what belongs to no worker.
        is_new: Whether nothing of the run was written before.

    Raises:
        ConfigError: It is no place for a copy.
    """

    def __init__(
        self, store: Store, url: str, worker: str, *, is_first: bool, is_new: bool
    ) -> None:
        target = open_store(url)
        if target.url == store.url:
            raise ConfigError(f"{url} is where the run is written; give another place to mirror")
        self.url = target.url
        self._copy = RunCopy(store, target, worker=worker, is_first=is_first, is_new=is_new)
        #: Where the recorder is to write: the run's store, and this is told of it.
        self.store: Store = _Noted(store, self._copy.note)
        self._pid = os.getpid()
        self._pause, self._again_at = TICK_S, 0.0
        self._is_failing = self._is_closing = self._is_over = False
        self._background: Background[None] | None = None

    def start(self) -> None:
        """Begin to copy."""
        self._background = Background(
            _nothing, tick=self._advance, tick_s=TICK_S, name="stepwatch-mirror"
        )

    def close(self) -> int:
        """Copy what is left, if that takes no longer than a minute; return how much is not.

        A store that refuses is tried a few times. What is left, and how to copy it, is logged.
        """
        if self._background is None or os.getpid() != self._pid:  # else a child was forked
            return 0
        self._is_closing = True
        wait = LastWait(self._background, self.url, CLOSE_TIMEOUT_S)
        for _ in range(_LAST_TRIES):
            if not wait.is_done() or self._is_over or not self._copy.waiting:
                break
        self._is_over = True
        left = self._copy.waiting
        self._background.close(timeout=TICK_S)
        if left:
            _log.warning(
                "the copy in %s is not complete; everything is in %s, and this copies the rest: "
                "stepwatch mirror %s %s",
                self.url, self.store.url, self.store.url, self.url,
            )  # fmt: skip
        return left

    def _advance(self) -> None:
        if self._is_over or (not self._is_closing and monotonic() < self._again_at):
            return
        if self._is_closing:
            sleep(min(TICK_S, max(0.0, self._again_at - monotonic())))
        try:
            self._copy.watch(SAMPLED)
            self._copy.advance()
            self._pause, self._again_at, self._is_failing = TICK_S, 0.0, False
        except StoreError as error:
            if not self._is_failing:
                _log.warning("the copy in %s is late: %s; it is tried again", self.url, error)
            self._is_failing = True
            self._again_at = monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
        except StepwatchError as error:
            self._is_over = True
            _log.error("nothing is copied to %s: %s", self.url, error)


class _Noted:
    """A store that tells of every key that is set or deleted, once it is.

    Args:
        store: Where the values lie.
        note: Called with each key.
    """

    def __init__(self, store: Store, note: Callable[[str], None]) -> None:
        self._store, self._note = store, note

    @property
    def url(self) -> str:
        return self._store.url

    def put(self, key: str, data: BytesLike) -> None:
        self._store.put(key, data)
        self._note(key)

    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None:
        put_parts(self._store, key, parts)
        self._note(key)

    def put_all(self, items: Sequence[tuple[str, BytesLike]]) -> int:
        num_set = put_all(self._store, items)
        for key, _ in items[:num_set]:
            self._note(key)
        return num_set

    def create(self, key: str, data: BytesLike) -> bool:
        is_new = self._store.create(key, data)
        if is_new:
            self._note(key)
        return is_new

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        return self._store.get(key, start, length)

    def size(self, key: str) -> int:
        return self._store.size(key)

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        return self._store.list(prefix, after)

    def delete(self, key: str) -> None:
        self._store.delete(key)
        self._note(key)


class NoMirror:
    """The run is copied nowhere."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def start(self) -> None:
        """Begin nothing."""

    def close(self) -> int:
        """Return that nothing is left to copy."""
        return 0


def _nothing(_: None) -> None:
    """There is no work but what is due at each tick."""
