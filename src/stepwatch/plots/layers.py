"""A statistic of many tensors over the steps: a row for each, or for each part of the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..formats.native.text_columns import text_codes
from ..steps import Mode
from ..trial import Trial
from .envelopes import Envelopes
from .reading import Reading, Rows
from .theme import SEVERITY_COLORS, as_text

_LEVEL = re.compile(r"[^/.]*[/.]?")


class Layers:
    """One statistic of some tensors over the steps of a mode, kept up as the run goes on.

    Args:
        trial: The run.
        names: The tensors, in the order of execution.
        statistic: Which one.
        mode: Of which steps.
        points: How many columns there may be.
        rows: How many rows there may be; of more tensors those of one module share a row.
    """

    def __init__(
        self,
        trial: Trial,
        names: Sequence[str],
        statistic: str,
        mode: Mode,
        *,
        points: int,
        rows: int,
    ) -> None:
        labels = row_labels(names, rows)
        #: What the rows are called: tensors, or what the names of several begin with.
        self.rows = list(dict.fromkeys(labels))
        number = {label: row for row, label in enumerate(self.rows)}
        #: The row of each tensor.
        self.row_of = {name: number[label] for name, label in zip(names, labels, strict=True)}
        self._envelopes = Envelopes(len(self.rows), points)
        self._reading = Reading(trial, frozenset(names), statistic, self._take, mode)

    @property
    def are_tensors(self) -> list[bool]:
        """Which rows are one tensor, and no more."""
        return [row in self.row_of for row in self.rows]

    def is_of(self, trial: Trial) -> bool:
        """Return whether the run is still the one that was read: it may be taken up again."""
        return self._reading.reader is trial.reader

    def read(self, until: float | None = None) -> float:
        """Read on, and return which share of the steps was read; see ``Reading.go_on``."""
        return self._reading.go_on(until)

    def cells(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the first step of each column, and the cells, shape ``[rows, columns]``."""
        return self._envelopes.farthest()

    def about(self, num_steps: int, read: float) -> str:
        """Return small print: of how many steps it is, what rows are, how much was read."""
        parts = [f"{num_steps:,} steps"]
        if len(self.row_of) > len(self.rows):
            parts.append(f"in {len(self.rows):,} rows, each the value that is farthest out")
        if read < 1:
            parts.append(f"{read:.0%} read so far")
        return " · ".join(parts)

    def unfit(self) -> npt.NDArray[np.bool_]:
        """Return which cells hold what is not finite."""
        return self._envelopes.unfit()

    def _take(self, rows: Rows) -> None:
        tensors = text_codes(rows.table.column("tensor"))
        row_of = np.array([self.row_of.get(name, -1) for name in tensors.values], np.int64)
        row = row_of[tensors.codes]
        known = row >= 0  # a row group may hold neighbours that were not asked for
        steps = rows.table.column("step").to_numpy()
        self._envelopes.add(row[known], steps[known], rows.values[known], rows.unfit[known])


def row_labels(names: Sequence[str], most: int) -> list[str]:
    """Return the row of each tensor: itself, or as much of its name as makes few enough rows.

    Args:
        names: Of the tensors.
        most: How many rows there may be, at least 1.

    Example:
        >>> row_labels(["a.0.w", "a.0.b", "a.1.w"], 2)
        ['a.0.', 'a.0.', 'a.1.']
    """
    if len(names) <= most:
        return list(names)
    levels = [_LEVEL.findall(name) for name in names]
    for depth in range(max(map(len, levels)) - 1, 0, -1):
        labels = ["".join(one[:depth]) for one in levels]
        if len(set(labels)) <= most:
            break
    else:
        labels = list(names)
    # Where one level alone would be too many, or nearly all would be one row: neighbours.
    if not most / 8 <= len(set(labels)) <= most:
        groups = np.array_split(np.arange(len(names)), most)
        labels = [
            f"{names[group[0]]} … {names[group[-1]]}" for group in groups for _ in range(len(group))
        ]
    return labels


def unfit_cells(
    steps: npt.NDArray[np.int64], rows: Sequence[str], unfit: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Return a trace over a heat map that points out the cells with what is not finite."""
    color = SEVERITY_COLORS["error"]
    return {
        "type": "heatmap",
        "x": steps,
        "y": [as_text(row) for row in rows],
        "z": np.where(unfit, 1.0, np.nan).astype(np.float32),
        "colorscale": [[0, color], [1, color]],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "%{y}<br>step %{x}<br><b>not finite</b><extra></extra>",
    }
