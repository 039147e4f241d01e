"""What a run of boosted trees holds, and how good its predictions are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..hooks.boosting.hook import Counts, confusion
from ..model.steps import Mode
from ..profile.statistics import natural_key
from ..trial import Trial

Array = npt.NDArray[np.generic]
Task = Literal["two classes", "classes", "numbers", "ranking", "unknown"]

#: Of more saved steps these many are read, the first and the last among them.
MOST_STEPS = 40
KINDS = ("weight", "gain", "cover")
_OBJECTIVE = "hyperparameters/objective"
_TASKS: Mapping[str, Task] = {
    "binary:": "two classes",
    "multi:": "classes",
    "reg:": "numbers",
    "count:": "numbers",
    "rank:": "ranking",
}


@dataclass(frozen=True)
class PredictedRows:
    """What was true and what the model predicted of the same rows.

    Args:
        step: The global step.
        labels: Shape ``[rows]``.
        predictions: Shape ``[rows]``, or ``[rows, classes]``.
    """

    step: int
    labels: Array
    predictions: Array


class BoostedRun:
    """Reads what a run of boosted trees holds, whoever wrote it.

    Args:
        trial: The run.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._names = trial.tensor_names()

    @cached_property
    def objective(self) -> str:
        """What the training minimizes, such as ``binary:logistic``; empty if that is not known."""
        return str(self.hyperparameters.get("objective", ""))

    @property
    def task(self) -> Task:
        """What the model predicts."""
        known = (task for prefix, task in _TASKS.items() if self.objective.startswith(prefix))
        return next(known, "unknown")

    @cached_property
    def hyperparameters(self) -> dict[str, str | float]:
        """What the training was given, by name."""
        found: dict[str, str | float] = {}
        for name in self._names:
            if name.startswith("hyperparameters/"):
                value = self._last(name)
                if value is not None and value.size == 1:
                    one = value.reshape(-1)[0].item()
                    found[name.partition("/")[2]] = one if isinstance(one, float) else str(one)
        return found

    @cached_property
    def num_classes(self) -> int:
        """How many classes there are; 0 for numbers."""
        if self.task == "two classes":
            return 2
        if self.task != "classes":
            return 0
        given = int(float(self.hyperparameters.get("num_class", 0)))
        if self.last is None:
            return given
        if self.last.predictions.ndim == 2:
            return int(self.last.predictions.shape[1])
        return max(given, int(max(self.last.labels.max(), self.last.predictions.max())) + 1)

    @property
    def metrics(self) -> list[str]:
        """The names of what was evaluated, such as ``validation-logloss``."""
        kinds = self.trial.reader.tensors()
        prefixes = ("losses", "metrics")
        return [name for name in self._names if kinds[name] in prefixes and "-" in name]

    @cached_property
    def data(self) -> str:
        """Of which data labels and predictions are: not those that are trained on, if there are."""
        names = [name.partition("/")[2] for name in self._names if name.startswith("label/")]
        others = [name for name in names if name != "train"]
        preferred = [name for name in others if name.startswith("val")]
        return next(iter((*preferred, *others, *names)), "")

    @cached_property
    def steps(self) -> list[int]:
        """The steps at which labels and predictions were saved in full, ascending."""
        labels, predictions = self._pair
        both = self._saved(labels) & self._saved(predictions)
        return sorted(both)

    @cached_property
    def last(self) -> PredictedRows | None:
        """The predictions at the last of these steps; ``None`` if nothing was saved."""
        return self._rows_at(self.steps[-1]) if self.steps else None

    def predicted(self) -> Iterator[PredictedRows]:
        """Yield the predictions of ``MOST_STEPS`` steps at most, one after the other."""
        yield from map(self._rows_at, spread_out(self.steps))

    def confusions(self) -> dict[int, Counts]:
        """Return how often each class was taken for which, by step, at ``MOST_STEPS`` at most."""
        if not self.num_classes:
            return {}
        if self.steps:
            found = {
                one.step: confusion(one.labels, one.predictions, self.num_classes)
                for one in self.predicted()
            }
            return {step: counts for step, counts in found.items() if counts is not None}
        name = f"confusion/{self.data}"
        steps = spread_out(sorted(self._saved(name)))
        return {step: self.trial.tensor(name).value(step).astype(np.int64) for step in steps}

    def importance(self, kind: str) -> dict[str, float]:
        """Return how much each feature counts at the last step, by name; empty if not saved.

        Args:
            kind: ``weight``, ``gain``, ``cover``; or ``average_shap``, the mean of SHAP values, or
                ``mean_abs_shap``, that of their magnitudes.
        """
        prefix = f"{kind}/" if kind.endswith("shap") else f"feature_importance/{kind}/"
        names = [name for name in self._names if name.startswith(prefix)]
        found = {name.removeprefix(prefix): self._last(name) for name in names}
        features = sorted(found.keys() - {"bias"}, key=natural_key)
        return {
            name: float(np.asarray(value, np.float64).mean())
            for name in features
            if (value := found[name]) is not None
        }

    @property
    def _pair(self) -> tuple[str, str]:
        names = ("labels", "predictions")
        return (
            names if names[0] in self._names else (f"label/{self.data}", f"prediction/{self.data}")
        )

    def _saved(self, name: str) -> set[int]:
        if name not in self._names:
            return set()
        found = self.trial.located(name, Mode.GLOBAL, None, None)
        return {at.step for at in found if at.blob is not None}

    def _rows_at(self, step: int) -> PredictedRows:
        labels, predictions = (self.trial.tensor(name).value(step) for name in self._pair)
        return PredictedRows(step, labels.reshape(-1), predictions)

    def _last(self, name: str) -> Array | None:
        """Return the last full value of a tensor."""
        tensor = self.trial.tensor(name)
        try:
            return tensor.value(tensor.steps()[-1])
        except (TensorUnavailable, IndexError):
            return None


