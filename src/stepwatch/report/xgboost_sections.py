"""Sections of the report on boosted trees that every training has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from ..plots import bars, curves, histogram
from ..plots.series import of_envelopes
from ..plots.tensor_lines import Lines
from ..rules.judgement import Judgement
from .document import Block, Chart, Section, Table, Text
from .tensors import POINTS, numbers
from .xgboost_evidence import KINDS, Evidence
from .xgboost_numbers import bin_edges, errors_by_bin, normal_counts

_BINS = 40
_HOW = {
    "label": "labels:raw:every=5 --save predictions:raw:every=5",
    "hyperparameters": "hyperparameters:raw",
}
_MEANS = {
    "weight": "how often trees split by it",
    "gain": "how much a split by it improves the loss, on average",
    "cover": "how many rows a split by it concerns, on average",
}


def absent(what: str) -> Text:
    """Return what is said in the place of a chart that nothing was saved for."""
    save = _HOW["hyperparameters" if what == "hyperparameters" else "label"]
    return Text(f"The {what} were not saved; save them with: --save {save}", "note")


def labels(evidence: Evidence) -> Iterator[Block]:
    """Yield how the labels are distributed, and what may be done about it."""
    last = evidence.last
    if last is None:
        yield absent("labels")
        return
    where = f"of {evidence.data}" if evidence.data else "of the validation data"
    yield Text(f"These are the labels {where} at step {last.step}, {len(last.labels):,} rows.")
    if evidence.num_classes:
        counts = np.bincount(last.labels.astype(np.int64), minlength=evidence.num_classes)
        values = {str(name): int(count) for name, count in enumerate(counts)}
        yield Chart(bars, {"values": values, "title": "Rows of each class", "unit": "rows"})
        if counts.min() * 4 < counts.max():
            yield Text(
                "Some class is far smaller than another: sample it more often, or weight it."
            )
        return
    values_ = last.labels.astype(np.float64)
    heights, edges = np.histogram(values_, bin_edges(values_, _BINS))
    said = {"edges": edges, "counts": {"labels": heights}, "unit": "label"}
    yield Chart(histogram, {**said, "title": "How the labels are distributed"})
    deviation = float(values_.std())
    skew = float(((values_ - values_.mean()) ** 3).mean() / deviation**3) if deviation else 0.0
    if abs(skew) > 1:
        way = "a logarithm of them" if values_.min() > 0 else "a transformation of them"
        yield Text(f"They are skewed ({skew:+.1f}): {way} may be easier to learn.")


def losses(evidence: Evidence, judgement: Judgement) -> Iterator[Block]:
    """Yield every metric over the steps, and whether it was learned too little or too much."""
    names = evidence.metrics
    if not names:
        yield Text("Nothing was evaluated: hand data to the training as evals.", "note")
        return
    told = {"overfit", "overtraining"}
    if not told & {finding.rule for finding in judgement.findings}:
        judged = [one.rule for one in judgement.statuses if one.status == "NoIssuesFound"]
        if told & {*judged}:
            yield Text("Neither overfitting nor overtraining was found.")
    else:
        yield Text("It was trained too much: stop earlier, or regularize it.", "warning")
    for metric, of_metric in groupby(sorted(names, key=_metric), _metric):
        yield _over_steps(evidence, metric, [*of_metric], judgement)


def _metric(name: str) -> str:
    return name.partition("-")[2]


def _over_steps(evidence: Evidence, metric: str, names: list[str], judgement: Judgement) -> Chart:
    """Return a metric over the steps, a line for each data it is of."""
    columns = {
        name.partition("-")[0]: column
        for name in names
        for column in Lines(evidence.trial, name, "mean", POINTS).read().values()
    }
    marks = [one for one in judgement.findings if one.tensor in names]
    said = {"lines": columns, "title": metric, "about": "value"}
    return Chart(of_envelopes, {**said, "findings": marks}, {**said, "lines": numbers(columns)})


def importance(evidence: Evidence) -> Iterator[Block]:
    """Yield how much each feature counts, a chart for each way to measure that."""
    found = {kind: evidence.importance(kind) for kind in KINDS}
    if not any(found.values()):
        yield Text("No importance of features was saved; a linear model has none.", "note")
    for kind, values in found.items():
        if values:
            shares = {name: 100 * value for name, value in values.items()}
            said = {"values": shares, "title": kind, "about": _MEANS[kind], "unit": "x 100"}
            yield Chart(bars, said, narrow=len(shares) <= 30)
    shap = evidence.importance("average_shap")
    if shap:
        said = {"title": "SHAP values", "about": "what it adds to a prediction, on average"}
        yield Chart(bars, {**said, "values": shap, "unit": "of the prediction"})


def residuals(evidence: Evidence) -> Iterator[Block]:
    """Yield how far predictions are from what is true."""
    last = evidence.last
    if last is None:
        yield absent("labels and predictions")
        return
    said = last.predictions.astype(np.float64)
    if said.ndim == 2:
        said = said.argmax(axis=1).astype(np.float64)
    elif evidence.num_classes:
        said = said.round()
    errors = said - last.labels.astype(np.float64)
    mean, deviation = float(errors.mean()), float(errors.std())
    classes = bool(evidence.num_classes)
    whole = np.arange(errors.min() - 0.5, errors.max() + 1)
    heights, edges = np.histogram(errors, whole if classes else bin_edges(errors, _BINS))
    fit = normal_counts(edges, mean, deviation, len(errors))
    drawn = {
        "edges": edges,
        "counts": {"residuals": heights},
        "curve": fit,
        "unit": "predicted - true",
    }
    about = f"step {last.step}; normal fit: mean {mean:.4g}, standard deviation {deviation:.4g}"
    yield Chart(histogram, {**drawn, "title": "Residuals", "about": about})


def errors_by_label(evidence: Evidence) -> Iterator[Section]:
    """Yield the sections that only trainings on numbers have."""
    if evidence.task != "numbers":
        return
    last = evidence.last
    if last is None:
        blocks: tuple[Block, ...] = (absent("labels and predictions"),)
        yield Section("ErrorOverSteps", "Absolute error by label, over the steps", blocks)
        return
    edges = bin_edges(last.labels)
    said = [*evidence.said()]
    errors = np.array([errors_by_bin(one.labels, one.predictions, edges) for one in said])
    names = [f"{low:.4g} to {high:.4g}" for low, high in itertools.pairwise(edges)]
    steps = [one.step for one in said]
    points = {
        name: (steps, column.tolist())
        for name, column in zip(names, errors.T, strict=True)
        if np.isfinite(column).any()
    }
    drawn = {"points": points, "x": "step", "y": "mean absolute error"}
    chart = Chart(curves, {**drawn, "title": "Mean absolute error, a line for each bin of labels"})
    yield Section("ErrorOverSteps", "Absolute error by label, over the steps", (chart,))
    sizes = np.histogram(last.labels.astype(np.float64), edges)[0]
    rows = tuple(zip(names, sizes.tolist(), errors[-1].tolist(), strict=True))
    values = {
        name: float(error) for name, error in zip(names, errors[-1], strict=True) if error == error
    }
    bar = Chart(
        bars, {"values": values, "title": f"Step {last.step}", "unit": "mean absolute error"}
    )
    table = Table(("label", "rows", "mean absolute error"), rows)
    yield Section("ErrorByLabel", "Mean absolute error by label", (bar, table))
