"""One tensor over many steps and workers, or at one step, as smdebug's analyses read it."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stepwatch import errors

from ..exceptions import (
    InvalidWorker,
    MissingStep,
    NoMoreData,
    ShapeUnavailableForStep,
    StepNotYetAvailable,
    TensorUnavailableForStep,
)
from .modes import ModeKeys, from_mode
from .reductions import as_reduction, get_numpy_reduction

if TYPE_CHECKING:
    from stepwatch_smdebug.trials.sources import SavedTensor

    from ..trials.trial import Trial


class ValueNotSaved(NoMoreData, TensorUnavailableForStep):
    """Of the tensor at this step only reductions or the shape were saved.

    Old loops over single steps catch ``NoMoreData``.
    """

    def __init__(self, error: TensorUnavailableForStep | ShapeUnavailableForStep) -> None:
        NoMoreData.__init__(self, error.step, error.mode)
        self.tname = error.tname
        self.has_reductions = getattr(error, "has_reductions", True)

    __str__ = TensorUnavailableForStep.__str__


class TensorAt:
    """A tensor at one step, bound to a worker.

    It stands wherever NumPy takes an array.

    Args:
        tensor: The tensor.
        step: The step, as ``mode`` counts it.
        mode: The mode that counts the step.
        worker: The worker that saved it; ``None`` for the first by name.
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


__all__ = ["StepState", "Tensor"]


class StepState(Enum):
    """Whether a step is there."""

    UNAVAILABLE = 0
    AVAILABLE = 1
    NOT_YET_AVAILABLE = 2


