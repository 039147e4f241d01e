"""Recorded arrays in the place of a script's tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ...errors import StepUnavailable
from .arrays import Array, dtype_name

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def to_tensor(array: Array) -> torch.Tensor:
    """Return a tensor of its own memory with the values and the dtype of an array."""
    own = np.array(array, order="C")
    try:
        return torch.from_numpy(own)
    except TypeError:  # a dtype that numpy has no name for travels as integers of the same width
        integers = torch.from_numpy(own.view(f"i{own.itemsize}" if own.itemsize > 1 else "u1"))
        found: torch.Tensor = integers.view(getattr(torch, str(array.dtype)))
        return found


def put_in_place(value: Any, recorded: Mapping[str, Array], path: str = "") -> Any:
    """Return a nested value in which recorded arrays stand for the tensors at their paths.

    What was computed from what learns (it has a gradient function) stays: it is computed from
    recorded values already, and gradients must find their way through it. So stays what learns
    and was not recorded. What learns and was recorded gets the values in place.

    Args:
        value: Tuples, lists, mappings, dataclasses and tensors, as ``arrays.tensors_in`` sees
            them.
        recorded: The arrays by path.
        path: Where ``value`` lies.

    Raises:
        StepUnavailable: There is a tensor of which nothing was recorded.
    """
    if isinstance(value, torch.Tensor):
        return _tensor_in_place(value, recorded, path)
    if isinstance(value, Mapping):
        inner = {key: put_in_place(one, recorded, f"{path}/{key}") for key, one in value.items()}
        return _like_mapping(value, inner)
    if isinstance(value, (tuple, list)):
        parts = [put_in_place(one, recorded, f"{path}/{at}") for at, one in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    for key in getattr(value, "__dataclass_fields__", ()):
        setattr(value, key, put_in_place(getattr(value, key), recorded, f"{path}/{key}"))
    return value


def _tensor_in_place(tensor: torch.Tensor, recorded: Mapping[str, Array], path: str) -> object:
    if tensor.grad_fn is not None or (tensor.requires_grad and path not in recorded):
        return tensor
    if path not in recorded:
        raise StepUnavailable(
            f"the script gives {path}, of which nothing was recorded; recorded were "
            f"{', '.join(name for name in recorded if not name.startswith('rng/')) or 'no tensors'}"
        )
    array = recorded[path]
    if str(array.dtype) != dtype_name(tensor.dtype):
        raise StepUnavailable(
            f"{path} is {dtype_name(tensor.dtype)} in the script and was {array.dtype}"
        )
    value = to_tensor(array).to(tensor.device)
    if not tensor.requires_grad:
        return value
    if value.shape != tensor.shape:
        raise StepUnavailable(
            f"{path} has the shape {list(tensor.shape)} in the script and had {list(value.shape)}"
        )
    with torch.no_grad():
        return tensor.copy_(value)


def _like_mapping(value: Mapping[Any, Any], inner: dict[Any, Any]) -> object:
    """Return a mapping of the same kind; one that can be changed is, as a tokenizer's batch."""
    if type(value) is dict:
        return inner
    if hasattr(value, "update"):
        value.update(inner)
        return value
    return type(value)(inner)  # type: ignore[call-arg]  # no more is known of it