def spread_out(steps: list[int]) -> list[int]:
    """Return ``MOST_STEPS`` of these steps at most, the first and the last among them."""
    indices = np.linspace(0, len(steps) - 1, min(len(steps), MOST_STEPS))
    return [steps[index] for index in np.unique(indices.round().astype(int))]


def is_boosted(trial: Trial) -> bool:
    """Return whether a run is one of boosted trees."""
    names = trial.tensor_names()
    begin = ("feature_importance/", "boosting/")
    return _OBJECTIVE in names or any(name.startswith(begin) for name in names)


Floats = npt.NDArray[np.float64]
CountArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall and F1; 0 where nothing was predicted, or nothing was there.

    Args:
        precision: Which share of what was predicted is true.
        recall: Which share of what is true was predicted.
        f1: Their harmonic mean.
    """

    precision: float
    recall: float
    f1: float


def accuracy(counts: CountArray) -> float:
    """Return which share of a confusion matrix is on its diagonal; nan for an empty one."""
    return float(np.trace(counts) / counts.sum()) if counts.sum() else float("nan")


def scores_of_classes(counts: CountArray) -> list[Scores]:
    """Return the scores of each class of a confusion matrix, a row for each true class.

    Example:
        >>> scores_of_classes(np.array([[3, 1], [0, 4]]))[0]
        Scores(precision=1.0, recall=0.75, f1=0.8571428571428571)
    """
    right = np.diag(counts).astype(np.float64)
    precision = _ratio(right, counts.sum(axis=0))
    recall = _ratio(right, counts.sum(axis=1))
    f1 = _ratio(2 * precision * recall, precision + recall)
    return [Scores(*map(float, one)) for one in zip(precision, recall, f1, strict=True)]


def averages(counts: CountArray) -> dict[str, Scores]:
    """Return the scores over all classes: ``micro``, ``macro``, and ``weighted`` by their size."""
    each = np.array([[one.precision, one.recall, one.f1] for one in scores_of_classes(counts)])
    sizes = counts.sum(axis=1)
    weighted = sizes @ each / sizes.sum() if sizes.sum() else np.zeros(3)
    found = {"micro": (accuracy(counts),) * 3, "macro": each.mean(axis=0), "weighted": weighted}
    return {name: Scores(*map(float, one)) for name, one in found.items()}


def recalls(counts: CountArray) -> Floats:
    """Return which share of each class was predicted right, shape ``[classes]``; nan for none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.diag(counts) / counts.sum(axis=1)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Roc:
    """A receiver operating characteristic.

    Args:
        false_positive: Rates, shape ``[n]``, ascending from 0 to 1.
        true_positive: Rates, shape ``[n]``.
        thresholds: From which score on a row counts as positive, shape ``[n]``.
        area: Under the curve.
    """

    false_positive: Floats
    true_positive: Floats
    thresholds: Floats
    area: float


