"""Tensors as NumPy arrays, without a copy on the CPU, and with their own dtype.

Of a ``DTensor`` the part that lies here is read. Nothing here starts a collective: another process
may be elsewhere in its training, and both would wait for ever. Of a sparse tensor its elements, and
the zeros between them, have statistics; of complex numbers, which have no order, the magnitudes.
Samples that stand for a whole tensor have fixed strides: no random number is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, lru_cache
from itertools import count
from math import ceil, gcd
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch

from ...model.record import TensorInfo
from ...numerics.statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NUM_FIELDS,
    ZEROS,
    merge,
    summarize,
    tensor_reader,
)
from .internals import (
    is_functorch_wrapped,
    is_pending_collective,
    is_wrapper_subclass,
    shard_offset,
)

Array = npt.NDArray[np.generic]

# numpy has no name for these; they travel as integers of the same width.
_VIEWED: dict[torch.dtype, tuple[torch.dtype, np.dtype[np.generic]]] = {
    getattr(torch, name): (integer, np.dtype(getattr(ml_dtypes, name)))
    for name, integer in (
        ("bfloat16", torch.int16),
        ("float8_e4m3fn", torch.uint8),
        ("float8_e4m3fnuz", torch.uint8),
        ("float8_e5m2", torch.uint8),
        ("float8_e5m2fnuz", torch.uint8),
        ("float8_e8m0fnu", torch.uint8),
    )
    if hasattr(torch, name) and hasattr(ml_dtypes, name)
}
#: What holds its values itself, and wraps no other tensor.
PLAIN = (torch.Tensor, torch.nn.Parameter)
#: Writes the statistics of tensors that lie here into the rows of a matrix.
read_tensors = tensor_reader(*PLAIN)
_LAYOUTS = frozenset(
    getattr(torch, name)
    for name in ("strided", *(f"sparse_{kind}" for kind in ("coo", "csr", "csc", "bsr", "bsc")))
)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a subclass that only adds to a tensor as the tensor; others as they are."""
    if type(tensor) in PLAIN:
        return tensor
    adds = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    if adds and not is_wrapper_subclass(tensor):
        return tensor.detach().as_subclass(torch.Tensor)
    return tensor


def unsupported(tensor: torch.Tensor) -> str | None:
    """Return what about a tensor cannot be observed, ``None`` if it can."""
    if (
        type(tensor) in PLAIN
        and tensor.is_cpu
        and tensor.layout is torch.strided
        and (tensor.dtype in _VIEWED or _is_known_to_numpy(tensor.dtype))
        and not is_functorch_wrapped(tensor)
        and not (tensor.is_nested or tensor._is_zerotensor())
    ):
        return None  # as nearly all are
    return _what_is_unsupported(tensor)


def readable(value: object) -> torch.Tensor | None:
    """Return a tensor that can be computed with, ``None`` if it is none."""
    if not isinstance(value, torch.Tensor):
        return None
    value = plain(value)
    if unsupported(value) or value.layout is not torch.strided:
        return None
    return None if value.is_complex() or not value.numel() else value


def _what_is_unsupported(tensor: torch.Tensor) -> str | None:
    if tensor.is_nested:
        return "nested tensor"
    if tensor._is_zerotensor():
        return "zero without memory"
    if tensor.layout not in _LAYOUTS:
        return f"{tensor.layout} layout".replace("torch.", "")
    if tensor.dtype not in _VIEWED and not _is_known_to_numpy(tensor.dtype):
        return str(tensor.dtype).replace("torch.", "")
    if tensor.device.type == "meta":
        return "meta device"
    if is_functorch_wrapped(tensor):
        return "inside a torch.func transform"
    return None if type(tensor) in PLAIN else f"type {type(tensor).__name__}"


def to_numpy(tensor: torch.Tensor) -> Array:
    """Return the value of a tensor; it shares the memory of a tensor on the CPU."""
    tensor = tensor.detach()
    if tensor.dtype.is_complex and tensor.is_conj():
        tensor = tensor.resolve_conj()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if not tensor.is_cpu:
        tensor = tensor.to("cpu")
    viewed = _VIEWED.get(tensor.dtype)
    if viewed is None:
        return tensor.numpy()
    integer, dtype = viewed
    return tensor.view(integer).numpy().view(dtype)


@cache
def _is_known_to_numpy(dtype: torch.dtype) -> bool:
    try:
        return torch.empty(0, dtype=dtype).numpy().dtype.kind in "biufc"
    except (TypeError, RuntimeError):
        return False


@cache
def dtype_name(dtype: torch.dtype) -> str:
    """Return the name that numpy or ml_dtypes gives a dtype, such as ``bfloat16``.

    Example:
        >>> dtype_name(torch.bfloat16)
        'bfloat16'
    """
    return str(dtype).removeprefix("torch.")


