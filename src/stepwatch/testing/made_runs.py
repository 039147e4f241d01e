"""Runs made to order, without a training."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..formats import RunTarget, open_writer
from ..formats.manifest import End, Manifest
from ..model.record import Layout, StepRecord, TensorInfo
from ..model.steps import Mode
from ..numerics.elements import is_real
from ..numerics.statistics import NUM_FIELDS, summarize
from ..store import open_store

_KINDS = {"gradient": "gradients", "output": "outputs", "loss": "losses"}


def make_record(
    step: int,
    arrays: Mapping[str, npt.ArrayLike],
    *,
    mode: Mode = Mode.TRAIN,
    mode_step: int | None = None,
    worker: str = "worker_0",
    raw: bool = False,
) -> StepRecord:
    """Return a step on which these arrays were observed.

    Args:
        step: The global step.
        arrays: By name; ``gradient/…``, ``output/…`` and ``loss/…`` are of that kind, the rest
            are weights.
        mode: Its mode.
        mode_step: The step within the mode; the global step by default.
        worker: Who saw it.
        raw: Whether the full values are kept.
    """
    values = {name: np.asarray(array) for name, array in arrays.items()}
    tensors = tuple(
        TensorInfo(name, _kind(name), str(value.dtype), value.shape)
        for name, value in values.items()
    )
    return StepRecord(
        worker=worker,
        mode=mode,
        step=step,
        mode_step=step if mode_step is None else mode_step,
        time_ns=time.time_ns(),
        layout=Layout(tensors),
        statistics=np.stack(
            [
                summarize(value) if is_real(value.dtype) else np.full(NUM_FIELDS, np.nan)
                for value in values.values()
            ]
        ),
        raw=values if raw else {},
    )


def make_run(
    url: str | os.PathLike[str],
    *,
    steps: int = 10,
    tensors: int = 2,
    raw: bool = False,
    format: str = "native",
) -> str:
    """Write a finished run with a falling loss and return its URL.

    Args:
        url: Where; it must not hold a run yet.
        steps: How many TRAIN steps.
        tensors: How many weights ``layer<i>.weight`` with a gradient each.
        raw: Whether full values are kept.
        format: ``native`` or ``smdebug``.
    """
    store = open_store(url)
    manifest = Manifest("made", time.time_ns(), ("make_run",), run_format=format)
    writer = open_writer(RunTarget(store, "worker_0", manifest))
    random = np.random.default_rng(0)
    for step in range(steps):
        arrays: dict[str, npt.ArrayLike] = {"loss/mse_loss": np.float32(1 / (step + 1))}
        for number in range(tensors):
            name = f"layer{number}.weight"
            arrays[name] = random.normal(size=(4, 3)).astype(np.float32)
            arrays[f"gradient/{name}"] = random.normal(size=(4, 3)).astype(np.float32)
        writer.write(make_record(step, arrays, raw=raw))
    writer.close(End("finished", time.time_ns(), steps))
    return store.url


def _kind(name: str) -> str:
    return _KINDS.get(name.split("/")[0], "weights")
