"""The statistics of one tensor over steps: numpy by name, or an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..statistics import DERIVED, FIELDS, NUM_FIELDS, Row, quantity


class Series:
    """The statistics of one tensor over steps and workers, ascending by step.

    Args:
        table: Columns ``worker``, ``step``, ``mode``, ``mode_step``, ``time_ns``, ``dtype``,
            ``shape`` and the fields of ``statistics.FIELDS``, or some of these.

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
        # Not all rows: of a million steps they are 88 MB, and a quantity takes a few fields.
        return quantity(cast("Row", _Fields(self._table)), statistic)

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """All fields, shape ``[rows, NUM_FIELDS]``, float64."""
        fields = _Fields(self._table)
        return np.stack([fields[..., field] for field in range(NUM_FIELDS)], axis=-1)

    def to_arrow(self, derived: Sequence[str] = tuple(DERIVED)) -> pa.Table:
        """Return a table, with derived quantities as further columns, as far as they are known."""
        table = self._table
        known = set(table.column_names)
        for name in (name for name in derived if known.issuperset(fields_of(name))):
            table = table.append_column(name, pa.array(self[name]))
        return table

    def to_pandas(self):  # type: ignore[no-untyped-def]
        """Return a pandas DataFrame of ``to_arrow()``; needs pandas."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the table to any library that speaks the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def fields_of(statistic: str) -> tuple[str, ...]:
    """Return the fields that a statistic is computed of.

    Example:
        >>> fields_of("l2"), fields_of("max")
        (('sum_sq',), ('max',))

    Raises:
        KeyError: An unknown name.
    """
    taken = _Taken()
    quantity(cast("Row", taken), statistic)
    return tuple(dict.fromkeys(FIELDS[field] for field in taken.fields))


class _Taken:
    """Notes which fields are taken of it."""

    def __init__(self) -> None:
        self.fields: list[int] = []

    def __getitem__(self, place: tuple[object, int]) -> npt.NDArray[np.float64]:
        self.fields.append(place[1])
        return np.zeros(1)


class _Fields:
    """Rows of statistics of which only those fields are made that are taken: ``rows[..., SUM]``."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __getitem__(self, place: tuple[object, int]) -> npt.NDArray[np.float64]:
        column = self._table.column(FIELDS[place[1]])
        return column.to_numpy().astype(np.float64, copy=False)  # type: ignore[no-any-return]
