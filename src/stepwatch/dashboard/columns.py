"""The figures of a page as columns of numbers: what was read, on axes that the page can change.

The server sends no figures: it sends columns by the optimizer step, and where these steps lie in
other counts. What was read of a run is kept, so that of a run that goes on only new columns are
read, and only these are sent to a page that has the others.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..formats.findings import parse_findings
from ..formats.native.observations import text_codes
from ..judge.evaluate import step_order_of
from ..judge.evidence_view import (
    NUMBERS,
    blank_rows,
    numbers_of,
    of_collection,
    rows_of,
    view_of,
)
from ..judge.root_cause import Chain, chains
from ..judge.verdict import marked
from ..model.collection import SPECS, of_one_quantity
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.columns import numbers
from ..plots.downsample import Envelope, Envelopes
from ..plots.progressive_read import MOST_WORKERS, LayerRows, Lines, Placed, Window
from ..plots.step_axis import StepAxis
from ..trial import Trial
from ..trial.step_log import in_order
from ..trial.tensor import Series, fields_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_Kept = TypeVar("_Kept")

_MOST_SCALARS = 60
_MOST_MARKS = 200
# What was read of a run is bounded by these many figures.
_KEPT = 160
#: How many columns and rows a heat map has at most.
COLUMNS, ROWS = 300, 150
#: How long one answer reads a heat map; what is missing comes with the next.
PATIENCE_S = 0.25


def seconds_of_steps(trial: Trial, window: Window = None) -> dict[str, tuple[Ints, Floats]]:
    """Return how long TRAIN steps took, from when each was over: steps and seconds, by worker.

    A row of a run of which not every step is stored stands for all steps since the row before.
    Where other steps lie between two TRAIN steps their time is not that of training, unless they
    lie between all, as the evaluations of boosted trees do.
    """
    names = trial.tensor_names(collection="losses") or list(trial.reader.tensors())
    rows = trial.rows(frozenset(names[:1]), ["time_ns", "mode_step"], Mode.TRAIN)
    workers = text_codes(rows.column("worker"))
    columns = [numbers(rows.column(name)) for name in ("step", "mode_step", "time_ns")]
    found: dict[str, tuple[Ints, Floats]] = {}
    for code, worker in enumerate(workers.values[:MOST_WORKERS]):
        steps, within, times = (column[workers.codes == code] for column in columns)
        taken, passed = np.diff(within), np.diff(times) / 1e9
        kept = (taken > 0) & (passed >= 0)
        alone = kept & (np.diff(steps) == taken)
        kept = alone if alone.any() else kept
        if window is not None:
            kept &= (steps[1:] >= window[0]) & (steps[1:] <= window[1])
        if kept.any():
            found[worker] = steps[1:][kept], passed[kept] / taken[kept]
    return found


def _step_seconds(
    trial: Trial, axis: StepAxis, points: int, window: Window
) -> dict[str, Envelopes]:
    """Return how long TRAIN steps took, for a figure; by worker."""
    found: dict[str, Envelopes] = {}
    for worker, (steps, seconds) in seconds_of_steps(trial, window).items():
        envelopes = found[worker] = Envelopes(1, points)
        at = axis.of(steps, True)
        envelopes.add(np.zeros(len(at), np.int64), at, seconds)
    return found


@dataclass(frozen=True, slots=True)
class Since:
    """What a page has already: columns before ``step``, of buckets at most so wide.

    ``step`` begins a bucket of that width, and so of each narrower one: widths are powers of two.
    """

    step: int = -1
    width: int = 0


class Columns:
    """What was read of one run for its figures.

    Args:
        trial: The run.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._kept: OrderedDict[Hashable, tuple[object, Any]] = OrderedDict()
        self._axis: tuple[object, StepAxis] | None = None
        self._marked: list[Chain] | None = None
        self._chains: tuple[object, list[Chain]] | None = None

    @property
    def axis(self) -> StepAxis:
        """The axis of the run as it is now."""
        version = self._trial.reader, len(self._trial.step_numbers()), self._trial.modes
        if self._axis is None or self._axis[0] != version:
            self._axis = version, StepAxis(self._trial)
        return self._axis[1]

    def findings(self) -> list[Finding]:
        """Return the findings that are marked: those that are stored in the run."""
        if self._marked is None:
            return parse_findings(self._trial.store)
        return [one for chain in self._marked for one in chain.findings]

    def mark(self, chains_: Iterable[Chain]) -> None:
        """Mark these findings from now on, as those of a run that was judged only now."""
        self._marked = list(chains_)

    def chains(self) -> list[Chain]:
        """Return the findings that are marked, by what they follow from."""
        if self._marked is not None:
            return self._marked
        found = self.findings()
        known = self._trial.reader, [one.finding_id for one in found]
        if self._chains is None or self._chains[0] != known:
            order = step_order_of(self._trial, found) if found else None
            self._chains = known, chains(found, order)
        return self._chains[1]

    def marks(self, tensors: Container[str] | None = None) -> list[dict[str, object]]:
        """Return where what was found began: causes as they are listed, then what followed.

        What has the same title has one number, which figures show.

        Args:
            tensors: Only what was found in one of these; ``None`` for all.
        """
        found = [one for one in marked(self.chains()) if tensors is None or one.tensor in tensors]
        found = found[:_MOST_MARKS]
        titles = [*dict.fromkeys(one.title for one in found)]
        x = self.axis.of([one.began for one in found]).tolist()
        kinds = self._trial.reader.tensors()
        return [
            {
                "x": at,
                "step": one.step,
                "rule": one.rule,
                "title": one.title,
                "number": 1 + titles.index(one.title),
                "since": one.since,
                "severity": one.severity,
                "tensor": one.tensor,
                "figures": numbers_of(one, kinds),
                "view": view_of(one, kinds).collection,
                "message": one.message[:240],
            }
            for at, one in zip(x, found, strict=True)
        ]

    def scalars(
        self, *, points: int, within: Window = None, since: Since = Since(), search: str = ""
    ) -> dict[str, object]:
        """Return every number that people follow: losses, metrics, gradient norm, rate, speed."""
        kinds = self._trial.reader.tensors()
        names = [one for kind in NUMBERS for one in kinds if kinds[one] == kind]
        terms = search.lower().split()
        wanted = [one for one in names if all(term in one.lower() for term in terms)]
        lines: list[dict[str, object]] = []
        for name in wanted[:_MOST_SCALARS]:
            lines += self.lines(name, "mean", points=points, within=within, since=since)
        if not terms:
            lines += self._derived(points, within, since)
        return {
            **self._frame(within, self.axis.end),
            "lines": lines,
            "marks": self.marks(),
            "titles": _titles(kinds, is_keras="keras" in self._trial.reader.manifest.versions),
            "more": max(0, len(wanted) - _MOST_SCALARS),
        }

    def _derived(self, points: int, within: Window, since: Since) -> list[dict[str, object]]:
        found = []
        if self._trial.tensor_names(collection="gradients"):
            # Those of the heat map that a page opens with: they are read once for both.
            layers = self.layers(
                "gradients", "l2", points=min(points, COLUMNS), rows=ROWS, within=within
            )
            layers.read(_until())
            norm = {"name": "gradient norm", "group": "gradients", "mode": "TRAIN", "worker": ""}
            found.append({**norm, **self._line(layers.total, since, Mode.TRAIN)})
        window = None if within is None else self.axis.window(*within)
        speed = {"name": "seconds per step", "group": "speed", "mode": Mode.TRAIN.value}
        several = len(self._trial.workers) > 1
        for worker, envelopes in self._seconds(points, window).items():
            who = worker if several else ""
            found.append({**speed, "worker": who, **self._line(envelopes, since, Mode.TRAIN)})
        return found

    def _seconds(self, points: int, window: Window) -> dict[str, Envelopes]:
        """Return how long TRAIN steps took, by worker; read anew where there are more of them."""
        steps = len(self.axis.steps)
        kept = self._keep(("seconds", points, window), lambda: {"steps": -1, "found": {}})
        if kept["steps"] != steps:
            found = _step_seconds(self._trial, self.axis, points, window)
            kept.update(steps=steps, found=found)
        return cast("dict[str, Envelopes]", kept["found"])

    def lines(
        self,
        name: str,
        statistic: str,
        *,
        points: int,
        within: Window = None,
        since: Since = Since(),
    ) -> list[dict[str, object]]:
        """Return a statistic of a tensor, a line for each worker and mode."""
        self._trial.tensor(name)  # raises, and names the nearest
        window = None if within is None else self.axis.window(*within)
        lines = self._keep(
            ("lines", name, statistic, points, window),
            lambda: Lines(self._trial, name, statistic, points, window, self._on_axis),
        )
        group = self._trial.reader.tensors()[name]
        several = len(self._trial.workers) > 1
        return [
            {
                "name": name,
                "group": group,
                "mode": line.label,
                "worker": line.worker if several else "",
                **self._line(envelopes, since, Mode(line.mode)),
            }
            for line, envelopes in lines.envelopes().items()
        ]

    def tensor(
        self, name: str, statistic: str, *, points: int, within: Window, since: Since
    ) -> dict[str, object]:
        """Return a statistic of one tensor, with the findings about it."""
        lines = self.lines(name, statistic, points=points, within=within, since=since)
        marks = self.marks([name])
        return {**self._frame(within, self.axis.end), "lines": lines, "marks": marks}

    def usual_statistic(self, name: str) -> str:
        """Return what to draw of a tensor by default."""
        spec = SPECS.get(self._trial.tensor(name).collection)
        return "mean" if spec is not None and spec.is_number else "rms"

    def layers(
        self,
        collection: str,
        statistic: str,
        *,
        under: str = "",
        worker: str = "",
        points: int,
        rows: int,
        within: Window = None,
    ) -> LayerRows:
        """Return the rows of a heat map, as far as they were read."""
        names = self._trial.tensor_names(collection=collection)
        names = of_one_quantity((one for one in names if one.startswith(under)), collection)
        if not names:
            there = ", ".join(self._trial.collections) or "none"
            where = f" beneath {under}" if under else ""
            raise TensorUnavailable(
                f"the run has no {collection}{where}; it has the collections {there}"
            )
        mode = Mode.TRAIN if Mode.TRAIN in self._trial.modes else Mode.GLOBAL
        window = None if within is None else self.axis.window(*within)
        key = ("layers", collection, statistic, under, worker, points, rows, len(names), window)
        return self._keep(
            key,
            lambda: LayerRows(
                self._trial,
                in_order(names, self._trial.order),
                statistic,
                mode,
                points=points,
                rows=rows,
                axis=self._on_axis,
                worker=worker,
                within=window,
            ),
        )

    def matrix(
        self,
        collection: str,
        statistic: str,
        *,
        under: str = "",
        worker: str = "",
        points: int,
        rows: int,
        within: Window = None,
        since: Since = Since(),
    ) -> dict[str, object]:
        """Return a row for each layer and a column for each step that was observed.

        Args:
            collection: Of which tensors.
            statistic: Which of theirs.
            under: Only tensors whose names begin so.
            worker: Only what this worker saw.
            points: How many columns there may be.
            rows: How many rows there may be.
            within: Only optimizer steps from the first of these to the last.
            since: What the page has already.
        """
        layers = self.layers(
            collection,
            statistic,
            under=under,
            worker=worker,
            points=points,
            rows=rows,
            within=within,
        )
        read = layers.read(_until())
        first, cells = layers.cells()
        last, unfit, width = layers.envelopes.last, layers.unfit(), layers.envelopes.width
        whole = since.width != width or read < 1
        kept = slice(0, None) if whole else slice(int(np.searchsorted(first, since.step)), None)
        view = of_collection(collection, statistic)
        above, absent = self._offending(layers, collection, under)
        blank = [None] * len(first[kept])
        return {
            **self._frame(None, self.axis.last),
            "rows": [*layers.rows, *absent],
            "tensors": [*layers.are_tensors, *(True for _ in absent)],
            "names": len(layers.row_of),
            "first": first[kept].tolist(),
            "last": last[kept].tolist(),
            "cells": [*_rounded_rows(cells[:, kept]), *(blank for _ in absent)],
            "unfit": [
                *(np.flatnonzero(row).tolist() for row in unfit[:, kept]),
                *([] for _ in absent),
            ],
            "scale": view.scale,
            "band": view.band,
            "above": [*above, *range(len(layers.rows), len(layers.rows) + len(absent))],
            "width": width,
            "whole": whole,
            "read": round(read, 4),
            "measured": layers.num_measured,
            "marks": [
                {**mark, "row": layers.row_of[str(mark["tensor"])]}
                for mark in self.marks(layers.row_of)
            ],
        }

    def _offending(
        self, layers: LayerRows, collection: str, under: str
    ) -> tuple[list[int], list[str]]:
        """Return the rows of what was found first, and the weights of it that have no row."""
        causes = self.chains()
        if not causes:
            return [], []
        kinds = self._trial.reader.tensors()
        view = view_of(causes[0].cause, kinds)
        present, absent = rows_of(layers.row_of, view.tensors)
        rows = dict.fromkeys(layers.row_of[name] for name in present)
        blank = blank_rows(collection, absent, kinds)
        known = [one for one in blank if one.startswith(under)]
        return [*rows], known

    def table(self) -> dict[str, list[dict[str, object]]]:
        """Return the last values of every layer, and of which steps they are; in model order."""
        found: dict[str, list[dict[str, object]]] = {}
        for collection, statistic in _OF_LAYERS:
            if not self._trial.tensor_names(collection=collection):
                continue
            layers = self.layers(collection, statistic, points=_SPARK, rows=_MOST_LAYERS)
            layers.read(_until())
            _, cells = layers.cells()
            unfit = layers.unfit()
            found[collection] = [
                {
                    "name": name,
                    "leaf": layers.row_of.get(name) is not None,
                    "last": _rounded(np.array([layers.envelopes.newest(row)]))[0],
                    "at": layers.envelopes.newest_step(row),
                    "spark": _rounded(cells[row], 3),
                    "bad": bool(unfit[row].any()),
                }
                for row, name in enumerate(layers.rows)
            ]
        return found

    def _frame(self, within: Window, end: int) -> dict[str, object]:
        """Return from which step to which the axis of a figure goes: all that was asked for.

        Args:
            within: What was asked for; ``None`` for everything.
            end: Where everything ends.
        """
        first, last = within or (0, max(end, 0))
        return {"first_step": first, "last_step": last, "accumulated": self.axis.accumulated}

    def _line(self, envelopes: Envelopes, since: Since, mode: Mode) -> dict[str, object]:
        """Return the columns of a line: those that a page has not yet, if it may keep the others.

        ``at`` is where its last value lies, where that is not at the last step of its mode.
        """
        found = envelopes.of_row(0)
        whole = since.width < envelopes.width
        start = 0 if whole else int(np.searchsorted(found.first, since.step))
        (last,) = _rounded(np.array([envelopes.newest(0)]))
        at = envelopes.newest_step(0)
        return {
            **_as_lists(found, start),
            "last": last,
            "at": at if at < self.axis.last_of(self._trial, mode) else None,
            "width": envelopes.width,
            "whole": whole,
        }

    def _on_axis(self, steps: Ints, mode: str) -> Placed:
        return self.axis(steps, mode)

    def _keep(self, key: Hashable, make: Callable[[], _Kept]) -> _Kept:
        """Return what was made before, if the run is still the one that it was made of."""
        reader, kept = self._kept.pop(key, (None, None))
        if reader is not self._trial.reader:  # it was resumed, or nothing was made
            kept = make()
        self._kept[key] = self._trial.reader, kept
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return cast("_Kept", kept)  # the key says which kind it is


