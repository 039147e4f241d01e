"""Statistics on an accelerator: computed there in few launches, moved to the host once per step.

A tensor is read before it can change. In a burst, while nothing of training runs, it is enough to
hold it until the burst ends; outside of one, a later operation may change the tensor in place, so
a tensor is copied, and the copies of many are reduced together. Together they stay below
``TABLE_CHUNK`` elements: with the tensor that would exceed it, all that waits is reduced at once,
and that tensor is not copied.

On a GPU for which Triton compiles, kernels of ours read a tensor where it lies, at once; see
``gpu_rows``. Elsewhere operations of PyTorch do the same, as follows.

To be reduced, tensors are cut into rows of a few fixed widths, the widest first, and rows of one
width from many tensors make a table. What is left at the end of a tensor is padded with nan, which
is left out of everything like any nan, and is subtracted from their number on the host.

Digests and histograms of exponents are computed in integer operations, and are the same numbers
that ``digest.digest`` and ``exponents.count_exponents`` give on the host. Nothing here waits for
the accelerator before ``collect``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np
import numpy.typing as npt
import torch
from torch.linalg import vector_norm

from ...capture.open_step import OpenStep
from ...capture.plan import DIGEST, EXPONENTS, STATISTICS
from ...model.record import TensorInfo
from ...numerics.digest import FACTORS, GAMMA, SHIFTS
from ...numerics.exponents import LOWEST, NUM_BINS
from ...numerics.packed import unpack_rows
from ...numerics.statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NAN,
    NUM_FIELDS,
    ZEROS,
    Row,
    merge,
    summarize,
)
from .internals import isolated_compute

if TYPE_CHECKING:
    from .gpu_rows import GpuRows

# Elements are taken so many at a time: as 64-bit integers they are 32 MiB.
DIGEST_CHUNK = 2**22
# Each bin is counted in so many lanes: additions to one bin wait for each other.
LANES = 32

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def device_digest(tensor: torch.Tensor) -> torch.Tensor:
    """Return the digest of a tensor, shape ``[]``, where the tensor is.

    Args:
        tensor: Any shape and strides; a real dtype.

    Returns:
        int64; its bits, as an unsigned integer, are the digest.
    """
    flat = tensor.detach().resolve_neg().reshape(-1)
    total = torch.zeros((), dtype=torch.int64, device=flat.device)
    for start, chunk in _chunks(flat):
        total += _mixed(_bits(chunk), start).sum()
    return total


def device_row_digests(rows: torch.Tensor) -> torch.Tensor:
    """Return the digest of each row, shape ``[rows]``, int64, where they are.

    Args:
        rows: Shape ``[rows, elements]``, a real dtype. All of it is widened at once.
    """
    return _mixed(_bits(rows.detach().resolve_neg().contiguous()), 0).sum(-1)


def _bits(values: torch.Tensor) -> torch.Tensor:
    """Return the bits of contiguous elements as unsigned integers in int64, or all 64 of them."""
    width = 8 * values.dtype.itemsize
    bits = values.view(_INTEGERS[values.dtype.itemsize]).to(torch.int64)
    # A negative integer has ones before it.
    return bits & ((1 << width) - 1) if width in (16, 32) else bits


def _chunks(flat: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    for start in range(0, flat.numel(), DIGEST_CHUNK):
        yield start, flat[start : start + DIGEST_CHUNK]


def _mixed(bits: torch.Tensor, start: int) -> torch.Tensor:
    index = torch.arange(start + 1, start + 1 + bits.shape[-1], device=bits.device)
    sent = bits + index * _signed(GAMMA)
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        sent = (sent ^ _shifted(sent, shift)) * _signed(factor)
    return sent ^ _shifted(sent, SHIFTS[-1])


def _shifted(sent: torch.Tensor, by: int) -> torch.Tensor:
    """Shift to the right as unsigned integers would be."""
    return (sent >> by) & ((1 << (64 - by)) - 1)


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def device_exponents(tensor: torch.Tensor) -> torch.Tensor:
    """Return how many elements have which exponent, where the tensor is.

    Args:
        tensor: Any shape and strides; a real dtype.

    Returns:
        Shape ``[NUM_BINS]``, int64.
    """
    flat = tensor.detach().resolve_neg().reshape(-1)
    counts = torch.zeros((NUM_BINS + 1) * LANES, dtype=torch.int64, device=flat.device)
    one = torch.ones((), dtype=torch.int64, device=flat.device)
    for _, chunk in _chunks(flat):
        lane = torch.arange(chunk.numel(), device=flat.device) % LANES
        bins = _bins(chunk).to(torch.int64) * LANES + lane
        counts.scatter_add_(0, bins, one.expand(bins.shape))
    return counts.view(NUM_BINS + 1, LANES).sum(dim=1)[:NUM_BINS]


def _bins(values: torch.Tensor) -> torch.Tensor:
    """Return the bin of each element, ``NUM_BINS`` for zeros and what is not finite."""
    if values.is_floating_point() and values.dtype.itemsize <= 4:
        bits, mantissa, bias = values.to(torch.float32).view(torch.int32), 23, 127
    else:
        bits, mantissa, bias = values.to(torch.float64).view(torch.int64), 52, 1023
    magnitude = bits & torch.iinfo(bits.dtype).max
    field = magnitude >> mantissa
    bins = (field - (bias + LOWEST)).clamp_(0, NUM_BINS - 1)
    return bins.masked_fill_((magnitude == 0) | (field == 2 * bias + 1), NUM_BINS)


Rows = npt.NDArray[np.float64]

#: How many elements a row may have. Even the widest can be counted in float32.
WIDTHS = (2**19, 2**14, 2**9)
#: Elements of a tensor that are reduced at a time; meanwhile they take some 100 MB as float32.
TABLE_CHUNK = 2**22
NUM_PACKED = 10

_INFINITY = float("inf")


def cuts(size: int) -> list[tuple[int, int]]:
    """Return how a tensor of so many elements is cut: sizes, each with the width of its rows.

    Example:
        >>> cuts(40_000)
        [(32768, 16384), (7232, 512)]
    """
    sizes = [(TABLE_CHUNK, WIDTHS[0])] * (size // TABLE_CHUNK)
    size %= TABLE_CHUNK
    for width in WIDTHS[:-1]:
        sizes.append((size - size % width, width))
        size %= width
    return [one for one in (*sizes, (size, WIDTHS[-1])) if one[0]]


def to_table(pieces: list[torch.Tensor], width: int) -> torch.Tensor:
    """Return the elements of some tensors in rows, each tensor beginning a new one.

    Args:
        pieces: Shapes ``[elements]``, one real dtype, on one device.
        width: How many elements a row has.

    Returns:
        Shape ``[rows, width]``, float32 or, of float64 and of whole numbers, float64; it may be
        the memory of the only piece.
    """
    dtype, device = pieces[0].dtype, pieces[0].device
    wide = _wide(dtype)
    if dtype not in (torch.bfloat16, torch.float16):  # those are widened together, below
        pieces, dtype = [piece.to(wide) for piece in pieces], wide
    gaps = [-piece.numel() % width for piece in pieces]
    if any(gaps):
        nans = torch.full((sum(gaps),), float("nan"), dtype=dtype, device=device)
        padding = torch.split_with_sizes(nans, gaps)
        pieces = [part for pair in zip(pieces, padding, strict=True) for part in pair]
    flat = torch.cat(pieces) if len(pieces) > 1 else pieces[0]
    return flat.view(-1, width).to(wide)


def _wide(dtype: torch.dtype) -> torch.dtype:
    narrow = dtype.is_floating_point and dtype is not torch.float64
    return torch.float32 if narrow else torch.float64


def pack_table(table: torch.Tensor) -> torch.Tensor:
    """Return what the statistics of each row follow from; see ``unpack_table``.

    Args:
        table: Shape ``[rows, width]``, float32 or float64. It is left as it is.

    Returns:
        Shape ``[NUM_PACKED, rows]``, float64: how many elements are not zero, how many of those
        are finite, finite or inf, finite or -inf, from which all counts follow; ``MIN``, ``MAX``,
        ``ABS_MIN``, ``SUM``, ``SUM_ABS``, ``SUM_SQ`` of a packed row, sums accumulated in float64.
    """
    values = table.nan_to_num(0.0, 0.0, 0.0)
    low = table.nan_to_num(_INFINITY, _INFINITY, _INFINITY)
    # An order of zero counts what is not zero; a nan and an inf are not.
    own = [
        vector_norm(table, 0, dim=1),
        vector_norm(values, 0, dim=1),
        vector_norm(table.nan_to_num(0.0, 1.0, 0.0), 0, dim=1),
        vector_norm(table.nan_to_num(0.0, 0.0, 1.0), 0, dim=1),
        low.amin(dim=1),
        table.nan_to_num(-_INFINITY, -_INFINITY, -_INFINITY).amax(dim=1),
        vector_norm(low, -_INFINITY, dim=1),
    ]
    wide = values.to(torch.float64)  # of float64 it is the same, which is needed no more
    sums = [wide.sum(dim=1), vector_norm(wide, 1, dim=1), wide.square_().sum(dim=1)]
    return torch.cat([torch.stack(own).to(torch.float64), torch.stack(sums)])


def unpack_table(packed: Rows, width: int) -> Rows:
    """Return what ``pack_table`` computed as statistics, the padding counted as nan.

    Args:
        packed: Shape ``[NUM_PACKED, rows]``, float64.
        width: Of the table.

    Returns:
        Shape ``[rows, NUM_FIELDS]``, float64.
    """
    nonzero, finite, or_posinf, or_neginf, least, greatest, abs_min, *sums = packed
    posinf, neginf = or_posinf - finite, or_neginf - finite
    nan = nonzero - finite - posinf - neginf
    counts = [np.full_like(nonzero, width), nan, posinf, neginf, width - nonzero]
    return unpack_rows(np.stack(counts, 1), np.stack([least, greatest, *sums, abs_min], 1))


PackedBits = npt.NDArray[np.int64]
StatisticsRow = npt.NDArray[np.float64]


class TensorVersion:
    """A tensor as it was when it was read.

    Args:
        tensor: Strided. It is not kept alive.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self._reference = ref(tensor)
        # An inference tensor does not tell when it changes in place.
        self._version = None if tensor.is_inference() else tensor._version

    def is_same(self, other: torch.Tensor) -> bool:
        """Return whether another tensor holds the very elements in the same order.

        True for the tensor itself and for what it is reshaped to, if nothing was changed in place
        since; false if it is gone.
        """
        tensor = self._reference()
        if tensor is None or self._version is None:
            return False
        if tensor is other:
            return self._version == other._version
        # Views of one storage share the version.
        is_view = tensor is other._base or (
            tensor._base is not None and tensor._base is other._base
        )
        if not (is_view or other is tensor._base):
            return False
        if other.is_inference() or self._version != other._version:
            return False
        if tensor.dtype is not other.dtype or tensor.numel() != other.numel():
            return False
        return _memory_layout(tensor) == _memory_layout(other)


