"""Where the time of a run went and what its machines did then, as columns; one sentence first."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import StepUnavailable
from ..formats.profile.tables import PHASES, ends_ns, rows_by
from ..model.steps import Mode
from ..numerics.columns import numbers
from ..profile.analysis import StepSummary, summarize
from ..profile.statistics import natural_key
from ..trial import Trial
from .columns import columns_of, seconds_of_steps

Floats = npt.NDArray[np.float64]

_MS = 1e6
_WORDS = {
    "data": "waits for data",
    "forward": "is the forward pass",
    "backward": "is the backward pass",
    "optimizer": "is the optimizer",
    "other": "is outside forward, backward and optimizer",
}
#: A rank is called slow where its own work takes so many times that of the others.
_SLOW = 1.2
_MOST_SPENT = 12
_NEARLY_ALL = 0.9
_AROUND_NS = 30 * 10**9


def machine_view(trial: Trial, *, points: int) -> dict[str, object]:
    """Return what the machine page shows of a run."""
    summary = summarize(trial.profile)
    steps = trial.profile.steps(points=points)
    train = [one for one in summary.steps if one.mode == "TRAIN"] or list(summary.steps)
    return {
        **_headline(trial, train),
        "slowest": slowest(train),
        "shares": [asdict(one) for one in train],
        "phases": _phases(trial, steps),
        "last_step": max(columns_of(trial).axis.last, 1),
        "workers": _worker_rows(trial, steps),
        "devices": _devices(trial, points),
        "spent": [asdict(one) for one in summary.spent if one.kind == "layer"][:_MOST_SPENT],
        "around": [asdict(one) for one in summary.spent if one.kind != "layer"][:_MOST_SPENT],
        "traces": list(summary.traces),
        "notes": list(summary.notes),
    }


def sentence(steps: list[StepSummary]) -> str:
    """Return where the time of a step goes, in one sentence; ``""`` where no step was timed.

    Example:
        >>> shares = {"data": 0.83, "forward": 0.05, "backward": 0.1, "other": 0.02}
        >>> sentence([StepSummary("worker_0", "TRAIN", 9, 108.0, 100.0, 120.0, 130.0, shares)])
        '83 % of step time waits for data (89.6 ms of 108 ms)'
    """
    if not steps:
        return ""
    first = steps[0]
    name, share = max(first.shares.items(), key=lambda item: item[1])
    if first.shares.get("other", 0.0) == sum(first.shares.values()):
        return f"A step takes {_milliseconds(first.mean_ms)}; its parts were not timed"
    part, whole = share * first.mean_ms, first.mean_ms
    return f"{share:.0%} of step time".replace("%", " %") + (
        f" {_WORDS.get(name, name)} ({_milliseconds(part)} of {_milliseconds(whole)})"
    )


def _headline(trial: Trial, steps: list[StepSummary]) -> dict[str, str]:
    """Return a sentence on steps, and one on those whose parts were timed where these are few.

    Observing a step in full makes it slower, so what is timed of few steps is not said of all.
    """
    of = len(trial.step_numbers(Mode.TRAIN))
    if not steps or steps[0].mode != "TRAIN" or steps[0].count >= _NEARLY_ALL * of:
        return {"sentence": sentence(steps), "timed": ""}
    timed = (
        f"{steps[0].count:,} of {of:,} steps were observed in full, which makes a step slower, "
        f"and timed in parts: {sentence(steps)}"
    )
    taken = seconds_of_steps(trial).get(steps[0].worker)
    if taken is None:
        return {"sentence": "", "timed": timed}
    usual_ms, count = float(np.median(taken[1])) * 1000, len(taken[1])
    return {
        "sentence": f"A step takes {_milliseconds(usual_ms)} (median of {count:,})",
        "timed": timed,
    }


def slowest(steps: list[StepSummary]) -> str:
    """Return which worker holds the others up; ``""`` where none does.

    In the backward pass workers wait for each other, so what counts is the rest of a step.
    """
    own = {one.worker: one.mean_ms * (1 - one.shares.get("backward", 0.0)) for one in steps}
    if len(own) < 2:
        return ""
    worst = max(own, key=lambda worker: own[worker])
    others = float(np.median([ms for worker, ms in own.items() if worker != worst]))
    if own[worst] < _SLOW * others:
        return ""
    return (
        f"{worst} holds the others up: its own work takes {_milliseconds(own[worst])} a step, "
        f"that of the others {_milliseconds(others)}"
    )


def _milliseconds(value: float) -> str:
    return f"{value / 1000:.3g} s" if value >= 1000 else f"{value:.3g} ms"


def _phases(trial: Trial, steps: pa.Table) -> list[dict[str, Any]]:
    """Return the milliseconds of each phase of TRAIN steps, for each worker, by optimizer step."""
    found = []
    for (worker, mode), at in rows_by(steps, ("worker", "mode")):
        if mode != "TRAIN":
            continue
        rows = steps.take(pa.array(at))
        count = numbers(rows.column("count"))
        found.append(
            {
                "worker": worker,
                "x": columns_of(trial).axis.of(numbers(rows.column("step")), True).tolist(),
                "width": int(count.max()),
                **{
                    name: _thousandths(numbers(rows.column(f"{name}_ns")) / count / _MS)
                    for name in PHASES
                },
                "longest": _thousandths(numbers(rows.column("longest_ns")) / _MS),
            }
        )
    return found


def _worker_rows(trial: Trial, steps: pa.Table) -> dict[str, object] | None:
    """Return how long each worker took for each step, and how long of it it waited."""
    phases = _phases(trial, steps)
    if len(phases) < 2:
        return None
    phases.sort(key=lambda one: natural_key(str(one["worker"])))
    x = sorted({int(step) for one in phases for step in one["x"]})
    column = {step: number for number, step in enumerate(x)}
    shape = len(phases), len(x)
    whole, data, backward = (np.full(shape, np.nan) for _ in range(3))
    for row, one in enumerate(phases):
        part: dict[str, Any] = one
        at = [column[step] for step in part["x"]]
        whole[row, at] = np.sum([part[name] for name in PHASES], axis=0)
        data[row, at], backward[row, at] = part["data"], part["backward"]
    together = np.isfinite(backward).all(axis=0)
    waits = data + np.where(together, backward - np.min(backward, axis=0), np.nan)
    return {
        "rows": [str(one["worker"]) for one in phases],
        "x": x,
        "time": [_thousandths(row) for row in whole],
        "waiting": [_thousandths(row) for row in waits],
    }


def _devices(trial: Trial, points: int) -> dict[str, object]:
    """Return the readings of devices: percentages as rows, the others as lines in their units."""
    table = trial.profile.system(points=points)
    times = numbers(table.column("time_ns"))
    start = int(times.min()) if len(times) else 0
    several = len(set(table.column("node").to_pylist())) > 1
    found: list[dict[str, Any]] = []
    for (node, device, metric), at in rows_by(table, ("node", "device", "metric")):
        rows = table.take(pa.array(at))
        unit, scale = _unit(metric)
        label = f"{device} {metric.replace('_percent', '').replace('_bytes', '')}"
        label = label.replace("_per_second", "").replace("_", " ")
        found.append(
            {
                "name": f"{node} {label}" if several else label,
                "unit": unit,
                "device": device,
                "x": np.round((numbers(rows.column("time_ns")) - start) / 1e9, 2).tolist(),
                "y": _thousandths(numbers(rows.column("value")) * scale),
                "high": _thousandths(numbers(rows.column("max")) * scale),
            }
        )
    found.sort(key=lambda one: (str(one["unit"]), natural_key(str(one["name"]))))
    # What never happened is no figure.
    kept = [one for one in found if any(one["high"])]
    return {
        "start_ns": start,
        "series": kept,
        "idle": [one["name"] for one in found if one not in kept],
    }


def _unit(metric: str) -> tuple[str, float]:
    """Return the unit that a metric is shown in, and what its values are multiplied with."""
    if metric.endswith("percent"):
        return "%", 1.0
    if metric.endswith("bytes_per_second"):
        return "MB/s", 1e-6
    if metric.endswith("bytes"):
        return "GB", 1e-9
    return "", 1.0


def timeline(trial: Trial, step: int, *, around: int = 1, points: int = 2000) -> dict[str, object]:
    """Return what ran when in a step and in so many around it: the longest intervals of all."""
    spans = trial.profile.spans(*_time_around(trial, step))
    within = np.abs(numbers(spans.column("step")) - step) <= around
    starts, ends = numbers(spans.column("start_ns")), ends_ns(spans)
    first, last = (starts[within].min(), ends[within].max()) if within.any() else (0, 0)
    chosen = np.flatnonzero((starts < last) & (ends > first))
    durations = numbers(spans.column("longest_ns"))
    longest = np.sort(chosen[np.argsort(-durations[chosen], kind="stable")[:points]])
    rows = spans.take(pa.array(longest)).to_pylist()
    lanes = list(dict.fromkeys(map(_lane, rows)))
    return {
        "lanes": lanes,
        "spans": [
            {
                "lane": lanes.index(_lane(row)),
                "from": round((row["start_ns"] - int(first)) / _MS, 3),
                "ms": round(row["longest_ns"] / _MS, 3),
                "name": row["name"],
                "kind": row["kind"],
                "step": row["step"],
            }
            for row in rows
        ],
        "left_out": len(chosen) - len(longest),
    }


def _lane(row: dict[str, Any]) -> str:
    thread = "" if row["thread"] in ("", "main") else f" · {row['thread']}"
    return f"{row['worker']} · {row['kind']}{thread}"


def _time_around(trial: Trial, step: int) -> tuple[int, int]:
    """Return the time around a step, nanoseconds since the Unix epoch."""
    names = frozenset(list(trial.reader.tensors())[:1])
    rows = trial.rows(names, ["time_ns"], step=step)
    if not len(rows):
        raise StepUnavailable(f"step {step} is not in {trial.url}")
    near = np.abs(numbers(rows.column("step")) - step).argmin()
    at = int(rows.column("time_ns")[int(near)].as_py())
    return at - _AROUND_NS, at + _AROUND_NS


def _thousandths(values: npt.ArrayLike) -> list[float | None]:
    """Return numbers with three digits after the point; ``None`` for no number."""
    found = np.round(np.asarray(values, np.float64), 3).tolist()
    return [value if value == value else None for value in found]
