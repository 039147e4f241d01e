"""Helpers for tests of rules: steps with full values, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS, is_real, summarize
from stepwatch.rules import StepView, Watch


def full_record(
    collections: Mapping[str, Mapping[str, Any]],
    step: int = 0,
    mode: Mode = Mode.TRAIN,
    *,
    worker: str = "worker_0",
    mode_step: int | None = None,
    raw: bool = True,
    digests: Mapping[str, int] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> StepRecord:
    """Return a step of ``{collection: {name: value}}``, with all values unless ``raw`` is false."""
    values = {
        name: (collection, np.asarray(value))
        for collection, named in collections.items()
        for name, value in named.items()
    }
    tensors = tuple(
        TensorInfo(name, collection, str(value.dtype), value.shape, **(facts or {}))
        for name, (collection, value) in values.items()
    )
    rows = [
        summarize(value) if is_real(value.dtype) else np.full(NUM_FIELDS, np.nan)
        for _, value in values.values()
    ]
    return StepRecord(
        worker=worker,
        mode=mode,
        step=step,
        mode_step=step if mode_step is None else mode_step,
        time_ns=step * 10**9,
        layout=Layout(tensors),
        statistics=np.array(rows).reshape(-1, NUM_FIELDS),
        raw={name: value for name, (_, value) in values.items()} if raw else {},
        digests=digests or {},
    )


def full_step(*arguments: Any, **settings: Any) -> StepView:
    """Return ``full_record`` as a rule sees it."""
    return StepView([full_record(*arguments, **settings)])


def judged(spec: Any, steps: list[StepView]) -> tuple[list[Any], Any]:
    """Return what a rule finds in steps, and its status."""
    watch = Watch(spec)
    found = [finding for step in steps for finding in watch.evaluate(step)]
    found += watch.finish()
    return found, watch.statuses()[0]


def steps_at(spec: Any, steps: list[StepView]) -> list[int]:
    """Return the steps at which a rule finds something."""
    return [finding.step for finding in judged(spec, steps)[0]]