def _memory_layout(tensor: torch.Tensor) -> tuple[object, ...]:
    """Return where the elements are and how they are read; unlike any other if they have gaps."""
    is_whole = tensor.is_contiguous() or object()
    return tensor.storage_offset(), is_whole, tensor.is_conj(), tensor.is_neg()


_kernels: dict[torch.device, type[GpuRows] | None] = {}


def rows_kernel(device: torch.device) -> type[GpuRows] | None:
    """Return what reduces tensors on a device in one launch; ``None`` where that does not work."""
    if device not in _kernels:
        _kernels[device] = _tried_kernel(device) if device.type == "cuda" else None
    return _kernels[device]


def _tried_kernel(device: torch.device) -> type[GpuRows] | None:
    """Return ``GpuRows`` if it finds the statistics of one tensor and of two."""
    try:
        from .gpu_rows import GpuRows

        values = [0.0, float("nan"), float("inf"), -float("inf"), 1.5, -2.5, 1e-40] * 300
        tensor, rows = torch.tensor(values, device=device), GpuRows()
        rows.reduce([(0, tensor)])
        rows.reduce([(1, tensor), (2, tensor)])
        _, merged = rows.merge()
        found, expected = _unpacked(merged.cpu().numpy()), summarize(np.array(values, np.float32))
    except Exception:  # noqa: BLE001  no Triton, or no compiler or no GPU that it knows
        return None
    return GpuRows if np.allclose(found, expected, rtol=1e-12, atol=0) else None