#: What the table of layers has, and of how many layers and steps at most.
_OF_LAYERS = (
    ("weights", "l2"),
    ("gradients", "l2"),
    ("updates", "mean"),
    ("outputs", "zero_fraction"),
)
_SPARK, _MOST_LAYERS = 32, 600


def columns_of(trial: Trial) -> Columns:
    """Return what was read of a run for figures; the same for as long as the trial lives."""
    found: Columns = trial.kept.setdefault(Columns, Columns(trial))
    return found


def _titles(names: Iterable[str], *, is_keras: bool) -> dict[str, str]:
    """Return how figures are called whose names would not tell them apart.

    A loss is that of each batch; of the same name a framework logs another, which in Keras is the
    mean since the epoch began.

    Example:
        >>> _titles(["loss/loss", "metric/loss", "metric/accuracy"], is_keras=True)
        {'loss/loss': 'loss (batch)', 'metric/loss': 'loss (epoch mean)'}
    """
    known = set(names)
    twice = [one.partition("/")[2] for one in names if one.startswith("loss/")]
    logged = "epoch mean" if is_keras else "logged"
    return {
        f"{kind}/{name}": f"{name} ({what})"
        for name in twice
        if f"metric/{name}" in known
        for kind, what in (("loss", "batch"), ("metric", logged))
    }


