"""What others log: series of numbers under names of their own, and what these names stand for."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...model.record import Layout, StepRecord, TensorInfo
from ...model.steps import Mode
from ...numerics.statistics import (
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    SUM,
    SUM_SQ,
    Row,
    summarize,
)


class Histogram(NamedTuple):
    """A tensor of which others kept a histogram.

    Fields:
        elements: How many it has.
        least: The smallest of them.
        most: The largest.
        total: Their sum; nan where that is not known.
        squares: The sum of their squares; nan where that is not known.
    """

    elements: float
    least: float
    most: float
    total: float = math.nan
    squares: float = math.nan


class Point(NamedTuple):
    """A value that was logged.

    Fields:
        step: As it was logged.
        value: A number, or a histogram.
        time_s: When, seconds since the Unix epoch; 0 where that is not known.
    """

    step: int
    value: float | Histogram
    time_s: float = 0.0


@dataclass
class Logged:
    """A run of others.

    Args:
        series: Points by name, in the order in which they were logged.
        settings: What it was started with.
        state: ``running``, ``finished`` or ``failed``; empty where that is not known.
        started_s: When it began, seconds since the Unix epoch; 0 where that is not known.
        error: What ended it, where that is known.
    """

    series: dict[str, list[Point]] = field(default_factory=lambda: defaultdict(list))
    settings: Mapping[str, object] = field(default_factory=dict)
    state: str = ""
    started_s: float = 0.0
    error: str = ""

    def add(self, name: str, step: int, value: object, time_s: float = 0.0) -> None:
        """Add a value if it is a number."""
        if isinstance(value, (int, float, np.number)) and abs(step) < 1 << 62:
            self.series[name].append(Point(step, float(value), time_s))


_EVALUATES = re.compile(
    r"(^|(?<=[/_.\- ]))(val|valid|validation|eval|evaluation|test|dev|held_?out)"
    r"(?=[/_.\- ]|$)[/_.\- ]?",
    re.IGNORECASE,
)
# Folders of a logger's own, in which it may keep all series.
_ABOVE = re.compile(r"^metrics?/(?=.)", re.IGNORECASE)
_TRAINS = re.compile(r"^(train|training)[/_.\- ]", re.IGNORECASE)
_LOSS = re.compile(
    r"((train(ing)?|total|mean|avg|average|batch|epoch|running|smooth(ed)?|lm|ce|nll|mse|cross_?entropy)"
    r"[_/.])*loss([_/.](train(ing)?|step|epoch|batch|mean|avg|total))?",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(.*[/.: ])?(lr|learning[_-]?rate)(-[\w-]+(/pg\d+)?|[-_/]?(pg|(param_)?group_?)?\d+)?",
    re.IGNORECASE,
)
# Losses of policies need not fall.
_REINFORCES = re.compile(
    r"reward|advantage|pg_loss|actor/|critic/|rollout|clip_?ratio", re.IGNORECASE
)


def tensor_of(name: str, *, reinforces: bool = False) -> tuple[TensorInfo, Mode]:
    """Return what a name of others stands for: a tensor, and the mode in which it was logged.

    Args:
        name: As it was logged.
        reinforces: Whether a policy is trained.

    Example:
        >>> tensor, mode = tensor_of("eval_loss")
        >>> tensor.name, tensor.collection, str(mode)
        ('loss/loss', 'losses', 'EVAL')
        >>> tensor_of("train/grad_norm")[0].name, tensor_of("lr-AdamW")[0].name
        ('metric/grad_norm', 'learning_rate/lr-AdamW')
        >>> tensor_of("metrics/train/loss")[0].name
        'loss/loss'
    """
    name = _ABOVE.sub("", name)
    mode = Mode.EVAL if _EVALUATES.search(name) else Mode.TRAIN
    plain = _TRAINS.sub("", _EVALUATES.sub("", name)).rstrip("/_.- ") or name
    inner = plain.removeprefix("loss/")  # as our own files of TensorBoard have it
    plain = inner if _LOSS.fullmatch(inner) else plain
    if _LOSS.fullmatch(plain) and not reinforces:
        return TensorInfo(f"loss/{plain.replace('/', '.')}", "losses", "float64", ()), mode
    if _RATE.fullmatch(plain):
        rate = plain.replace("/", ".")
        return TensorInfo(f"learning_rate/{rate}", "learning_rates", "float64", ()), mode
    return TensorInfo(f"metric/{plain}", "metrics", "float64", ()), mode


def records(logged: Logged, worker: str) -> list[StepRecord]:
    """Return what was logged as steps: one for each step of the others and each mode.

    The mode step is that of the others. So is the global step, where no step has both modes; else
    steps are counted. Of several values for one name and step the last stands.
    """
    reinforces = any(_REINFORCES.search(name) for name in logged.series)
    rows: dict[tuple[int, bool], dict[TensorInfo, Row]] = {}
    times: dict[tuple[int, bool], float] = {}
    for name, points in logged.series.items():
        info, mode = tensor_of(name, reinforces=reinforces)
        if points and isinstance(points[0].value, Histogram):
            info = TensorInfo(
                f"tensor/{name}", "tensors", "float64", (int(points[0].value.elements),)
            )
        for point, row in zip(points, _rows(points), strict=True):
            key = (point.step, mode is Mode.EVAL)
            rows.setdefault(key, {})[info] = row
            times[key] = max(times.get(key, 0.0), point.time_s)
    both = len({step for step, _ in rows}) < len(rows) or any(step < 0 for step, _ in rows)
    layouts: dict[tuple[TensorInfo, ...], Layout] = {}
    return [
        StepRecord(
            worker=worker,
            mode=Mode.EVAL if evaluates else Mode.TRAIN,
            step=number if both else step,
            mode_step=max(step, 0),
            time_ns=int(times[step, evaluates] * 1e9),
            layout=layouts.setdefault(tuple(found), Layout(tuple(found))),
            statistics=np.stack(list(found.values())),
        )
        for number, ((step, evaluates), found) in enumerate(sorted(rows.items(), key=_key))
    ]


def _key(item: tuple[tuple[int, bool], object]) -> tuple[int, bool]:
    return item[0]


def _rows(points: Iterable[Point]) -> Iterator[Row]:
    """Yield the statistics of each value."""
    for point in points:
        if isinstance(point.value, Histogram):
            row = np.full(NUM_FIELDS, np.nan)
            row[[COUNT, MIN, MAX, SUM, SUM_SQ]] = point.value
            if math.isfinite(point.value.total):  # as it is of finite elements alone
                row[[NAN, POSINF, NEGINF]] = 0
            yield row
        else:
            yield summarize(np.asarray(point.value, np.float64))
