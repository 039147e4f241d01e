"""What a run of boosted trees holds that a report can judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..hooks.boosting.classes import Counts, confusion
from ..steps import Mode
from ..trial import Trial
from .machine import natural

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
class Said:
    """What was true and what the model said of the same rows.

    Args:
        step: The global step.
        labels: Shape ``[rows]``.
        predictions: Shape ``[rows]``, or ``[rows, classes]``.
    """

    step: int
    labels: Array
    predictions: Array


class Evidence:
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
    def last(self) -> Said | None:
        """What was said at the last of these steps; ``None`` if nothing was saved."""
        return self._said(self.steps[-1]) if self.steps else None

    def said(self) -> Iterator[Said]:
        """Yield what was said, at ``MOST_STEPS`` steps at most, one after the other."""
        yield from map(self._said, spread_out(self.steps))

    def confusions(self) -> dict[int, Counts]:
        """Return how often each class was taken for which, by step, at ``MOST_STEPS`` at most."""
        if not self.num_classes:
            return {}
        if self.steps:
            found = {
                one.step: confusion(one.labels, one.predictions, self.num_classes)
                for one in self.said()
            }
            return {step: counts for step, counts in found.items() if counts is not None}
        name = f"confusion/{self.data}"
        steps = spread_out(sorted(self._saved(name)))
        return {step: self.trial.tensor(name).value(step).astype(np.int64) for step in steps}

    def importance(self, kind: str) -> dict[str, float]:
        """Return how much each feature counts at the last step, by name; empty if not saved.

        Args:
            kind: ``weight``, ``gain``, ``cover``; or ``average_shap`` for that of SHAP values.
        """
        prefix = "average_shap/" if kind == "average_shap" else f"feature_importance/{kind}/"
        names = [name for name in self._names if name.startswith(prefix)]
        found = {name.removeprefix(prefix): self._last(name) for name in names}
        features = sorted(found.keys() - {"bias"}, key=natural)
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

    def _said(self, step: int) -> Said:
        labels, predictions = (self.trial.tensor(name).value(step) for name in self._pair)
        return Said(step, labels.reshape(-1), predictions)

    def _last(self, name: str) -> Array | None:
        """Return the last full value of a tensor."""
        tensor = self.trial.tensor(name)
        try:
            return tensor.value(tensor.steps()[-1])
        except (TensorUnavailable, IndexError):
            return None


def spread_out(steps: list[int]) -> list[int]:
    """Return ``MOST_STEPS`` of these steps at most, the first and the last among them."""
    places = np.linspace(0, len(steps) - 1, min(len(steps), MOST_STEPS))
    return [steps[place] for place in np.unique(places.round().astype(int))]


def is_boosted(trial: Trial) -> bool:
    """Return whether a run is one of boosted trees."""
    names = trial.tensor_names()
    begin = ("feature_importance/", "boosting/")
    return _OBJECTIVE in names or any(name.startswith(begin) for name in names)
