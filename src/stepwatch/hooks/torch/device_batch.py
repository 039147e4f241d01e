"""What is computed on an accelerator, gathered so that launches are few and there is one transfer.

A tensor is read before it can change. In a burst, while nothing of training runs, it is enough to
hold it until the burst ends; outside of one, a later operation may change the tensor in place, so
a tensor is copied, and the copies of many are reduced together. Together they stay below
``CHUNK`` elements: with the tensor that would exceed it, all that waits is reduced at once, and
that tensor is not copied.

Nothing here waits for the accelerator before ``collect``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from ...statistics import ABS_MIN, COUNT, MAX, MIN, NAN, NUM_FIELDS, merge
from .device_tables import CHUNK, NUM_WORDS, Rows, cuts, rows_of, table_words, to_table
from .last_seen import LastSeen
from .unnoticed import unnoticed

Words = npt.NDArray[np.int64]
Row = npt.NDArray[np.float64]


class DeviceBatch:
    """Statistics, and other words of 64 bits, that are still on accelerators."""

    def __init__(self) -> None:
        self._notes: list[list[Callable[[Row], None]]] = []
        self._last: LastSeen | None = None
        self._sizes: list[int] = []
        self._unread: dict[torch.device, list[tuple[int, torch.Tensor]]] = defaultdict(list)
        self._num_unread = 0
        self._in_burst = False
        self._pending: list[tuple[Callable[[Words], None], torch.Tensor]] = []
        self._found: list[tuple[npt.NDArray[np.intp], Rows]] = []

    @contextmanager
    def burst(self) -> Iterator[None]:
        """Add tensors that stay as they are until the end of the ``with`` block."""
        self._in_burst = True
        try:
            yield
        finally:
            self._in_burst = False
            self.reduce()

    def add(self, tensor: torch.Tensor, note: Callable[[Row], None]) -> None:
        """Let the statistics of a tensor be noted once they are on the host.

        Args:
            tensor: Any shape and strides; a real dtype. Read before it can change.
            note: Called by ``collect`` with a row of shape ``[NUM_FIELDS]``, float64.
        """
        if self._notes and self._last is not None and self._last.is_same(tensor):
            self._notes[-1].append(note)  # a container returns what its last child returned
            return
        self._last = LastSeen(tensor)
        self._notes.append([note])
        self._sizes.append(tensor.numel())
        self._num_unread += tensor.numel()
        if self._in_burst or self._num_unread >= CHUNK:
            kept = tensor
        else:
            with unnoticed(tensor.device.type):
                kept = tensor.clone()
        self._unread[tensor.device].append((len(self._sizes) - 1, kept))
        if self._num_unread >= CHUNK:
            self.reduce()

    def defer(self, words: torch.Tensor, note: Callable[[Words], None]) -> None:
        """Let something be noted once it is on the host: integers of 64 bits, one axis."""
        self._pending.append((note, words))

    def reduce(self) -> None:
        """Compute the statistics of all that was added, where it is."""
        unread, self._unread, self._num_unread = self._unread, defaultdict(list), 0
        for device, tensors in unread.items():
            with unnoticed(device.type):
                _reduce(tensors, self._wait)

    def _wait(self, words: torch.Tensor, width: int, places: list[int], rows: list[int]) -> None:
        owners = np.repeat(np.array(places), rows)
        self.defer(words.view(torch.int64).reshape(-1), partial(self._found_rows, owners, width))

    def _found_rows(self, owners: npt.NDArray[np.intp], width: int, words: Words) -> None:
        found = rows_of(words.view(np.float64).reshape(NUM_WORDS, -1), width)
        self._found.append((owners, found))

    def collect(self) -> None:
        """Move all that is pending to the host, in one transfer from each device, and note it."""
        self.reduce()
        waiting, self._pending = self._pending, []
        for device in dict.fromkeys(words.device for _, words in waiting):
            here = [one for one in waiting if one[1].device == device]
            with unnoticed(device.type):
                words = torch.cat([words for _, words in here]).cpu().numpy()
            start = 0
            for take, pending in here:
                take(words[start : start + len(pending)])
                start += len(pending)
        notes, sizes, found = self._notes, self._sizes, self._found
        self._notes, self._sizes, self._found = [], [], []
        for noted, row in zip(notes, _merged(found, np.array(sizes)), strict=True):
            for note in noted:
                note(row)


def _reduce(
    unread: list[tuple[int, torch.Tensor]],
    wait: Callable[[torch.Tensor, int, list[int], list[int]], None],
) -> None:
    """Compute the words of tables, and let them wait with the places of the rows' tensors."""
    groups: dict[tuple[torch.dtype, int], list[tuple[int, torch.Tensor]]] = defaultdict(list)
    for place, tensor in unread:
        flat, parts = _flat(tensor), cuts(tensor.numel())
        sizes = [size for size, _ in parts]
        pieces = torch.split_with_sizes(flat, sizes) if len(parts) > 1 else (flat,)
        for (size, width), piece in zip(parts, pieces, strict=False):
            if size == CHUNK:  # large enough by itself
                wait(table_words(to_table([piece], width)), width, [place], [CHUNK // width])
            else:
                groups[piece.dtype, width].append((place, piece))
    for (_, width), members in groups.items():
        words = table_words(to_table([piece for _, piece in members], width))
        rows = [-(-piece.numel() // width) for _, piece in members]
        wait(words, width, [place for place, _ in members], rows)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements in one axis, as they lie in memory: a view if they are dense."""
    if not tensor.is_contiguous():
        strides = tensor.stride()
        tensor = tensor.permute(sorted(range(tensor.dim()), key=lambda axis: -strides[axis]))
    return tensor.reshape(-1)


def _merged(found: list[tuple[npt.NDArray[np.intp], Rows]], sizes: npt.NDArray[np.intp]) -> Rows:
    """Return the statistics of each tensor, of those of its rows.

    Args:
        found: Places of tensors, shape ``[rows]``, and ``[rows, NUM_FIELDS]``, the padding
            counted as nan.
        sizes: How many elements each tensor has, shape ``[tensors]``.

    Returns:
        Shape ``[tensors, NUM_FIELDS]``, float64.
    """
    merged = np.repeat(merge(np.empty((0, 1, NUM_FIELDS))), len(sizes), axis=0)
    if found:
        owners = np.concatenate([places for places, _ in found])
        order = np.argsort(owners, kind="stable")
        rows = np.concatenate([rows for _, rows in found])[order]
        places, starts = np.unique(owners[order], return_index=True)
        with np.errstate(over="ignore", invalid="ignore"):
            merged[places] = np.add.reduceat(rows, starts)
        for field, extreme in ((MIN, np.fmin), (MAX, np.fmax), (ABS_MIN, np.fmin)):
            merged[places, field] = extreme.reduceat(rows[:, field], starts)
        merged[:, NAN] -= merged[:, COUNT] - sizes
        merged[:, COUNT] = sizes
    return merged
