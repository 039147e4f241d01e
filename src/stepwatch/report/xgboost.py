"""The report on boosted trees: how good the model is, on what it relies, and where it errs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np

from ..hooks.boosting.hook import Counts
from ..judge.evaluate import Progress, stored_or_evaluated, without_progress
from ..judge.parameters import Spec
from ..judge.verdict import Verdict
from ..plots import bars, curves, histogram, matrix
from ..plots.progressive_read import Lines
from ..plots.step_axis import StepAxis
from ..trial import Trial
from .charts import POINTS, marked_chart
from .document import Block, Chart, Report, Section, Table, Text
from .run import cached_profile, cause_sections, of_sections
from .xgboost_metrics import (
    KINDS,
    BoostedRun,
    PredictedRows,
    accuracy,
    averages,
    bin_edges,
    calibration,
    errors_by_bin,
    is_boosted,
    normal_counts,
    recalls,
    roc,
    scores_of_classes,
    thinned,
)

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
    """Return the note that stands for a chart that nothing was saved for."""
    save = _HOW["hyperparameters" if what == "hyperparameters" else "label"]
    return Text(f"The {what} were not saved; save them with: --save {save}", "note")


def of_last(
    evidence: BoostedRun,
    draw: Callable[[BoostedRun, PredictedRows], Iterator[Block]],
    what: str = "labels and predictions",
) -> tuple[Block, ...]:
    """Return what is drawn of the last rows, or the note that they were not saved."""
    last = evidence.last
    return (absent(what),) if last is None else (*draw(evidence, last),)


def labels(evidence: BoostedRun, last: PredictedRows) -> Iterator[Block]:
    """Yield how the labels are distributed, and what may be done about it."""
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
    title = "How the labels are distributed"
    drawn = {"edges": edges, "counts": {"labels": heights}, "title": title, "unit": "label"}
    yield Chart(histogram, drawn)
    deviation = float(values_.std())
    skew = float(((values_ - values_.mean()) ** 3).mean() / deviation**3) if deviation else 0.0
    if abs(skew) > 1:
        way = "a logarithm of them" if values_.min() > 0 else "a transformation of them"
        yield Text(f"They are skewed ({skew:+.1f}): {way} may be easier to learn.")


def losses(evidence: BoostedRun, verdict: Verdict) -> Iterator[Block]:
    """Yield every metric over the steps, and whether it was learned too little or too much."""
    names = evidence.metrics
    if not names:
        yield Text("Nothing was evaluated: hand data to the training as evals.", "note")
        return
    rules = {"overfit", "overtraining"}
    if not rules & {finding.rule for finding in verdict.findings}:
        passed = {one.rule for one in verdict.statuses if one.status == "NoIssuesFound"}
        if rules & passed:
            yield Text("Neither overfitting nor overtraining was found.")
    else:
        yield Text("It was trained too much: stop earlier, or regularize it.", "warning")
    for metric, of_metric in groupby(sorted(names, key=_metric), _metric):
        yield _over_steps(evidence, metric, [*of_metric], verdict)


def _metric(name: str) -> str:
    return name.partition("-")[2]


def _over_steps(evidence: BoostedRun, metric: str, names: list[str], verdict: Verdict) -> Chart:
    """Return a metric over the rounds, a line for each data it is of."""
    rounds = StepAxis(evidence.trial)
    columns = {
        name.partition("-")[0]: column
        for name in names
        for column in Lines(evidence.trial, name, "mean", POINTS, axis=rounds).read().values()
    }
    marks = [
        replace(one, step=one.step if one.mode_step is None else one.mode_step)
        for one in verdict.findings
        if one.tensor in names
    ]
    return marked_chart(columns, metric, "value", marks, over="round")


def importance(evidence: BoostedRun) -> Iterator[Block]:
    """Yield how much each feature counts, a chart for each way to measure that."""
    found = {kind: evidence.importance(kind) for kind in KINDS}
    if not any(found.values()):
        yield Text("No importance of features was saved; a linear model has none.", "note")
    for kind, values in found.items():
        if values:
            shares = {name: 100 * value for name, value in _largest_first(values).items()}
            drawn = {"values": shares, "title": kind, "about": _MEANS[kind], "unit": "x 100"}
            yield Chart(bars, drawn, narrow=len(shares) <= 30)
    # Values of both signs cancel in their mean: it says little of a feature that adds and takes.
    for kind, (title, about) in _SHAP.items():
        if shap := evidence.importance(kind):
            drawn = {"values": _largest_first(shap), "unit": "of the prediction"}
            yield Chart(bars, {**drawn, "title": title, "about": about}, narrow=len(shap) <= 30)
            return


# The first that was saved is shown.
_SHAP = {
    "mean_abs_shap": ("mean |SHAP|", "by how much it moves a prediction, on average"),
    "average_shap": ("mean SHAP", "what it adds to a prediction, on average"),
}


def _largest_first(values: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(values.items(), key=lambda one: -abs(one[1])))


def residuals(evidence: BoostedRun, last: PredictedRows) -> Iterator[Block]:
    """Yield how far predictions are from what is true."""
    predicted = last.predictions.astype(np.float64)
    if predicted.ndim == 2:
        predicted = predicted.argmax(axis=1).astype(np.float64)
    elif evidence.num_classes:
        predicted = predicted.round()
    errors = predicted - last.labels.astype(np.float64)
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


def residual_section(evidence: BoostedRun) -> Section:
    """Return how far predictions are from what is true; of classes the confusion matrix says it."""
    title = "Residuals at the last saved step"
    return Section("ResidualDistribution", title, of_last(evidence, residuals))


def errors_by_label(evidence: BoostedRun) -> Iterator[Section]:
    """Yield the sections that only trainings on numbers have."""
    if evidence.task != "numbers":
        return
    last = evidence.last
    over_steps = partial(Section, "ErrorOverSteps", "Absolute error by label, over the steps")
    if last is None:
        yield over_steps((absent("labels and predictions"),))
        return
    edges = bin_edges(last.labels)
    predicted = [*evidence.predicted()]
    errors = np.array([errors_by_bin(one.labels, one.predictions, edges) for one in predicted])
    names = [f"{low:.4g} to {high:.4g}" for low, high in itertools.pairwise(edges)]
    steps = [one.step for one in predicted]
    points = {
        name: (steps, column.tolist())
        for name, column in zip(names, errors.T, strict=True)
        if np.isfinite(column).any()
    }
    drawn = {"points": points, "x": "step", "y": "mean absolute error"}
    chart = Chart(curves, {**drawn, "title": "Mean absolute error, a line for each bin of labels"})
    yield over_steps((chart,))
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


#: Below this a model hardly tells the classes apart.
POOR_AREA = 0.6
_POINTS = 500
# How curves are drawn of which both axes go from 0 to 1.
_UNIT_SQUARE = {"diagonal": True, "square": True}
_SUPPORTED = "numbers (reg:, count:), two classes (binary:) and several (multi:)"


def class_sections(evidence: BoostedRun) -> Iterator[Section]:
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
    rounds = StepAxis(evidence.trial).of([*found]).tolist()
    counts = [*found.values()][-1]
    names = [str(number) for number in range(len(counts))]
    drawn = {
        "names": names,
        "counts": counts,
        "title": f"Round {rounds[-1]}",
        "about": "counts, and shares of each true class",
    }
    yield Section("ConfusionMatrix", "Confusion matrix", (Chart(matrix, drawn),))
    yield Section("EvaluationMetrics", "Evaluation of the confusion matrix", (*_scores(counts),), 2)
    lines = np.array([recalls(one) for one in found.values()]).T
    points = {name: (rounds, line.tolist()) for name, line in zip(names, lines, strict=True)}
    drawn = {"points": points, "x": "round", "y": "share predicted right"}
    title = "Accuracy of each class over the rounds"
    chart = Chart(curves, {**drawn, "title": "Share of each class that was predicted right"})
    yield Section("IterativeClassAccuracy", title, (chart,), 2)
    if evidence.task == "two classes":
        title = "Receiver operating characteristic"
        yield Section("RocCurve", title, of_last(evidence, _roc))
        yield Section("Calibration", "Calibration", of_last(evidence, _calibration))


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


def _roc(_: BoostedRun, last: PredictedRows) -> Iterator[Block]:
    curve = roc(last.labels, last.predictions)
    if curve is None:
        yield Text("All labels are the same.", "note")
        return
    if curve.area < POOR_AREA:
        yield Text(
            f"An area of {curve.area:.2f} is little more than chance, which is 0.5.", "warning"
        )
    few = thinned(curve, _POINTS)
    options = {
        "points": {"model": (few.false_positive.tolist(), few.true_positive.tolist())},
        "hover": {"threshold": few.thresholds.tolist()},
        "title": f"Area under the curve: {curve.area:.4f}",
        "about": f"step {last.step}",
        "x": "false positive rate",
        "y": "true positive rate",
    }
    yield Chart(curves, {**options, **_UNIT_SQUARE})


def _calibration(_: BoostedRun, last: PredictedRows) -> Iterator[Block]:
    scores = last.predictions.astype(np.float64)
    if scores.min() < 0 or scores.max() > 1:
        yield Text(
            "The predictions are no probabilities, so they cannot be compared with any.", "note"
        )
        return
    mean, share, sizes = calibration(last.labels, scores)
    options = {
        "points": {"model": (mean.tolist(), share.tolist())},
        "hover": {"rows": sizes.tolist()},
        "title": "What was predicted, and what came true",
        "about": f"step {last.step}; a well calibrated model follows the dotted line",
        "x": "predicted probability",
        "y": "share that is positive",
    }
    yield Chart(curves, {**options, **_UNIT_SQUARE})


#: The rules for a run that none has judged yet: those that suit boosted trees.
RULES = (
    "overfit:patience=3,ratio_threshold=0.2,rising_by=0.1",
    "overtraining",
    "loss_not_decreasing:mode=TRAIN,num_steps=100,smooth=25,converged_ratio=0.9",
    "feature_importance_overweight",
    "class_imbalance",
)


def suits(trial: Trial) -> bool:
    """Return whether it is a run of boosted trees."""
    return is_boosted(trial)


def report(
    trial: Trial, rules: Sequence[Spec] | None = None, *, shown: Progress = without_progress
) -> Report:
    """Return what is known of a training of boosted trees.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        shown: Shows how far judging is.
    """
    verdict = stored_or_evaluated(trial, rules, default=RULES, shown=shown)
    evidence = BoostedRun(trial)
    sections = [
        Section("LossData", "Loss over the rounds", (*losses(evidence, verdict),)),
        *cause_sections(trial, cached_profile(trial), verdict),
        Section(
            "LabelsDistribution",
            "Distribution of the true labels",
            of_last(evidence, labels, "labels"),
        ),
        Section("FeatureImportance", "Feature importance", (*importance(evidence),)),
        *class_sections(evidence),
        *([] if evidence.num_classes else [residual_section(evidence)]),
        *errors_by_label(evidence),
        Section("hyperparameters", "Hyperparameters", (*_hyperparameters(evidence),)),
    ]
    objective = {"objective": evidence.objective or "not known"}
    return of_sections("xgboost", trial, verdict, sections, objective)


def _hyperparameters(evidence: BoostedRun) -> Iterator[Block]:
    rows = tuple(sorted(evidence.hyperparameters.items()))
    yield Table(("name", "value"), rows) if rows else absent("hyperparameters")