def _unpacked(rows: Rows) -> Rows:
    return unpack_rows(rows[:, : ZEROS + 1], rows[:, MIN:])


class DeviceBatch:
    """Statistics, and other packed values of 64 bits, that are still on accelerators."""

    def __init__(self) -> None:
        self._notes: list[list[Callable[[StatisticsRow], None]]] = []
        self._last: TensorVersion | None = None
        self._sizes: list[int] = []
        self._unread: dict[torch.device, list[tuple[int, torch.Tensor]]] = defaultdict(list)
        self._num_unread = 0
        self._in_burst = False
        self._kernels: dict[torch.device, GpuRows] = {}  # with what they reduced so far
        self._pending: list[tuple[Callable[[PackedBits], None], torch.Tensor]] = []
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

    def add(self, tensor: torch.Tensor, note: Callable[[StatisticsRow], None]) -> None:
        """Let the statistics of a tensor be noted once they are on the host.

        Args:
            tensor: Any shape and strides; a real dtype. Read before it can change.
            note: Called by ``collect`` with a row of shape ``[NUM_FIELDS]``, float64.
        """
        if self._notes and self._last is not None and self._last.is_same(tensor):
            self._notes[-1].append(note)  # a container returns what its last child returned
            return
        self._last = TensorVersion(tensor)
        self._notes.append([note])
        self._sizes.append(tensor.numel())
        by_kernel = rows_kernel(tensor.device) is not None
        if not by_kernel:
            self._num_unread += tensor.numel()
        is_read = (by_kernel and not self._in_burst) or self._num_unread >= TABLE_CHUNK
        if self._in_burst or is_read:
            kept = tensor
        else:
            with isolated_compute(tensor.device.type):
                kept = tensor.clone()
        self._unread[tensor.device].append((len(self._sizes) - 1, kept))
        if is_read:
            self.reduce()

    def defer(self, sent: torch.Tensor, note: Callable[[PackedBits], None]) -> None:
        """Let something be noted once it is on the host: integers of 64 bits, one axis."""
        self._pending.append((note, sent))

    def reduce(self) -> None:
        """Compute the statistics of all that was added, where it is."""
        unread, self._unread, self._num_unread = self._unread, defaultdict(list), 0
        for device, tensors in unread.items():
            with isolated_compute(device.type):
                if not self._reduce_by_kernel(device, tensors):
                    _reduce(tensors, self._wait)

    def _reduce_by_kernel(
        self, device: torch.device, tensors: list[tuple[int, torch.Tensor]]
    ) -> bool:
        """Launch what reduces tensors; return whether that works there."""
        kernel = rows_kernel(device)
        if kernel is None:
            return False
        rows = self._kernels.setdefault(device, kernel())
        try:
            with torch.cuda.device(device):
                rows.reduce([(number, _flat(tensor)) for number, tensor in tensors])
        except Exception:  # noqa: BLE001  it cannot read one of these
            _kernels[device] = None
            return False
        return True

    def _wait(self, sent: torch.Tensor, width: int, owners: list[int], rows: list[int]) -> None:
        row_owners = np.repeat(np.array(owners), rows)
        note = partial(self._found_rows, row_owners, width)
        self.defer(sent.view(torch.int64).reshape(-1), note)

    def _found_rows(self, owners: npt.NDArray[np.intp], width: int, sent: PackedBits) -> None:
        found = unpack_table(sent.view(np.float64).reshape(NUM_PACKED, -1), width)
        self._found.append((owners, found))

    def _found_merged(self, owners: list[int], sent: PackedBits) -> None:
        rows = _unpacked(sent.view(np.float64).reshape(-1, NUM_FIELDS))
        self._found.append((np.array(owners, np.intp), rows))

    def collect(self) -> None:
        """Move all that is pending to the host, in one transfer from each device, and note it."""
        self.reduce()
        for device, kernel in self._kernels.items():
            if kernel:
                with isolated_compute(device.type), torch.cuda.device(device):
                    owners, merged = kernel.merge()
                self.defer(
                    merged.view(torch.int64).reshape(-1), partial(self._found_merged, owners)
                )
        waiting, self._pending = self._pending, []
        for device in dict.fromkeys(sent.device for _, sent in waiting):
            here = [one for one in waiting if one[1].device == device]
            with isolated_compute(device.type):
                sent = torch.cat([sent for _, sent in here]).cpu().numpy()
            start = 0
            for take, pending in here:
                take(sent[start : start + len(pending)])
                start += len(pending)
        notes, sizes, found = self._notes, self._sizes, self._found
        self._notes, self._sizes, self._found = [], [], []
        for row_notes, row in zip(notes, _merged(found, np.array(sizes)), strict=True):
            for note in row_notes:
                note(row)


