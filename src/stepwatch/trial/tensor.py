"""One name over many steps and workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import StepUnavailable, TensorUnavailable
from ..statistics import FIELDS, NAN, Statistics
from ..steps import Mode
from .series import Series

if TYPE_CHECKING:
    from .trial import Trial

_ROW_COLUMNS = ("step", "mode", "mode_step", "time_ns", "dtype", "shape", *FIELDS)


class Tensor:
    """One name over many steps and workers. Ask a ``Trial`` for it.

    Steps are counted as ``mode`` counts them; by default over all modes.
    """

    def __init__(self, trial: Trial, name: str, collection: str) -> None:
        self._trial = trial
        self.name = name
        self.collection = collection

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, collection={self.collection!r})"

    def steps(self, mode: Mode | str = Mode.GLOBAL) -> list[int]:
        """Return the complete steps at which it was observed, ascending."""
        mode = Mode(mode)
        table = self._rows(["step", "mode", "mode_step"], mode)
        column = "step" if mode is Mode.GLOBAL else "mode_step"
        return np.unique(table.column(column).to_numpy()).tolist()  # type: ignore[no-any-return]

    def statistics(self, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> Series:
        """Return its statistics at all complete steps.

        Args:
            mode: Only steps of this mode.
            worker: Only what this worker saw; all by default.
        """
        return Series(self._rows(list(_ROW_COLUMNS), Mode(mode), worker))

    def value(
        self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None
    ) -> npt.NDArray[np.generic]:
        """Return its full value at a step, in its own shape and dtype.

        A scalar needs no raw value: its statistics are its value. Where it was observed several
        times in the step, that is the mean as float64.

        Args:
            step: As ``mode`` counts it.
            mode: Which count.
            worker: Whose value; the first that has it by default.

        Raises:
            StepUnavailable: It was not observed at this step.
            TensorUnavailable: It was, but its full value was not saved.
        """
        found = self._values(Mode(mode), worker, step)
        if step in found:
            return found[step]
        raise self._unavailable(step, Mode(mode))

    def values(
        self, mode: Mode | str = Mode.GLOBAL, worker: str | None = None
    ) -> dict[int, npt.NDArray[np.generic]]:
        """Return its full value at every complete step that has one, by step."""
        return self._values(Mode(mode), worker, None)

    def _values(
        self, mode: Mode, worker: str | None, step: int | None
    ) -> dict[int, npt.NDArray[np.generic]]:
        found: dict[int, npt.NDArray[np.generic]] = {}
        without = set()
        for at in self._trial.located(self.name, mode, worker, step):
            number = at.step if mode is Mode.GLOBAL else at.mode_step
            if step not in (None, number) or number in found:
                continue
            if at.blob is None:
                without.add(number)
            else:
                found[number] = self._trial.reader.raw(at.worker, at.blob, at.step, self.name)
        if without <= found.keys():
            return found
        return self._scalars(mode, worker, step) | found

    def _scalars(
        self, mode: Mode, worker: str | None, step: int | None
    ) -> dict[int, npt.NDArray[np.generic]]:
        """Return the values that follow from statistics, by step: those of scalars."""
        table, counted = self._counted(["dtype", "shape", *FIELDS], mode, worker, step)
        rows, dtypes = Series(table).rows, table.column("dtype").to_pylist()
        found: dict[int, npt.NDArray[np.generic]] = {}
        for row, shape in enumerate(table.column("shape").to_pylist()):
            if shape == "[]" and not np.isnan(rows[row, NAN]):
                found.setdefault(counted[row], _scalar(rows[row], dtypes[row]))
        return found

    def _counted(
        self, columns: list[str], mode: Mode, worker: str | None, step: int | None
    ) -> tuple[pa.Table, list[int]]:
        """Return rows, and their steps as ``mode`` counts them."""
        names = ["step", "mode", "mode_step", *columns]
        table = self._trial.rows(frozenset([self.name]), names, mode, worker, step)
        counted = table.column("step" if mode is Mode.GLOBAL else "mode_step").to_pylist()
        if step is not None:
            table = table.filter(pa.array([number == step for number in counted], pa.bool_()))
            counted = [step] * len(table)
        return table, counted

    def _rows(self, columns: list[str], mode: Mode, worker: str | None = None) -> pa.Table:
        return self._trial.rows(frozenset([self.name]), columns, mode, worker)

    def _unavailable(self, step: int, mode: Mode) -> Exception:
        saved = self.steps(mode)
        counted = "step" if mode is Mode.GLOBAL else f"step (counted in {mode})"
        if step in saved:
            return TensorUnavailable(
                f"{self.name} has no raw value at {counted} {step}, only statistics"
                f"; save it with: --save '{self.collection}:raw'"
            )
        if not saved:
            return StepUnavailable(f"{self.name} was observed at no {counted}")
        near = min(saved, key=lambda other: abs(other - step))
        return StepUnavailable(
            f"{self.name} was not observed at {counted} {step}; the nearest is {near}"
        )


def _scalar(row: npt.NDArray[np.float64], dtype: str) -> npt.NDArray[np.generic]:
    """Return the value of a scalar of these statistics, shape ``[]``."""
    statistics = Statistics(row)
    if not statistics.non_finite:
        value = statistics.mean
    elif statistics.nan or (statistics.posinf and statistics.neginf):
        value = np.nan
    else:
        value = np.inf if statistics.posinf else -np.inf
    once = statistics.count == 1
    return np.asarray(value, np.dtype(dtype) if once else np.float64)
