"""The files of one worker and mode.

TensorBoard follows one file of a folder as it grows, and leaves it for good when it finds one of a
later name. It goes on after a record that is cut off once the rest has come, but never gets over
one that is damaged. So nothing is written behind what may be torn: a new file is begun.
"""

from __future__ import annotations

import os
import re
import socket
import time
from typing import Protocol, runtime_checkable

from ...store import BytesLike, Store
from .event import version_record

#: Where a store cannot append, each file is stored anew as a whole until it is so large.
WHOLE_BYTES = 1 << 20


@runtime_checkable
class Appends(Protocol):
    """A store that can add to a value; one whose files other programs follow as they grow."""

    def append(self, key: str, data: BytesLike) -> None:
        """Add to the end of a value, new or not."""


class EventFiles:
    """One file that grows, and another after a refusal; where nothing grows, a sequence.

    Args:
        store: Where they lie.
        folder: Where in it; empty, or ends in ``/``.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        host = re.sub(r"[^-\w.]", "_", socket.gethostname())
        seconds, rest_ns = divmod(time.time_ns(), 10**9)
        # Names sort by time, as TensorBoard reads them, and no two writers share one.
        who = f"{seconds:010d}.{rest_ns:09d}.{host}.{os.getpid()}"
        self._stem = f"{folder}events.out.tfevents.{who}"
        self._number = 0
        self._is_begun = False
        self._whole = b""

    def add(self, records: bytes) -> None:
        """Store further records.

        Raises:
            StoreError: The store refuses; they are not stored, and what was before still is.
        """
        data = records if self._is_begun else version_record(time.time()) + records
        try:
            self._put(f"{self._stem}.{self._number:06d}", data)
        except BaseException:
            if self._is_begun:
                self._begin_another()
            raise
        self._is_begun = True
        if len(self._whole) >= WHOLE_BYTES:
            self._begin_another()

    def _put(self, key: str, data: bytes) -> None:
        if isinstance(self._store, Appends):
            self._store.append(key, data)
            return
        self._store.put(key, self._whole + data)
        self._whole += data

    def _begin_another(self) -> None:
        self._number += 1
        self._is_begun, self._whole = False, b""
