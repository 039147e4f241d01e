"""The mirror of a run: what is stored on this machine is copied elsewhere, beside the training.

The run itself is the spool. What waits to be copied lies there already, so a network that is away
for hours costs neither memory nor disk, and slows nothing: it only makes the copy late. At the
end of a run the wait for a slow store is bounded, and logged where it is long.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Protocol

from ..errors import ConfigError, StepwatchError, StoreError
from ..formats.copying import RunCopy
from ..formats.outage import LONGEST_PAUSE_S, PAUSE_S
from ..formats.profile.parts import SAMPLED
from ..runtime.background import Background, BackgroundReport
from ..store import BytesLike, Store, open_store
from ..store.proxy import StoreProxy

# Up to here nobody wonders why the process does not end.
SILENT_S = 2.0
_TEXT = "waiting for %s to take the last steps, %.0f s at most; Ctrl-C leaves them out"

_log = logging.getLogger("stepwatch")


class Waits(Protocol):
    """What has something to do."""

    def flush(self, timeout: float) -> bool:
        """Wait until all that was handed over before is done; return whether it is."""

    def close(self, timeout: float) -> BackgroundReport:
        """Accept nothing more, and return within ``timeout`` seconds."""


class ShutdownWait:
    """Waits until the background has done what was handed over.

    A long wait is logged once, in one line; from there on Ctrl-C ends the waiting, and nothing
    else.

    Args:
        background: Has yet to store something; a ``Background``, or what stands for one.
        target: Where to, for people.
        timeout: Seconds that all waiting may take together.
    """

    def __init__(self, background: Waits, target: str, timeout: float) -> None:
        self._background, self._target = background, target
        self._warn_at = monotonic() + min(SILENT_S, timeout)
        self._give_up_at = monotonic() + timeout
        self._has_warned = False

    def is_done(self) -> bool:
        """Wait until all that was handed over up to now is done; return whether it is."""
        if not self._has_warned and self._background.flush(max(0.0, self._warn_at - monotonic())):
            return True
        has_warned, self._has_warned = self._has_warned, True
        try:
            if not has_warned and self._warn_at <= monotonic() < self._give_up_at:
                _log.warning(_TEXT, self._target, self._left_s())
            return self._background.flush(self._left_s())
        except KeyboardInterrupt:
            self._give_up_at = monotonic()
            return False

    def close(self) -> BackgroundReport:
        """Wait, and close the background; what it has not done by then is given up."""
        self.is_done()
        return self._background.close(self._left_s())

    def _left_s(self) -> float:
        return max(0.0, self._give_up_at - monotonic())


# How long the end of training may wait for the copy.
CLOSE_TIMEOUT_S = 60.0
TICK_S = 1.0
# At the end a store that refuses is retried this many times.
_LAST_TRIES = 3


class Mirror:
    """Copies what one worker stores to another store.

    Args:
        store: Where the run is written.
        url: Where the copy lies.
        worker: Who writes.
        is_first: Whether this worker also copies what belongs to no worker.
        is_new: Whether nothing of the run was written before.

    Raises:
        ConfigError: ``url`` is where the run itself is written.
    """

    def __init__(
        self, store: Store, url: str, worker: str, *, is_first: bool, is_new: bool
    ) -> None:
        target = open_store(url)
        if target.url == store.url:
            raise ConfigError(f"{url} is where the run is written; give another place to mirror")
        self.url = target.url
        self._copy = RunCopy(store, target, worker=worker, is_first=is_first, is_new=is_new)
        #: Where the recorder is to write: the run's store, which notes what is to be copied.
        self.store: Store = _NotifyingStore(store, lambda key: self._note(key))
        self._note: Callable[[str], object] = self._copy.note
        self._pid = os.getpid()
        self._pause, self._again_at = PAUSE_S, 0.0
        self._is_failing = self._is_closing = self._is_over = False
        self._background: Background[None] | None = None

    def note(self, key: str) -> None:
        """A value was set or deleted by another process."""
        self._copy.note(key)

    def relay(self, note: Callable[[str], object]) -> None:
        """Call this with what is to be copied: another process does it."""
        self._note = note

    def start(self) -> None:
        self._background = Background(
            lambda _: None, tick=self._advance, tick_s=TICK_S, name="stepwatch-mirror"
        )

    def close(self) -> int:
        """Copy what is left, if that takes no longer than a minute; return how much is not.

        A store that refuses is tried a few times. What is left, and how to copy it, is logged.
        """
        if self._background is None or os.getpid() != self._pid:  # else a child was forked
            return 0
        self._is_closing = True
        wait = ShutdownWait(self._background, self.url, CLOSE_TIMEOUT_S)
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
            self._pause, self._again_at, self._is_failing = PAUSE_S, 0.0, False
        except StoreError as error:
            if not self._is_failing:
                _log.warning("the copy in %s is late: %s; it is tried again", self.url, error)
            self._is_failing = True
            self._again_at = monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        except StepwatchError as error:
            self._is_over = True
            _log.error("nothing is copied to %s: %s", self.url, error)


class _NotifyingStore(StoreProxy):
    """A store that calls ``note`` with every key that was set or deleted."""

    def __init__(self, store: Store, note: Callable[[str], object]) -> None:
        super().__init__(store)
        self._note = note

    def put(self, key: str, data: BytesLike) -> None:
        super().put(key, data)
        self._note(key)

    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None:
        super().put_parts(key, parts)
        self._note(key)

    def put_all(self, items: Sequence[tuple[str, BytesLike]]) -> int:
        num_set = super().put_all(items)
        for key, _ in items[:num_set]:
            self._note(key)
        return num_set

    def create(self, key: str, data: BytesLike) -> bool:
        is_new = super().create(key, data)
        if is_new:
            self._note(key)
        return is_new

    def delete(self, key: str) -> None:
        super().delete(key)
        self._note(key)


class NoMirror:
    """Stands for a mirror where the run is copied nowhere."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def note(self, key: str) -> None: ...

    def relay(self, note: Callable[[str], object]) -> None: ...

    def start(self) -> None: ...

    def close(self) -> int:
        return 0