def _until() -> float:
    return time.monotonic() + PATIENCE_S


def _as_lists(found: Envelope, start: int = 0) -> dict[str, object]:
    x = ((found.first + found.last) // 2)[start:]
    mean, low, high = (one[start:] for one in (found.mean, found.low, found.high))
    one_value = not ((high > mean) | (low < mean)).any()
    answer: dict[str, object] = {"x": x.tolist(), "y": _rounded(mean, 6)}
    if not one_value:
        answer |= {"low": _rounded(low), "high": _rounded(high)}
    unfit = np.flatnonzero(found.non_finite[start:])
    if len(unfit):
        answer["unfit"] = x[unfit].tolist()
    return answer


def _rounded(values: Floats, digits: int = 4) -> list[float | None]:
    """Return numbers with so many digits, as few characters as can be; ``None`` for no number.

    Example:
        >>> _rounded(np.array([0.123456, 1.0, np.nan, 1e-9]))
        [0.1235, 1, None, 1e-09]
    """
    known = np.isfinite(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(known & (values != 0), np.floor(np.log10(np.abs(values))), 0)
    return [
        _shortest(round(value, int(digits - 1 - scale))) if ok else None
        for value, scale, ok in zip(values.tolist(), size.tolist(), known.tolist(), strict=True)
    ]


def _rounded_rows(cells: Floats) -> list[list[float | None]]:
    return [_rounded(row) for row in cells]


def _shortest(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def sparkline(trial: Trial, name: str, points: int = 40) -> list[float | None]:
    """Return a few points of a number over a run, for a table."""
    lines = columns_of(trial).lines(name, "mean", points=points)
    first: Mapping[str, Any] = next((one for one in lines if one["mode"] == "TRAIN"), {})
    values: Sequence[float | None] = first.get("y", ())
    return [None if one is None or not math.isfinite(one) else one for one in values]


def last_numbers(trial: Trial, most: int = 12) -> dict[str, float | None]:
    """Return the last value of numbers that people follow, by name; a few rows are read."""
    kinds = trial.reader.tensors()
    names = [one for kind in NUMBERS for one in kinds if kinds[one] == kind][:most]
    steps = trial.step_numbers()
    if not names or not len(steps):
        return {}
    table = trial.rows(frozenset(names), ["tensor", *fields_of("mean")], step=int(steps[-1]))
    values = _rounded(Series(table)["mean"])
    found: dict[str, float | None] = dict(
        zip(table.column("tensor").to_pylist(), values, strict=True)
    )
    return {name: found[name] for name in names if name in found}
