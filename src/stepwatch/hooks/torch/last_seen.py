"""Telling whether a tensor is what was just looked at, without a look at its values."""

from __future__ import annotations

import weakref

import torch


class LastSeen:
    """A tensor as it was when it was looked at.

    Args:
        tensor: Strided. It is not kept alive.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self._reference = weakref.ref(tensor)
        # An inference tensor does not tell when it changes in place.
        self._version = None if tensor.is_inference() else tensor._version

    def is_same(self, other: torch.Tensor) -> bool:
        """Return whether another tensor holds the very elements in the same order.

        True for the tensor itself and for what it is reshaped to, if nothing was changed in place
        since; false if it is gone.
        """
        tensor = self._reference()
        if tensor is None or self._version is None or other.is_inference():
            return False
        if self._version != other._version:
            return False
        if tensor is other:
            return True
        if tensor.dtype is not other.dtype or tensor.numel() != other.numel():
            return False
        # Views of one storage share the version.
        is_view = tensor is other._base or (
            tensor._base is not None and tensor._base is other._base
        )
        shares = is_view or other is tensor._base
        return shares and _place(tensor) == _place(other)


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    """Return where the elements are and how they are read; unlike any other if they have gaps."""
    is_whole = tensor.is_contiguous() or object()
    return tensor.storage_offset(), is_whole, tensor.is_conj(), tensor.is_neg()