def _reduce(
    unread: list[tuple[int, torch.Tensor]],
    wait: Callable[[torch.Tensor, int, list[int], list[int]], None],
) -> None:
    """Pack the statistics of tables, and let them wait with the index of each row's tensor."""
    groups: dict[tuple[torch.dtype, int], list[tuple[int, torch.Tensor]]] = defaultdict(list)
    for index, tensor in unread:
        flat, parts = _flat(tensor), cuts(tensor.numel())
        sizes = [size for size, _ in parts]
        pieces = torch.split_with_sizes(flat, sizes) if len(parts) > 1 else (flat,)
        for (size, width), piece in zip(parts, pieces, strict=False):
            if size == TABLE_CHUNK:  # large enough by itself
                wait(pack_table(to_table([piece], width)), width, [index], [TABLE_CHUNK // width])
            else:
                groups[piece.dtype, width].append((index, piece))
    for (_, width), members in groups.items():
        sent = pack_table(to_table([piece for _, piece in members], width))
        rows = [-(-piece.numel() // width) for _, piece in members]
        wait(sent, width, [index for index, _ in members], rows)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements in one axis, as they lie in memory: a view if they are dense."""
    if not tensor.is_contiguous():
        strides = tensor.stride()
        tensor = tensor.permute(sorted(range(tensor.dim()), key=lambda axis: -strides[axis]))
    return tensor.reshape(-1)


def _merged(found: list[tuple[npt.NDArray[np.intp], Rows]], sizes: npt.NDArray[np.intp]) -> Rows:
    """Return the statistics of each tensor, of those of its rows.

    Args:
        found: The index of each row's tensor, shape ``[rows]``, and the statistics, ``[rows,
            NUM_FIELDS]``, with the padding counted as nan.
        sizes: How many elements each tensor has, shape ``[tensors]``.

    Returns:
        Shape ``[tensors, NUM_FIELDS]``, float64.
    """
    merged = np.repeat(merge(np.empty((0, 1, NUM_FIELDS))), len(sizes), axis=0)
    if found:
        owners = np.concatenate([one for one, _ in found])
        order = np.argsort(owners, kind="stable")
        rows = np.concatenate([rows for _, rows in found])[order]
        owned, starts = np.unique(owners[order], return_index=True)
        with np.errstate(over="ignore", invalid="ignore"):
            merged[owned] = np.add.reduceat(rows, starts)
        for field, extreme in ((MIN, np.fmin), (MAX, np.fmax), (ABS_MIN, np.fmin)):
            merged[owned, field] = extreme.reduceat(rows[:, field], starts)
        merged[:, NAN] -= merged[:, COUNT] - sizes
        merged[:, COUNT] = sizes
    return merged


class DeviceRows(DeviceBatch):
    """What is known of tensors but is still on an accelerator, for one open step."""

    def __init__(self, step: OpenStep) -> None:
        super().__init__()
        self._step = step

    def observe(self, info: TensorInfo, tensor: torch.Tensor, level: int = STATISTICS) -> None:
        """Compute where the tensor is what is saved of it, but for its full value."""
        if info.name not in self._step:
            self._step.statistics_of(self._step.add_row(info))[:] = _EMPTY
        if tensor.numel() == 1:  # it says everything of itself
            with isolated_compute(tensor.device.type):
                number = tensor.detach().reshape(1).to(torch.float64, copy=True)
            self.defer(number.view(torch.int64), partial(self._note_number, info.name))
        else:
            self.add(tensor, partial(self._note_statistics, info.name))
        if level & DIGEST:
            with isolated_compute(tensor.device.type):
                digest = device_digest(tensor).reshape(1)
            self.defer(digest, partial(self._note_digest, info.name))
        if level & EXPONENTS:
            with isolated_compute(tensor.device.type):
                exponents = device_exponents(tensor)
            self.defer(exponents, partial(self._step.add_exponents, info.name))

    def _note_digest(self, name: str, sent: PackedBits) -> None:
        self._step.digests[name] = int(sent[0]) % 2**64

    def _note_number(self, name: str, sent: PackedBits) -> None:
        self._note_statistics(name, summarize(sent.view(np.float64)))

    def _note_statistics(self, name: str, row: Row) -> None:
        mine = self._step.statistics_of(self._step.row_of(name))
        mine[:] = merge(np.stack([mine, row])) if mine[COUNT] else row


_EMPTY = merge(np.empty((0, NUM_FIELDS)))
