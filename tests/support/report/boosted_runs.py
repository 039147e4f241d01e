"""Runs of boosted trees made to order, as the hook on XGBoost writes them."""

from __future__ import annotations

import time

import numpy as np

from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize
from stepwatch.store import open_store
from stepwatch.trial import Trial

_COLLECTIONS = {
    "hyperparameters": "hyperparameters",
    "feature_importance": "feature_importance",
    "label": "labels",
    "prediction": "predictions",
    "confusion": "classes",
}


def boosted_run(url, steps, *, objective="binary:logistic"):
    """Write a run; ``steps`` holds the arrays of each step by name. Return its trial."""
    store = open_store(url)
    writer = open_writer(
        RunTarget(store, "worker_0", Manifest("boosted", time.time_ns(), ("train",)))
    )
    first = {"hyperparameters/objective": np.asarray(objective)} if objective else {}
    for number, arrays in enumerate(steps):
        writer.write(_record(number, {**(first if number == 0 else {}), **arrays}))
    writer.close(End("finished", time.time_ns(), len(steps)))
    return Trial(store)


def _record(step, arrays):
    values = {name: np.asarray(array) for name, array in arrays.items()}
    infos = tuple(
        TensorInfo(name, _collection(name), str(value.dtype), value.shape)
        for name, value in values.items()
    )
    rows = [
        np.full(11, np.nan) if value.dtype.kind in "US" else summarize(value)
        for value in values.values()
    ]
    return StepRecord(
        worker="worker_0",
        mode=Mode.TRAIN,
        step=step,
        mode_step=step,
        time_ns=time.time_ns(),
        layout=Layout(infos),
        statistics=np.stack(rows),
        raw=values,
    )


def _collection(name):
    prefix = name.partition("/")[0]
    return _COLLECTIONS.get(prefix, "losses" if name.endswith(("loss", "rmse")) else "metrics")
