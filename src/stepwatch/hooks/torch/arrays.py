"""Tensors as numpy arrays: without a copy on the CPU, with their own dtype."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

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
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_LAYOUTS = frozenset(
    getattr(torch, name)
    for name in ("strided", *(f"sparse_{kind}" for kind in ("coo", "csr", "csc", "bsr", "bsc")))
)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a subclass that only adds to a tensor as the tensor; others as they are."""
    if type(tensor) in _PLAIN:
        return tensor
    adds = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    if adds and not is_traceable_wrapper_subclass(tensor):
        return tensor.detach().as_subclass(torch.Tensor)
    return tensor


def unsupported(tensor: torch.Tensor) -> str | None:
    """Return what about a tensor cannot be observed, ``None`` if it can."""
    if (
        type(tensor) in _PLAIN
        and tensor.is_cpu
        and tensor.layout is torch.strided
        and (tensor.dtype in _VIEWED or _is_known_to_numpy(tensor.dtype))
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        and not (tensor.is_nested or tensor._is_zerotensor())
    ):
        return None  # as nearly all are
    return _what_is_unsupported(tensor)


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
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "inside a torch.func transform"
    return None if type(tensor) in _PLAIN else f"type {type(tensor).__name__}"


def to_numpy(tensor: torch.Tensor) -> Array:
    """Return the value of a tensor; it shares the memory of a tensor on the CPU."""
    tensor = tensor.detach()
    if tensor.is_conj():
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
        value: Of any kind.
        path: What the paths begin with.
        around: The identities of the containers that it lies in.
    """
    if isinstance(value, torch.Tensor):
        yield path, value
    elif id(value) not in around:
        for key, inner in _items(value):
            yield from tensors_in(inner, f"{path}/{key}", around | {id(value)})


def _items(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, (tuple, list)):
        return enumerate(value)
    if is_dataclass(value) and not isinstance(value, type):
        return ((field.name, getattr(value, field.name, None)) for field in fields(value))
    return ()
