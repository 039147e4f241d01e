"""Reductions of PyTorch's tensors, and its version."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..core.reductions import as_reduction, get_numpy_reduction

_OF = {"variance": "var"}


def get_reduction_of_data(
    reduction_name: str, tensor_data: Any, tensor_name: str, abs: bool = False
) -> Any:
    """Return a reduction of a tensor as a tensor, or of an array as a NumPy scalar.

    Args:
        reduction_name: ``min``, ``max``, ``mean``, ``std``, ``variance``, ``sum``, ``prod``,
            ``median``, ``l1`` or ``l2``.
        tensor_data: Any shape.
        tensor_name: Has no effect.
        abs: Whether to reduce the magnitudes.

    Raises:
        SMDebugValueError: There is no such reduction.
    """
    del tensor_name
    if isinstance(tensor_data, np.ndarray):
        return get_numpy_reduction(reduction_name, tensor_data, abs)
    reduction = as_reduction(reduction_name, abs)
    values = tensor_data.abs() if reduction.of_abs else tensor_data
    if reduction.name in ("l1", "l2"):
        return torch.linalg.vector_norm(values, int(reduction.name[1]))
    return getattr(values, _OF.get(reduction.name, reduction.name))()


def is_current_version_supported(pytorch_version: str = torch.__version__) -> bool:
    """Return whether there is a hook for a version: from 1.5 on, before 3."""
    return (1, 5) <= _version(pytorch_version) < (3, 0)


def is_pt_1_5() -> bool:
    """Return whether this is PyTorch 1.5."""
    return _version() == (1, 5)


def is_pt_1_6() -> bool:
    """Return whether this is PyTorch 1.6."""
    return _version() == (1, 6)


def is_pt_1_7() -> bool:
    """Return whether this is PyTorch 1.7."""
    return _version() == (1, 7)


def is_pt_1_8() -> bool:
    """Return whether this is PyTorch 1.8."""
    return _version() == (1, 8)


def is_pt_1_9() -> bool:
    """Return whether this is PyTorch 1.9."""
    return _version() == (1, 9)


def _version(text: str = torch.__version__) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