class Tensor:
    """One name over many steps and workers. Ask a trial for it.

    Steps are counted as ``mode`` counts them; by default over all modes. Of several workers the
    first by name is meant where none is named.

    Args:
        name: Its name.
        trial: The trial.
        cache: Whether values stay in memory once they were read.
    """

    def __init__(self, name: str, trial: Trial, cache: bool = False) -> None:
        self.name = name
        self.trial = trial
        self.cache = cache
        self._values: dict[tuple[str, int], npt.NDArray[Any]] = {}

    def __repr__(self) -> str:
        return f"Tensor({self.name!r})"

    @property
    def original_name(self) -> str | None:
        """What the framework calls it; ``None`` if that was not saved."""
        return self.trial.evidence.original_name(self.name)

    def steps(
        self, mode: ModeKeys | None = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> list[int]:
        """Return the steps at which it was saved, ascending.

        Args:
            mode: Only steps of this mode, as it counts them.
            show_incomplete_steps: Also steps that some worker has yet to write.
        """
        return self._steps(mode, incomplete=show_incomplete_steps)

    def value(
        self, step_num: int, mode: ModeKeys | None = ModeKeys.GLOBAL, worker: str | None = None
    ) -> npt.NDArray[Any]:
        """Return its value, in its own shape and dtype.

        Raises:
            TensorUnavailableForStep: It was not saved at this step, or only reductions or the
                shape of it were.
            StepUnavailable: The step was not saved; also a ``NoMoreData``.
            StepNotYetAvailable: The step may still come.
            InvalidWorker: The worker did not save it.
        """
        step, who, saved = self._saved(step_num, mode, worker)
        if not saved.has_value:
            has_reductions = bool(saved.reductions)
            raise TensorUnavailableForStep(self.name, step_num, _key(mode), has_reductions)
        if (who, step) in self._values:
            return self._values[who, step]
        try:
            value = self.trial.read(who, step, self.name)
        except (errors.StepUnavailable, errors.TensorUnavailable):
            raise TensorUnavailableForStep(self.name, step_num, _key(mode)) from None
        if self.cache:
            self._values[who, step] = value
        return value

    def values(
        self, mode: ModeKeys | None = ModeKeys.GLOBAL, worker: str | None = None
    ) -> dict[int, npt.NDArray[Any]]:
        """Return its value at every complete step; raises as ``value`` does if one is missing."""
        return {step: self.value(step, mode, worker) for step in self.steps(mode)}

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        worker: str | None = None,
        abs: bool = False,
    ) -> Any:
        """Return a reduction: the saved one, else one computed from what was saved.

        Args:
            step_num: The step, as ``mode`` counts it.
            reduction_name: ``min``, ``max``, ``mean``, ``std``, ``variance``, ``sum``, ``prod``,
                ``median``, ``l1`` or ``l2``.
            mode: The mode that counts the step.
            worker: The worker that saved it.
            abs: Whether to reduce the magnitudes.

        Returns:
            As it was saved, an array of one element; a NumPy scalar where it was computed.

        Raises:
            SMDebugValueError: There is no such reduction.
            TensorUnavailableForStep: It was not saved and does not follow from what was.
        """
        reduction = as_reduction(reduction_name, abs)
        step, who, saved = self._saved(step_num, mode, worker)
        try:
            return self.trial.evidence.reduction(who, step, self.name, reduction)
        except LookupError:
            if not saved.has_value:
                raise TensorUnavailableForStep(reduction_name, step_num, _key(mode)) from None
        return get_numpy_reduction(
            reduction.name, self.value(step_num, mode, who), reduction.of_abs
        )

    def reduction_values(
        self, step_num: int, mode: ModeKeys | None = ModeKeys.GLOBAL, worker: str | None = None
    ) -> dict[tuple[str, bool], Any]:
        """Return the reductions that were saved, by name and whether they are of magnitudes."""
        _, who, saved = self._saved(step_num, mode, worker)
        return {
            (one.name, one.of_abs): self.reduction_value(step_num, one.name, mode, who, one.of_abs)
            for one in saved.reductions
        }

    def shape(
        self, step_num: int, mode: ModeKeys | None = ModeKeys.GLOBAL, worker: str | None = None
    ) -> tuple[int, ...]:
        """Return its shape; ``ShapeUnavailableForStep`` if neither that nor the value was saved."""
        _, who, saved = self._saved(step_num, mode, worker)
        if saved.shape is not None:
            return saved.shape
        try:
            return self.value(step_num, mode, who).shape
        except TensorUnavailableForStep:
            raise ShapeUnavailableForStep(self.name, step_num, _key(mode)) from None

    def shapes(
        self, mode: ModeKeys | None = ModeKeys.GLOBAL, worker: str | None = None
    ) -> dict[int, tuple[int, ...]]:
        """Return its shape at every complete step."""
        return {step: self.shape(step, mode, worker) for step in self.steps(mode)}

    def step(
        self, step_num: int, mode: ModeKeys | None = ModeKeys.GLOBAL, worker: str | None = None
    ) -> TensorAt:
        """Return the tensor at one step."""
        self._saved(step_num, mode, worker)
        return TensorAt(self, step_num, _key(mode), worker)

    def workers(self, step_num: int, mode: ModeKeys | None = ModeKeys.GLOBAL) -> list[str]:
        """Return the workers that saved it at a step.

        Raises:
            TensorUnavailableForStep: None did.
        """
        _, found = self._found(step_num, mode)
        if not found:
            raise TensorUnavailableForStep(self.name, step_num, _key(mode))
        return sorted(found)

    def prev_steps(
        self, step: int, n: int | None = None, mode: ModeKeys | None = ModeKeys.GLOBAL
    ) -> list[int]:
        """Return the last ``n`` complete steps up to and with ``step``; all for no ``n``."""
        steps = self.steps(mode)
        before = steps[: bisect_right(steps, step)]
        return before[-n:] if n else before

    def _steps(self, mode: ModeKeys | None, *, incomplete: bool) -> list[int]:
        self.trial.maybe_refresh(self.name)
        wanted, last = _key(mode), self.trial.last_complete_step
        found = self.trial.evidence.steps_of(self.name)
        return sorted(
            step if wanted is ModeKeys.GLOBAL else mode_step
            for step, (its_mode, mode_step) in found.items()
            if self.trial.holds_step(step)
            and wanted in (ModeKeys.GLOBAL, from_mode(its_mode))
            and (incomplete or step <= last)
        )

    def _found(self, step_num: int, mode: ModeKeys | None) -> tuple[int, dict[str, SavedTensor]]:
        step = self.trial.global_step(_key(mode), int(step_num))
        if step is None or not self.trial.holds_step(step):
            return -1, {}
        return step, self.trial.evidence.saved(self.name, step)

    def _saved(
        self, step_num: int, mode: ModeKeys | None, worker: str | None
    ) -> tuple[int, str, SavedTensor]:
        """Return global step, worker and what that one saved."""
        step, found = self._found(step_num, mode)
        if not found:
            self.trial.maybe_refresh(self.name)
            step, found = self._found(step_num, mode)
        if not found:
            raise self._missing(step_num, _key(mode))
        who = min(found) if worker is None else worker
        if who not in found:
            raise InvalidWorker(who)
        return step, who, found[who]

    def _missing(self, step_num: int, mode: ModeKeys) -> Exception:
        state = self.trial.has_passed_step(step_num, mode)
        if state is StepState.AVAILABLE:
            return TensorUnavailableForStep(self.name, step_num, mode)
        if state is StepState.UNAVAILABLE:
            last = self.trial.steps(mode)[-1:]
            return MissingStep(step_num, mode, last[0] if last else None)
        return StepNotYetAvailable(step_num, mode)


def _key(mode: ModeKeys | None) -> ModeKeys:
    return ModeKeys.GLOBAL if mode is None else mode
