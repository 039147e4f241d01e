"""A run as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import StoreError
from ..finding import Finding
from ..formats.findings import read_statuses
from ..plots import heatmap, page, series
from ..rules.watch import RuleStatus
from ..statistics import FIELDS, quantity
from ..trial import Trial
from .verdict import headline as verdict

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
    statuses = [RuleStatus(**status) for status in read_statuses(trial.store)]  # type: ignore[arg-type]
    text = page(
        figures,
        title=Path(trial.url).name,
        headline=verdict(findings, statuses),
        facts={
            "state": trial.state,
            "command": " ".join(manifest.command),
            "steps": len(trial.steps()),
            **manifest.versions,
            **{
                status.rule: f"{status.status}: {status.details}"
                for status in statuses
                if status.status not in ("NoIssuesFound", "IssuesFound")
            },
        },
        findings=findings,
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


# What is one number at a step, and shown as such.
_NUMBERS = ("losses", "learning_rates", "scalars", "metrics", "optimizer", "updates")


def _series(trial: Trial, name: str, statistic: str, findings: Sequence[Finding]):  # type: ignore[no-untyped-def]
    tensor = trial.tensor(name)
    one = tensor.statistics()
    scalar = tensor.collection in _NUMBERS
    what = statistic or ("mean" if scalar else "rms")
    marks = [f for f in findings if f.tensor == name] if tensor.collection != "losses" else findings
    return series(one.steps, one[what], name=name, statistic=what, modes=one.modes, findings=marks)


def _heatmaps(trial: Trial, findings: Sequence[Finding]):  # type: ignore[no-untyped-def]
    for collection, statistic in (("gradients", "l2"), ("outputs", "zero_fraction")):
        names = _in_order(trial, collection)
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
                what=collection,
                findings=marks,
                log=statistic == "l2",
            )


def _in_order(trial: Trial, collection: str) -> list[str]:
    """Return the tensors of a collection in the order of execution."""
    first = next(trial.records(), ())
    order = {name: row for record in first for name, row in record.layout.row_of.items()}
    names = trial.tensor_names(collection=collection)
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


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
