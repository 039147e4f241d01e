"""The statistics of one tensor over steps: numpy by name, or an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..statistics import DERIVED, FIELDS, NUM_FIELDS, quantity


class Series:
    """The statistics of one tensor over steps and workers, ascending by step.

    Args:
        table: Columns ``worker``, ``step``, ``mode``, ``mode_step``, ``time_ns``, ``dtype``,
            ``shape`` and the fields of ``statistics.FIELDS``.

    Example:
        ``series = trial.tensor("loss/mse_loss").statistics()``, then ``series.steps`` and
        ``series["mean"]`` for numpy, ``series.to_arrow()`` for a table; pandas, polars and
        DuckDB take the series itself.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """The global steps, shape ``[rows]``."""
        return self._table.column("step").to_numpy()  # type: ignore[no-any-return]

    @property
    def mode_steps(self) -> npt.NDArray[np.int64]:
        """The steps within their modes, shape ``[rows]``."""
        return self._table.column("mode_step").to_numpy()  # type: ignore[no-any-return]

    @property
    def modes(self) -> list[str]:
        """The mode of each row."""
        return self._table.column("mode").to_pylist()  # type: ignore[no-any-return]

    @property
    def workers(self) -> list[str]:
        """The worker of each row."""
        return self._table.column("worker").to_pylist()  # type: ignore[no-any-return]

    def __getitem__(self, statistic: str) -> npt.NDArray[np.float64]:
        """Return one field or derived quantity, shape ``[rows]``, float64.

        Raises:
            KeyError: An unknown name.
        """
        return quantity(self.rows, statistic)

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """All fields, shape ``[rows, NUM_FIELDS]``, float64."""
        rows = np.empty((len(self), NUM_FIELDS))
        for field, name in enumerate(FIELDS):
            rows[:, field] = self._table.column(name).to_numpy()
        return rows

    def to_arrow(self, derived: Sequence[str] = tuple(DERIVED)) -> pa.Table:
        """Return a table, with derived quantities as further columns."""
        table, rows = self._table, self.rows
        for name in derived:
            table = table.append_column(name, pa.array(quantity(rows, name)))
        return table

    def to_pandas(self):  # type: ignore[no-untyped-def]
        """Return a pandas DataFrame of ``to_arrow()``; needs pandas."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the table to any library that speaks the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