def tensors_in(
    value: object, path: str = "", around: frozenset[int] = frozenset()
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield every tensor of a nested output with its path, such as ``/1/0`` or ``/logits``.

    Tuples, lists, mappings and dataclass-like outputs are looked into, but not into one that holds
    itself. The only tensor of an output has the path ``""``.

    Args:
        path: What the paths begin with.
        around: The identities of the containers that it lies in.
    """
    if isinstance(value, torch.Tensor):
        yield path, value
    elif id(value) not in around:
        for key, inner in _items(value):
            if type(inner) is torch.Tensor:
                yield f"{path}/{key}", inner
            else:
                yield from tensors_in(inner, f"{path}/{key}", around | {id(value)})


def _items(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, (tuple, list)):
        return enumerate(value)
    if isinstance(value, Mapping):
        return value.items()
    if is_dataclass(value) and not isinstance(value, type):
        return ((field.name, getattr(value, field.name, None)) for field in fields(value))
    return ()


_UNSHARDED = (torch.Tensor, torch.nn.Parameter)
_offset = lru_cache(maxsize=1 << 16)(shard_offset)
# What fully_shard and replicate put before the class of a module.
_SWAPPED = ("FSDPModule", "ReplicateModule")


class Shard(NamedTuple):
    """What this process holds of a tensor.

    Args:
        tensor: The local part, detached; the tensor itself where it is no distributed one.
        offset: Where it begins in the whole tensor; ``None`` where it is the whole.
        missing: Why it cannot be observed, ``None`` if it can.
    """

    tensor: torch.Tensor
    offset: tuple[int, ...] | None = None
    missing: str | None = None


@dataclass(slots=True, eq=False)
class TrackedParameter:
    """One parameter and what is said of it."""

    parameter: torch.Tensor
    weight: TensorInfo
    gradient: TensorInfo


def is_distributed(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is spread over processes, or what a collective is still to fill."""
    if type(tensor) in _UNSHARDED:
        return False
    # No tensor is of a class whose module is not imported.
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return (kind is not None and isinstance(tensor, kind)) or is_pending_collective(tensor)


def local_shard(tensor: torch.Tensor) -> Shard:
    """Return what this process holds of a tensor of any kind.

    The result of a collective that is under way is not waited for: another process may wait for
    what this one does next.
    """
    if not is_distributed(tensor):
        return Shard(tensor)
    if is_pending_collective(tensor):
        return _settled(tensor)
    spread: Any = tensor
    local, _, missing = _settled(spread._local_tensor)
    if missing is not None:
        return Shard(local, missing=missing)
    if any(placement.is_partial() for placement in spread.placements):
        return Shard(local, missing="a sum that is still spread over the workers")
    if spread.device_mesh.get_coordinate() is None:
        return Shard(local, missing="held by other workers")
    if all(placement.is_replicate() for placement in spread.placements):
        return Shard(local)
    offset = _offset(spread.shape, spread.device_mesh, spread.placements)
    return Shard(
        local, offset, None if offset is not None else "sharded in a way that is not known"
    )


@lru_cache(maxsize=1 << 16)
def shard_info(info: TensorInfo, offset: tuple[int, ...]) -> TensorInfo:
    """Return what is known of a tensor, of which this process holds the part from ``offset``."""
    return replace(info, offset=offset)


def class_of(module: torch.nn.Module) -> type[torch.nn.Module]:
    """Return the class of a module as its author wrote it.

    ``fully_shard`` puts a class of its own, ``FSDPLinear``, in the place of ``Linear``.
    """
    kind = type(module)
    while len(kind.__bases__) == 2 and kind.__bases__[0].__name__ in _SWAPPED:
        kind = kind.__bases__[1]
    return kind


class OwnParameters:
    """The parameters of models as optimizers hold them.

    While a module runs, and with some settings until the next backward, ``fully_shard`` has whole
    parameters in the place of the sharded ones.
    """

    def __init__(self) -> None:
        self._sharded: WeakKeyDictionary[torch.nn.Module, dict[str, ref[torch.nn.Parameter]]]
        self._sharded = WeakKeyDictionary()

    def of(self, model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Yield every parameter of a model with its path, as ``named_parameters`` does."""
        known = self._sharded.setdefault(model, {})
        for path, parameter in model.named_parameters():
            if is_distributed(parameter):
                known[path] = ref(parameter)
            sharded = known[path]() if path in known else None
            yield path, parameter if sharded is None else sharded


def _settled(tensor: torch.Tensor) -> Shard:
    """Return a tensor as a plain one, if what fills it is known to be over."""
    with torch.no_grad():
        if is_pending_collective(tensor):
            filled: Any = tensor
            if not filled.completed:
                return Shard(tensor, missing="a collective that is under way")
            tensor = filled.elem
        return Shard(tensor.detach())


def in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements in the order in which they lie, shape ``[numel]``: mostly a view."""
    if tensor.is_contiguous():
        return tensor.detach().reshape(-1)
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: -strides[dim])
    return tensor.detach().permute(order).reshape(-1)


def evenly_spaced(tensor: torch.Tensor, most: int) -> torch.Tensor:
    """Return at most so many elements, evenly over all of a tensor.

    Args:
        tensor: Any shape and dtype, strided.
        most: At least 1.

    Returns:
        One axis, a view where that is possible. All elements where there are no more; else every
        n-th, where n shares no factor with the size of any dimension: a stride that did would
        sample the same few channels again and again.
    """
    flat = in_memory_order(tensor)
    first = max(1, ceil(flat.numel() / most))
    return flat[:: next(stride for stride in count(first) if gcd(stride, flat.numel() or 1) == 1)]


def subsampled(tensor: torch.Tensor, axis: int, most: int) -> torch.Tensor:
    """Return a view with all of one axis, and with the others thinned to about so many elements.

    Args:
        tensor: At least one dimension.
        axis: What is kept, from 0.
        most: Elements at which nothing is left out; of more about so many stay.
    """
    over = tensor.numel() / most
    if over <= 1 or tensor.dim() == 1:
        return tensor
    every = ceil(over ** (1 / (tensor.dim() - 1)))
    return tensor[tuple(slice(None, None, 1 if d == axis else every) for d in range(tensor.dim()))]


def strided_runs(tensor: torch.Tensor, runs: int, length: int) -> torch.Tensor | None:
    """Return a view of evenly spaced runs of neighbours; ``None`` where there can be none.

    Args:
        tensor: Of any kind. Of one that is spread over processes, the part that is here is meant.
        runs: How many runs are taken of what has more elements than all runs together.
        length: Elements of a run.

    Returns:
        All elements in their shape or as ``[numel]``, or shape ``[runs, length]``; floating or
        complex.
    """
    local, _, missing = local_shard(tensor)
    if missing or unsupported(local) or local.layout is not torch.strided:
        return None
    if not (local.is_floating_point() or local.is_complex()) or not local.numel():
        return None
    if local.numel() <= runs * length and local.is_contiguous():
        return local.detach()
    flat = in_memory_order(local)
    if flat.numel() <= runs * length:
        return flat
    every = flat.numel() // runs
    return flat[: runs * every].view(runs, every)[:, :length]


def have_same_layout(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether the same place of what these hold here is the same element of both."""
    first, second = local_shard(one).tensor, local_shard(other).tensor
    if first.shape != second.shape or first.layout != second.layout:
        return False
    if first.layout is not torch.strided:
        return False
    if first.is_contiguous() and second.is_contiguous():
        return True
    # The stride of a dimension of one element says nothing.
    strides = zip(first.shape, first.stride(), second.stride(), strict=True)
    return all(mine == its for size, mine, its in strides if size > 1)


Row = npt.NDArray[np.float64]


def is_sparse_or_complex(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has no statistics as it lies in memory."""
    return tensor.layout is not torch.strided or tensor.is_complex()


def stored_part(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return what a tensor has statistics of, dense and real, and how many zeros are beside it.

    Args:
        tensor: Any shape, device and layout. It is left as it is: if its elements are not yet
            coalesced, a copy is.
    """
    values, zeros = tensor.detach(), 0
    if values.layout is not torch.strided:
        coo: torch.Tensor = values.to_sparse_coo()  # type: ignore[no-untyped-call]
        values = coo.coalesce().values()
        zeros = tensor.numel() - values.numel()
    return (values.abs() if values.is_complex() else values), zeros


def zeros_row(number: int) -> Row:
    """Return the statistics of so many zeros, shape ``[NUM_FIELDS]``."""
    row = np.zeros(NUM_FIELDS)
    row[[COUNT, ZEROS]] = number
    if not number:
        row[[MIN, MAX, ABS_MIN]] = np.nan
    return row


def sparse_complex_row(tensor: torch.Tensor) -> Row:
    """Return the statistics of a sparse or complex tensor, shape ``[NUM_FIELDS]``, on the host."""
    values, zeros = stored_part(tensor)
    return merge(np.stack([summarize(to_numpy(values)), zeros_row(zeros)]))


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same with every element in its place, as its memory says it."""
    tensor = tensor.detach()
    return (tensor if tensor.layout is torch.strided else tensor.to_dense()).resolve_conj()
