"""A run as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import StoreError
from ..finding import Finding
from ..plots import heatmap, page, series
from ..statistics import FIELDS, quantity
from ..trial import Trial

_MOST_CELLS = 4_000_000


def write_page(
    trial: Trial, path: Path, names: Sequence[str], statistic: str, findings: Sequence[Finding]
) -> None:
    """Write a page about a run, or about some of its tensors.

    Args:
        trial: The run.
        path: Where to write.
        names: Tensors to draw; none for the run as a whole.
        statistic: What to draw of them; ``""`` for what suits each.
        findings: To mark and to list.
    """
    figures = [_series(trial, name, statistic, findings) for name in names]
    if not names:
        about = {finding.tensor for finding in findings} - {""}
        losses = trial.tensor_names(collection="losses")
        others = sorted((about & set(trial.tensor_names())) - set(losses))
        figures = [_series(trial, name, "", findings) for name in [*losses, *others[:6]]]
        figures += _heatmaps(trial, findings)
    manifest = trial.reader.manifest
    text = page(
        figures,
        title=Path(trial.url).name,
        facts={
            "state": trial.state,
            "command": " ".join(manifest.command),
            "steps": len(trial.steps()),
            **manifest.versions,
        },
        findings=findings,
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


def _series(trial: Trial, name: str, statistic: str, findings: Sequence[Finding]):  # type: ignore[no-untyped-def]
    tensor = trial.tensor(name)
    one = tensor.statistics()
    scalar = tensor.collection in ("losses", "learning_rates", "scalars", "metrics", "optimizer")
    what = statistic or ("mean" if scalar else "rms")
    marks = [f for f in findings if f.tensor == name] if tensor.collection != "losses" else findings
    return series(one.steps, one[what], name=name, statistic=what, modes=one.modes, findings=marks)


def _heatmaps(trial: Trial, findings: Sequence[Finding]):  # type: ignore[no-untyped-def]
    for collection, statistic in (("gradients", "l2"), ("outputs", "zero_fraction")):
        names = trial.tensor_names(collection=collection)
        steps = trial.steps()
        if not names or len(names) * len(steps) > _MOST_CELLS:
            continue
        marks = [finding for finding in findings if finding.tensor in set(names)]
        values = _matrix(trial, names, statistic)
        if values is not None:
            train, matrix = values
            yield heatmap(
                train,
                names,
                matrix,
                statistic=statistic,
                findings=marks,
                log=statistic == "l2",
            )


def _matrix(trial: Trial, names: list[str], statistic: str):  # type: ignore[no-untyped-def]
    """Return TRAIN steps and one statistic, shape ``[names, steps]``; nan where not observed."""
    table = trial.rows(frozenset(names), ["tensor", *FIELDS], mode=trial.modes[0])
    if not len(table):
        return None
    rows = np.stack([table.column(field).to_numpy() for field in FIELDS], axis=1)
    steps, column = np.unique(table.column("step").to_numpy(), return_inverse=True)
    place = {name: index for index, name in enumerate(names)}
    row = np.array([place[name] for name in table.column("tensor").to_pylist()])
    matrix = np.full((len(names), len(steps)), np.nan)
    matrix[row, column] = quantity(rows.astype(np.float64), statistic)
    return steps, matrix
