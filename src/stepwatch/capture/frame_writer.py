"""Frames in the ring of a black box, such that the rows of its steps can be told apart.

A step names its layout by number. So the layout of every step that is still there must be there
as well: it is written again before it is written over.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..formats.blackbox.frames import LAYOUT, encode_frame, layout_meta
from ..formats.blackbox.ring import FRAME_BYTES, Ring
from ..record import Layout

Array = npt.NDArray[np.generic]
_MOST_LAYOUTS = 8


class FrameWriter:
    """Writes frames and the layouts they need.

    Args:
        ring: Where to; nobody else writes to it. Hold ``lock`` while several things are done to
            it: the training thread and the background thread both write.
    """

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.capacity = ring.capacity
        # RLock: a signal handler may come in the middle of a frame.
        self.lock = threading.RLock()
        #: How many frames are missing: the queue was full, or they were larger than the ring.
        self.left_out = 0
        self._layouts: list[_Written] = []  # that used last is the last
        self._num_layouts = 0

    def write(self, kind: str, meta: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Write one frame; see ``formats.blackbox.frames``."""
        parts = encode_frame(kind, meta, arrays)
        size_bytes = FRAME_BYTES + sum(len(part) for part in parts)
        with self.lock:
            if size_bytes > self.capacity:
                self.left_out += 1
                return
            # What tells the rows of steps apart must stay, as long as they do.
            room_after = self.ring.room_after
            self._layouts = [one for one in self._layouts if room_after(one.used) >= size_bytes]
            needed = size_bytes + self.size_of_layouts()
            for one in self._layouts:
                if room_after(one.place) < needed - one.size_bytes:
                    self._write_layout(one)
            self.ring.write(parts)

    def number_of(self, layout: Layout) -> int:
        """Return the number of the layout of a step; a new one is written first."""
        with self.lock:
            known = self._known(layout)
            if known is None:
                self._num_layouts += 1
                known = _Written(layout, self._num_layouts)
                self._write_layout(known)
            others = [one for one in self._layouts if one is not known]
            known.layout, known.used = layout, self.ring.written
            self._layouts = [*others, known][-_MOST_LAYOUTS:]
            # To write them again must not drive out what they are for.
            while len(self._layouts) > 1 and self.size_of_layouts() > self.capacity // 4:
                self._layouts.pop(0)
            return known.number

    def size_of_layouts(self) -> int:
        """Return how many bytes it takes to write all layouts again."""
        return sum(one.size_bytes for one in self._layouts)

    def _known(self, layout: Layout) -> _Written | None:
        """Return what was written of a layout: the very one, or its equal."""
        very = (one for one in self._layouts if one.layout is layout)
        equal = (one for one in self._layouts if one.layout.tensors == layout.tensors)
        return next(very, None) or next(equal, None)

    def _write_layout(self, one: _Written) -> None:
        one.place = self.ring.written
        self.ring.write(encode_frame(LAYOUT, layout_meta(one.number, one.layout), {}))
        one.size_bytes = self.ring.written - one.place


@dataclass(slots=True)
class _Written:
    """A layout, its number, and where in the ring it was written, and used, last."""

    layout: Layout
    number: int
    place: int = 0
    used: int = 0
    size_bytes: int = 0
