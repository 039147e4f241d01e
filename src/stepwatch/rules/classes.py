"""The rule on classes that are rare, or that are nearly always taken for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from ..finding import Finding
from ..steps import Mode
from .checks import number
from .class_counts import Counts, Sources, added
from .rule import Findings, Rule
from .scope import Selection, at_least, one_of, within
from .step_view import StepView

# labels of each class, and how many of them were mispredicted; shape [classes] each
Tally = tuple[Counts, Counts]


class ClassImbalance(Rule):
    """Classes of which there are far fewer labels, or whose labels are mostly mispredicted.

    Labels are counted over all steps at which they were saved, and judged once there are enough.
    The hook measures both for losses on whole classes; labels and predictions that are saved in
    full are taken where it did not, in the order in which they come.

    Args:
        threshold_imbalance: The most frequent class over the rarest, of those that were seen, is
            too much above this.
        threshold_misprediction: A class is mispredicted if more than this fraction of its labels
            are.
        samples: Judge when so many labels were seen.
        argmax: Labels and predictions hold a score for each class. Of predictions that have an axis
            more than the labels it is known without.
        labels_regex: Labels, where they are saved in full.
        predictions_regex: Predictions, where they are saved in full.
        num_classes: How many classes there are: one that was never seen is then as imbalanced as
            can be. By default those that are seen.
        window_samples: Count only about so many last labels; ``None`` for all.
        misprediction_start_step: Count mispredictions from this global step on: a model that was
            not trained yet mispredicts nearly everything.
        min_class_samples: Say nothing of mispredictions of a class with fewer labels.
        mode: Count at steps of this mode; by default at those that train.
    """

    name = "class_imbalance"
    compat: ClassVar[Mapping[str, object]] = {
        "labels_regex": ".*labels",
        "predictions_regex": ".*predictions",
        "min_class_samples": 1,
    }

    def __init__(
        self,
        threshold_imbalance: float = 10.0,
        threshold_misprediction: float = 0.7,
        samples: int = 500,
        argmax: bool = False,
        labels_regex: str = "labels|^label/",
        predictions_regex: str = "predictions|^prediction/",
        num_classes: int | None = None,
        window_samples: int | None = None,
        misprediction_start_step: int = 0,
        min_class_samples: int = 20,
        mode: Literal["TRAIN", "EVAL", "PREDICT", "GLOBAL"] | None = None,
    ) -> None:
        at_least("threshold_imbalance", threshold_imbalance, 1)
        within("threshold_misprediction", threshold_misprediction, 0, 1)
        at_least("samples", samples, 1)
        at_least("num_classes", 2 if num_classes is None else num_classes, 2)
        at_least("window_samples", samples if window_samples is None else window_samples, samples)
        at_least("misprediction_start_step", misprediction_start_step, 0)
        at_least("min_class_samples", min_class_samples, 1)
        one_of("mode", mode, [one.value for one in Mode])
        self.threshold_imbalance = threshold_imbalance
        self.threshold_misprediction = threshold_misprediction
        self.samples = samples
        self.num_classes = num_classes
        self.window_samples = window_samples
        self.misprediction_start_step = misprediction_start_step
        self.min_class_samples = min_class_samples
        self.mode = mode or Mode.TRAIN.value
        self._sources = Sources(
            Selection((), (labels_regex,)),
            Selection((), (predictions_regex,)),
            columns=argmax,
            num_classes=num_classes,
        )
        self._tallies: dict[str, deque[Tally]] = {}
        self._most = 0

    def check(self, step: StepView) -> Findings:
        if not step.is_of(self.mode):
            return
        for name, tally in self._tally(step).items():
            past = self._tallies.setdefault(name, deque())
            labels, wrong = _total(past, tally, self.window_samples)
            seen = int(labels.sum())
            self._most = max(self._most, seen)
            if seen >= self.samples:
                yield from self._imbalance(step, name, labels)
                yield from self._misprediction(step, name, labels, wrong)

    def unevaluated(self) -> str | None:
        if self._most >= self.samples:
            return None
        if self._most:
            return f"{self._most} labels were seen, {self.samples} are needed"
        missing = "no classes were counted, and no labels and predictions saved in full"
        return self._sources.why_not or missing

    def _tally(self, step: StepView) -> dict[str, Tally]:
        """Return what one step adds."""
        matrices = self._sources.matrices(step)
        tallies = {name: _of_matrix(matrix) for name, matrix in matrices.items()}
        if step.number < self.misprediction_start_step:
            tallies = {name: (labels, labels * 0) for name, (labels, _) in tallies.items()}
        for name, labels in self._sources.counts(step).items():
            tallies.setdefault(name, (labels, labels * 0))
        return tallies

    def _imbalance(self, step: StepView, name: str, labels: Counts) -> Findings:
        most = int(labels.argmax())
        judged = labels if self.num_classes else np.where(labels > 0, labels, labels[most])
        least = int(judged.argmin())
        ratio = float(labels[most]) / float(labels[least]) if labels[least] else np.inf
        if ratio > self.threshold_imbalance:
            yield Finding(
                self.name,
                step.number,
                name,
                f"{name}: class {most} has {labels[most]} labels, class {least} has"
                f" {labels[least]}: {number(ratio)} times as many"
                f" (> {number(self.threshold_imbalance)}) up to step {step.number}",
                value=ratio,
                threshold=self.threshold_imbalance,
                condition=f"{name} imbalance",
                remedy="sample rare classes more often, or weight the loss by class",
                evidence={"most": most, "least": least, "labels": int(labels.sum())},
            )

    def _misprediction(self, step: StepView, name: str, labels: Counts, wrong: Counts) -> Findings:
        share = np.where(labels >= self.min_class_samples, wrong / np.maximum(labels, 1), 0.0)
        worst = int(share.argmax())
        if share[worst] > self.threshold_misprediction:
            over = int((share > self.threshold_misprediction).sum())
            yield Finding(
                self.name,
                step.number,
                name,
                f"{name}: class {worst}: {share[worst]:.0%} of {labels[worst]} labels are"
                f" mispredicted (> {self.threshold_misprediction:.0%}) up to step {step.number}"
                + (f"; so are those of {over - 1} other classes" if over > 1 else ""),
                value=float(share[worst]),
                threshold=self.threshold_misprediction,
                condition=f"{name} misprediction",
                remedy="look at labels of this class; sample it more often, or weight the loss",
                evidence={"class": worst, "classes": over},
            )


def _of_matrix(matrix: Counts) -> Tally:
    labels = matrix.sum(axis=1)
    return labels, labels - np.diagonal(matrix)


def _total(past: deque[Tally], tally: Tally, window: int | None) -> Tally:
    """Add a tally to those before it, forget what leaves the window, and return the sum."""
    past.append(tally)
    labels = added([one for one, _ in past])
    while window is not None and int(labels.sum() - past[0][0].sum()) >= window:
        past.popleft()
        labels = added([one for one, _ in past])
    total = labels, added([wrong for _, wrong in past])
    if window is None:  # nothing leaves: keep the sum alone
        past.clear()
        past.append(total)
    return total
