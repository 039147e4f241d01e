"""The lines of tensors over a run: one for each mode and worker, of bounded size, kept up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..formats.native.text_columns import text_codes
from ..trial import Trial
from .downsample import Envelope
from .envelopes import Envelopes
from .reading import Reading, Rows, Window

#: Of more workers than this only the first ones are drawn.
MOST_WORKERS = 8


class Lines:
    """One statistic of one tensor over the steps.

    Args:
        trial: The run.
        name: The tensor.
        statistic: Which one.
        points: How many points a line may have.
        within: Only steps from the first of these to the last.
    """

    def __init__(
        self, trial: Trial, name: str, statistic: str, points: int, within: Window = None
    ) -> None:
        self._trial = trial
        self._points = points
        self._found: dict[tuple[str, str], Envelopes] = {}
        self._reading = Reading(trial, frozenset([name]), statistic, self._take, within=within)

    def is_of(self, trial: Trial) -> bool:
        """Return whether the run is still the one that was read: it may be taken up again."""
        return self._reading.reader is trial.reader

    def read(self) -> dict[str, Envelope]:
        """Return the lines by mode, and by worker where there are several."""
        self._reading.go_on()
        several = len(self._trial.workers) > 1
        return {
            f"{mode} {worker}" if several else mode: envelopes.of_row(0)
            for (worker, mode), envelopes in sorted(self._found.items(), key=self._in_order)
        }

    def _in_order(self, item: tuple[tuple[str, str], Envelopes]) -> tuple[int, int]:
        worker, mode = item[0]
        return self._trial.workers.index(worker), _MODES.index(mode)

    def _take(self, rows: Rows) -> None:
        if rows.worker not in self._trial.workers[:MOST_WORKERS]:
            return
        modes = text_codes(rows.table.column("mode"))
        steps = rows.table.column("step").to_numpy()
        for code, mode in enumerate(modes.values):
            chosen = modes.codes == code
            if chosen.any():
                key = rows.worker, mode
                found = self._found.setdefault(key, Envelopes(1, self._points))
                one_row = np.zeros(int(chosen.sum()), np.int64)
                found.add(one_row, steps[chosen], rows.values[chosen], rows.unfit[chosen])


_MODES: Sequence[str] = ("TRAIN", "EVAL", "PREDICT", "GLOBAL")
