"""A tensor at one step: what an array shows, read when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from smdebug.core.modes import ModeKeys
from smdebug.exceptions import NoMoreData, ShapeUnavailableForStep, TensorUnavailableForStep

if TYPE_CHECKING:
    from smdebug.core.tensor import Tensor


class ValueNotSaved(NoMoreData, TensorUnavailableForStep):
    """Of the tensor at this step only reductions or the shape were saved.

    Old loops over single steps catch ``NoMoreData``.
    """

    def __init__(self, error: TensorUnavailableForStep | ShapeUnavailableForStep) -> None:
        NoMoreData.__init__(self, error.step, error.mode)
        self.tname = error.tname
        self.has_reductions = getattr(error, "has_reductions", True)
        self.msg = TensorUnavailableForStep.__str__(self)


class TensorAt:
    """A tensor at one step, bound to a worker.

    It stands wherever NumPy takes an array.

    Args:
        tensor: Which.
        step: As ``mode`` counts it.
        mode: Which count.
        worker: Whose value; the first by name for none.
    """

    def __init__(self, tensor: Tensor, step: int, mode: ModeKeys, worker: str | None) -> None:
        self.name = tensor.name
        self.step_num = step
        self.mode = mode
        self.worker = worker
        self._tensor = tensor

    def __repr__(self) -> str:
        return f"TensorAt({self.name!r}, step={self.step_num}, mode={self.mode.name})"

    @property
    def value(self) -> npt.NDArray[Any]:
        """The value, in its own shape and dtype."""
        return self.numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; known without the value if it was saved by itself."""
        try:
            return self._tensor.shape(self.step_num, self.mode, self.worker)
        except ShapeUnavailableForStep as error:
            raise ValueNotSaved(error) from None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self.numpy().dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def numpy(self) -> npt.NDArray[Any]:
        """Return the value.

        Raises:
            ValueNotSaved: Only reductions or the shape were saved; also a ``NoMoreData``.
        """
        try:
            return self._tensor.value(self.step_num, self.mode, self.worker)
        except TensorUnavailableForStep as error:
            raise ValueNotSaved(error) from None

    def reduction_value(self, reduction_name: str, abs: bool = False) -> Any:
        """Return a reduction, as ``Tensor.reduction_value`` does."""
        return self._tensor.reduction_value(
            self.step_num, reduction_name, self.mode, self.worker, abs
        )

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        value = self.numpy()
        if dtype is None or value.dtype == dtype:
            return value.copy() if copy else value
        return value.astype(dtype)

    def __len__(self) -> int:
        return len(self.numpy())

    def __getitem__(self, index: Any) -> Any:
        return self.numpy()[index]

    def __float__(self) -> float:
        return float(self.numpy().item())
