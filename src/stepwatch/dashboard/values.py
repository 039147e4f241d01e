"""How the elements of a tensor are spread, and its full value at a step, as cells."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..plots.distributions import PARTS, exponent_shares, image_cells, value_cells
from ..trial import Trial
from .columns import columns_of


def spread_view(trial: Trial, name: str, *, points: int) -> dict[str, object]:
    """Return histograms of exponents where they were saved, else mean, deviation and extremes.

    Raises:
        TensorUnavailable: There is none of this name.
    """
    trial.tensor(name)  # raises, and names the nearest
    saved = trial.rows(frozenset([name]), ["exponents"])
    axis = columns_of(trial).axis
    if saved.column("exponents").null_count < len(saved):
        steps, powers, shares = exponent_shares(saved, points)
        return {
            "kind": "exponents",
            "first": axis.of(steps).tolist(),
            "rows": [f"2^{power}" for power in powers.tolist()][::-1],
            "cells": _plain(shares[::-1], 4),
            "last_step": max(axis.last, 0),
        }
    lines = {what: columns_of(trial).lines(name, what, points=points) for what in PARTS}
    first: dict[str, dict[str, object]] = {}
    first |= {what: found[0] if found else {"x": [], "y": []} for what, found in lines.items()}
    return {
        "kind": "band",
        "x": first["mean"]["x"],
        **{what: first[what]["y"] for what in PARTS},
        "low": first["min"].get("low", first["min"]["y"]),
        "high": first["max"].get("high", first["max"]["y"]),
        "last_step": max(axis.last, 0),
    }


def value_view(
    trial: Trial, name: str, step: int, *, worker: str | None, images: int, points: int
) -> dict[str, object]:
    """Return the full value of a tensor at a step as cells; or its images.

    Raises:
        StepUnavailable: It was not observed at this step.
        TensorUnavailable: It was, but its full value was not saved.
    """
    value = trial.tensor(name).value(step, worker=worker)
    facts = {"shape": list(value.shape), "dtype": str(value.dtype), "step": step}
    if images:
        cells, drawn, there = image_cells(value, name, images)
        return {**facts, "cells": _plain(cells), "images": drawn, "of_images": there}
    return {**facts, "cells": _plain(value_cells(value, name, points))}


def _plain(cells: npt.ArrayLike, digits: int = 5) -> list[list[float | None]]:
    """Return cells as JSON has them, with so many digits; ``None`` for no number."""
    matrix = np.asarray(cells, np.float64)
    return [
        [float(f"{one:.{digits}g}") if one == one else None for one in row]
        for row in matrix.tolist()
    ]