def roc(labels: npt.ArrayLike, scores: npt.ArrayLike) -> Roc | None:
    """Return how the rates of true and false positives depend on the threshold.

    Args:
        labels: Shape ``[rows]``, 1 for what is positive and 0 else.
        scores: Shape ``[rows]``, the larger the more likely positive.

    Returns:
        ``None`` where all labels are the same.
    """
    positive = np.asarray(labels, np.float64) > 0.5
    score = np.asarray(scores, np.float64)
    if positive.all() or not positive.any():
        return None
    order = np.argsort(-score, kind="stable")
    score, positive = score[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    true, false = np.cumsum(positive)[ends], np.cumsum(~positive)[ends]
    rises = np.append(0.0, true / true[-1])
    runs = np.append(0.0, false / false[-1])
    area = float(((rises[1:] + rises[:-1]) / 2 * np.diff(runs)).sum())
    return Roc(runs, rises, np.append(np.inf, score[ends]), area)


def thinned(curve: Roc, points: int) -> Roc:
    """Return a curve of so many points at most, its ends among them; its area stays."""
    if len(curve.thresholds) <= points:
        return curve
    chosen = np.unique(np.linspace(0, len(curve.thresholds) - 1, points).round().astype(int))
    return Roc(
        curve.false_positive[chosen],
        curve.true_positive[chosen],
        curve.thresholds[chosen],
        curve.area,
    )


def calibration(
    labels: npt.ArrayLike, scores: npt.ArrayLike, bins: int = 10
) -> tuple[Floats, Floats, CountArray]:
    """Return what was predicted and what came true, bin by bin of equal width.

    Returns:
        The mean score, the share of positive labels and how many rows there are, of each bin that
        has any.
    """
    positive, score = np.asarray(labels, np.float64) > 0.5, np.asarray(scores, np.float64)
    bin_of_row = np.clip((score * bins).astype(np.int64), 0, bins - 1)
    sizes = np.bincount(bin_of_row, minlength=bins)
    there = sizes > 0
    mean = np.bincount(bin_of_row, score, bins)[there] / sizes[there]
    share = np.bincount(bin_of_row, positive.astype(np.float64), bins)[there] / sizes[there]
    return mean, share, sizes[there]


def bin_edges(values: npt.ArrayLike, bins: int = 10) -> Floats:
    """Return the edges of equal bins over the range of values; around one that is the only one."""
    values_ = np.asarray(values, np.float64)
    low, high = float(values_.min()), float(values_.max())
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def errors_by_bin(labels: npt.ArrayLike, predictions: npt.ArrayLike, edges: Floats) -> Floats:
    """Return the mean absolute error of the labels in each bin, nan for an empty one."""
    label, error = np.asarray(labels, np.float64), np.asarray(predictions, np.float64)
    bin_of_row = np.clip(np.searchsorted(edges, label, "right") - 1, 0, len(edges) - 2)
    sizes = np.bincount(bin_of_row, minlength=len(edges) - 1)
    sums = np.bincount(bin_of_row, np.abs(error - label), len(edges) - 1)
    with np.errstate(invalid="ignore"):
        return np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)


def normal_counts(edges: Floats, mean: float, deviation: float, rows: int) -> Floats:
    """Return how many of so many rows a normal distribution has around the middle of each bin."""
    if not deviation > 0:
        return np.zeros(len(edges) - 1)
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.exp(-0.5 * ((middle - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    return np.asarray(density * rows * np.diff(edges), np.float64)


def _ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    top, bottom = np.asarray(above, np.float64), np.asarray(below, np.float64)
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0)
