"""Reads MXNet's arrays, and keeps what is the training's."""

from __future__ import annotations

from mxnet.base import MXNetError
from mxnet.ndarray import NDArray

from .arrays import Array, to_numpy


class Reading:
    """Reads arrays.

    MXNet tells whoever reads first of what failed in the background, and nobody after. So such an
    error is kept, to be given back to the training: it is the training's.
    """

    def __init__(self) -> None:
        self._error: MXNetError | None = None

    def read(self, array: NDArray) -> Array | None:
        """Return the value of an array; ``None`` where computing it failed."""
        try:
            return to_numpy(array)
        except MXNetError as error:
            self._error = error
            return None

    def give_back(self) -> None:
        """Raise, once, the error that came to us."""
        error, self._error = self._error, None
        if error is not None:
            raise error
