"""What there is of a tensor."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.compute as pc

from ..plots.downsample import bucket_starts
from ..trial import Trial


def about_tensor(trial: Trial, name: str, *, points: int) -> dict[str, object]:
    """Return what there is of a tensor, for whoever wants to look at its values.

    Args:
        trial: The run.
        name: Of the tensor.
        points: How many of the steps with a full value may be named.

    Raises:
        TensorUnavailable: There is none of this name.
    """
    tensor = trial.tensor(name)
    steps = trial.step_numbers()
    last = int(steps[-1]) if len(steps) else 0
    near = trial.rows(frozenset([name]), ["dtype", "shape"], step=last)
    rows = near if len(near) else trial.rows(frozenset([name]), ["dtype", "shape"])
    shape = json.loads(rows.column("shape")[-1].as_py() or "[]") if len(rows) else []
    raw = np.array(_with_value(trial, name), np.int64)
    shown = raw[bucket_starts(len(raw), points)]
    return {
        "name": name,
        "collection": tensor.collection,
        "dtype": rows.column("dtype")[-1].as_py() if len(rows) else "",
        "shape": shape,
        "statistic": trial.plot.usual_statistic(name),
        "values_at": shown.tolist(),
        "num_values": len(raw),
        "images": len(shape) >= 3,
        "findings": [one.to_dict() for one in trial.plot.findings() if one.tensor == name][:points],
    }


def _with_value(trial: Trial, name: str) -> list[int]:
    """Return the steps at which the full value was saved, ascending."""
    rows = trial.rows(frozenset([name]), ["blob"])
    there = rows.filter(pc.is_valid(rows.column("blob")))
    return np.unique(there.column("step").to_numpy()).tolist()  # type: ignore[no-any-return]
