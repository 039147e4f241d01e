"""The files of several steps on their way to the store.

A file costs some calls of the system. With each of them the background thread hands the
interpreter to training, and then asks for it again; training waits for that. So files are gathered
and go to the store together, which may hand it over once for all.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from itertools import chain, islice

from ...errors import StoreError
from ...store import BytesLike, Store, put_all

# A step is visible within two seconds: at most one until the tick that finds it gathered, the
# rest to write it.
GATHER_S = 0.75
GATHER_BYTES = 16 << 20
_FILES_AT_ONCE = 256

#: The files of one step, by key, in the order in which they are stored.
StepFiles = list[tuple[str, BytesLike]]


class Gathered:
    """Files of steps that are not stored yet.

    Args:
        store: Where they will lie.
        clock: Seconds, monotonic.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        #: How many steps were given up because a file of theirs could not be stored.
        self.lost = 0
        self._store = store
        self._clock = clock
        self._steps: deque[StepFiles] = deque()
        self._bytes = 0
        self._since = 0.0

    def add(self, files: StepFiles) -> None:
        """Take the files of one step, later than those before; at least one."""
        if not self._steps:
            self._since = self._clock()
        self._steps.append(files)
        self._bytes += sum(memoryview(data).nbytes for _, data in files)
        if self._bytes >= GATHER_BYTES:
            self.flush()

    def tick(self) -> None:
        """Store what was gathered long enough."""
        if self._steps and self._clock() - self._since >= GATHER_S:
            self.flush()

    def flush(self) -> None:
        """Store what was gathered. What cannot be stored is given up, not kept for ever.

        Raises:
            StoreError: Some steps were refused; this is why the first was. The others are stored.
        """
        steps, self._steps, self._bytes = self._steps, deque(), 0
        refusal: StoreError | None = None
        while steps:
            try:
                self._store_some(steps)
            except StoreError as error:
                refusal = refusal or error
                steps.popleft()
                self.lost += 1
            except BaseException:
                self.lost += len(steps)
                raise
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
