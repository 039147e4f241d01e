"""Sections of the report on boosted trees that tell classes apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..hooks.boosting.classes import Counts
from ..plots import curves, matrix
from .document import Block, Chart, Section, Table, Text
from .xgboost_evidence import Evidence
from .xgboost_numbers import (
    accuracy,
    averages,
    calibration,
    recalls,
    roc,
    scores_of_classes,
    thinned,
)
from .xgboost_sections import absent

#: Below this a model hardly tells the classes apart.
POOR_AREA = 0.6
_POINTS = 500
_SUPPORTED = "numbers (reg:, count:), two classes (binary:) and several (multi:)"


def class_sections(evidence: Evidence) -> Iterator[Section]:
    """Yield what only trainings on classes have; of an unknown objective, that it is unknown."""
    if evidence.task in ("unknown", "ranking"):
        named = repr(evidence.objective) if evidence.objective else "an unknown kind"
        text = f"Of objectives such as {named} there are no charts of errors, only of {_SUPPORTED}."
        yield Section("objective", "Objective", (Text(text, "note"),))
    if evidence.task not in ("two classes", "classes"):
        return
    found = evidence.confusions()
    if not found:
        missing = (absent("labels and predictions"),)
        yield Section("ConfusionMatrix", "Confusion matrix", missing)
        return
    step, counts = [*found.items()][-1]
    names = [str(number) for number in range(len(counts))]
    said = {
        "names": names,
        "counts": counts,
        "title": f"Step {step}",
        "about": "counts, and shares of each true class",
    }
    yield Section("ConfusionMatrix", "Confusion matrix", (Chart(matrix, said),))
    yield Section("EvaluationMetrics", "Evaluation of the confusion matrix", (*_scores(counts),), 2)
    steps = [*found]
    lines = np.array([recalls(one) for one in found.values()]).T
    points = {name: (steps, line.tolist()) for name, line in zip(names, lines, strict=True)}
    drawn = {"points": points, "x": "step", "y": "share predicted right"}
    title = "Accuracy of each class over the steps"
    chart = Chart(curves, {**drawn, "title": "Share of each class that was predicted right"})
    yield Section("IterativeClassAccuracy", title, (chart,), 2)
    if evidence.task == "two classes":
        yield Section("RocCurve", "Receiver operating characteristic", (*_roc(evidence),))
        yield Section("Calibration", "Calibration", (*_calibration(evidence),))


def _scores(counts: Counts) -> Iterator[Block]:
    yield Text(f"Overall accuracy: {accuracy(counts):.1%} of {int(counts.sum()):,} rows.")
    means = tuple(
        (name, one.precision, one.recall, one.f1) for name, one in averages(counts).items()
    )
    yield Table(("average", "precision", "recall", "F1"), means, "Over all classes")
    sizes = counts.sum(axis=1).tolist()
    each = tuple(
        (str(number), one.precision, one.recall, one.f1, size)
        for number, (one, size) in enumerate(zip(scores_of_classes(counts), sizes, strict=True))
    )
    yield Table(("class", "precision", "recall", "F1", "rows"), each, "Class by class")


def _roc(evidence: Evidence) -> Iterator[Block]:
    last = evidence.last
    curve = roc(last.labels, last.predictions) if last is not None else None
    if last is None or curve is None:
        yield (
            absent("labels and predictions")
            if last is None
            else Text("All labels are the same.", "note")
        )
        return
    if curve.area < POOR_AREA:
        yield Text(
            f"An area of {curve.area:.2f} is little more than chance, which is 0.5.", "warning"
        )
    few = thinned(curve, _POINTS)
    yield Chart(
        curves,
        {
            "points": {"model": (few.false_positive.tolist(), few.true_positive.tolist())},
            "hover": {"threshold": few.thresholds.tolist()},
            "title": f"Area under the curve: {curve.area:.4f}",
            "about": f"step {last.step}",
            "x": "false positive rate",
            "y": "true positive rate",
            "diagonal": True,
            "square": True,
        },
    )


def _calibration(evidence: Evidence) -> Iterator[Block]:
    last = evidence.last
    if last is None:
        yield absent("labels and predictions")
        return
    scores = last.predictions.astype(np.float64)
    if scores.min() < 0 or scores.max() > 1:
        yield Text(
            "The predictions are no probabilities, so they cannot be compared with any.", "note"
        )
        return
    mean, share, sizes = calibration(last.labels, scores)
    yield Chart(
        curves,
        {
            "points": {"model": (mean.tolist(), share.tolist())},
            "hover": {"rows": sizes.tolist()},
            "title": "What was predicted, and what came true",
            "about": f"step {last.step}; a well calibrated model follows the dotted line",
            "x": "predicted probability",
            "y": "share that is positive",
            "diagonal": True,
            "square": True,
        },
    )
