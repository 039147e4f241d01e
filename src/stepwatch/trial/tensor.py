"""One name over many steps and workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import StepUnavailable, TensorUnavailable
from ..statistics import FIELDS, NAN, Statistics
from ..steps import Mode
from .series import Series, fields_of
from .shards import Gathered, merge_parts

if TYPE_CHECKING:
    from .trial import Trial

_ROW_COLUMNS = ("step", "mode", "mode_step", "time_ns", "dtype", "shape", *FIELDS)
# What --save calls what is saved beside the statistics, and what it is.
_NOUNS = {"raw": "raw value", "digest": "digest", "exponents": "histogram of exponents"}


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

    def statistics(
        self,
        mode: Mode | str = Mode.GLOBAL,
        worker: str | None = None,
        *,
        only: Sequence[str] = (),
    ) -> Series:
        """Return its statistics at all complete steps.

        Args:
            mode: Only steps of this mode.
            worker: Only what this worker saw; all by default.
            only: Read the steps and what these statistics are computed of, and no more: of a long
                run that is much less work. By default everything.

        Raises:
            KeyError: ``only`` holds an unknown name.
        """
        fields = [field for name in only for field in fields_of(name)]
        columns = ["step", "mode_step", *dict.fromkeys(fields)] if only else list(_ROW_COLUMNS)
        return Series(self._rows(columns, Mode(mode), worker))

    def merged(self, mode: Mode | str = Mode.GLOBAL) -> Series:
        """Return the statistics of the whole tensor, one row for each complete step.

        Where workers hold parts of it, as by FSDP, their statistics are merged, each part once; a
        step at which a part is missing is left out. Where each holds all of it, the first counts.

        Args:
            mode: Only steps of this mode.
        """
        table = merge_parts(self._rows([*_ROW_COLUMNS, "offset"], Mode(mode)))
        return Series(table.drop_columns(["offset"]))

    def value(
        self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None
    ) -> npt.NDArray[np.generic]:
        """Return its full value at a step, in its own shape and dtype.

        A scalar needs no raw value: its statistics are its value. Where it was observed several
        times in the step, that is the mean as float64.

        Args:
            step: As ``mode`` counts it.
            mode: Which count.
            worker: Whose value, of a tensor in parts whose part. By default that of the first
                that has it, or the whole, put together from the parts.

        Raises:
            StepUnavailable: It was not observed at this step.
            TensorUnavailable: It was, but its full value, or that of a part, was not saved.
        """
        found = self._values(Mode(mode), worker, step)
        if step in found:
            return found[step]
        if worker is None:
            self._tell_of_parts(step, Mode(mode))
        raise self._unavailable(step, Mode(mode))

    def values(
        self, mode: Mode | str = Mode.GLOBAL, worker: str | None = None
    ) -> dict[int, npt.NDArray[np.generic]]:
        """Return its full value at every complete step that has one, by step."""
        return self._values(Mode(mode), worker, None)

    def digest(self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> int:
        """Return the digest of its value at a step, from 0 to 2**64 - 1; see ``digest.digest``.

        Args:
            step: As ``mode`` counts it.
            mode: Which count.
            worker: Whose, of a tensor in parts of whose part; the first that has one by default.

        Raises:
            StepUnavailable: It was not observed at this step.
            TensorUnavailable: It was, but its digest was not saved.
        """
        found = self._saved("digest", Mode(mode), worker, step)
        if step in found:
            return int(found[step])
        raise self._unavailable(step, Mode(mode), "digest")

    def digests(self, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> dict[int, int]:
        """Return its digest at every complete step that has one, by step."""
        return self._saved("digest", Mode(mode), worker, None)

    def exponents(
        self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None
    ) -> npt.NDArray[np.int64]:
        """Return how many elements had which exponent at a step; see ``count_exponents``.

        Args:
            step: As ``mode`` counts it.
            mode: Which count.
            worker: Whose, of a tensor in parts of whose part; the first that has them by
                default.

        Returns:
            Shape ``[NUM_BINS]``, int64.

        Raises:
            StepUnavailable: It was not observed at this step.
            TensorUnavailable: It was, but its exponents were not saved.
        """
        found = self._saved("exponents", Mode(mode), worker, step)
        if step in found:
            return np.array(found[step], np.int64)
        raise self._unavailable(step, Mode(mode), "exponents")

    def _saved(
        self, column: str, mode: Mode, worker: str | None, step: int | None
    ) -> dict[int, Any]:
        """Return what a column holds, by step: of the first worker that has it."""
        table, counted = self._counted([column], mode, worker, step)
        found: dict[int, Any] = {}
        for number, value in zip(counted, table.column(column).to_pylist(), strict=True):
            if value is not None:
                found.setdefault(number, value)
        return found

    def _values(
        self, mode: Mode, worker: str | None, step: int | None
    ) -> dict[int, npt.NDArray[np.generic]]:
        found: dict[int, npt.NDArray[np.generic]] = {}
        parts, without = Gathered(), set()
        for at in self._trial.located(self.name, mode, worker, step):
            number = at.step if mode is Mode.GLOBAL else at.mode_step
            if step not in (None, number) or number in found or parts.has(number, at.offset):
                continue
            if at.blob is None:
                without.add(number)
                continue
            value = self._trial.reader.raw(at.worker, at.blob, at.step, self.name)
            if at.offset is None or worker is not None:
                found[number] = value
            else:
                parts.add(number, at, value)
        found |= parts.wholes()
        if without <= found.keys():
            return found
        return self._scalars(mode, worker, step) | found

    def _tell_of_parts(self, step: int, mode: Mode) -> None:
        """Raise if the value of some part was saved, but not that of the whole."""
        held = [who for who in self._trial.workers if step in self._values(mode, who, step)]
        if held:
            raise TensorUnavailable(
                f"of {self.name} only parts have a raw value at step {step}: those of "
                f"{', '.join(held)}; ask for one: value({step}, worker={held[0]!r})"
            )

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

    def _unavailable(self, step: int, mode: Mode, what: str = "raw") -> Exception:
        saved = self.steps(mode)
        counted = "step" if mode is Mode.GLOBAL else f"step (counted in {mode})"
        if step in saved:
            return TensorUnavailable(
                f"{self.name} has no {_NOUNS[what]} at {counted} {step}, only statistics"
                f"; save it with: --save '{self.collection}:{what}'"
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
