"""Tensors as numpy arrays: without a copy on the CPU, with their own dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch

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
    if tensor.layout is not torch.strided:
        return f"{tensor.layout} layout".replace("torch.", "")
    if tensor.dtype not in _VIEWED and not _is_known_to_numpy(tensor.dtype):
        return str(tensor.dtype).replace("torch.", "")
    if tensor.device.type == "meta":
        return "meta device"
    if type(tensor) not in _PLAIN or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return f"type {type(tensor).__name__}"
    return None


def to_numpy(tensor: torch.Tensor) -> Array:
    """Return the value of a tensor; it shares the memory of a tensor on the CPU."""
    tensor = tensor.detach()
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
        return torch.empty(0, dtype=dtype).numpy().dtype.kind in "biuf"
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


def tensors_in(value: object, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Yield every tensor of a nested output with its path, such as ``/1/0`` or ``/logits``.

    Tuples, lists, mappings and dataclass-like outputs are looked into; the only tensor of an
    output has the path ``""``.
    """
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from tensors_in(inner, f"{path}/{key}")
    elif isinstance(value, (tuple, list)):
        for index, inner in enumerate(value):
            yield from tensors_in(inner, f"{path}/{index}")
    elif hasattr(value, "__dataclass_fields__"):
        for key in value.__dataclass_fields__:
            yield from tensors_in(getattr(value, key), f"{path}/{key}")
