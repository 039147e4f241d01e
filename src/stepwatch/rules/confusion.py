"""The rule on classes that are taken for one another."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..steps import Mode
from .checks import number
from .class_counts import Counts, Sources, added
from .rule import Findings, Rule
from .scope import Selection, at_least, one_of, within
from .step_view import StepView


class Confusion(Rule):
    """Classes of which too few predictions are right, or too many are another class.

    The hook measures the matrix for losses on whole classes; labels and predictions that are saved
    in full are taken where it did not. Once there are steps of EVAL with classes only they are
    judged.

    Args:
        category_no: How many classes there are; by default as many as are seen.
        labels: Name of the labels, where they are saved in full.
        predictions: Name of the predictions, where they are saved in full.
        labels_collection: Or labels are what is in this collection.
        predictions_collection: Or predictions are what is in this collection.
        min_diag: Too few of the predictions of a class are right below this fraction.
        max_off_diag: Too many of them are of one other class above this fraction.
        normalize: ``column`` for fractions of the predictions of a class, ``row`` for fractions of
            its labels.
        cumulative: Add up the steps of a mode instead of judging each.
        min_samples: Judge when a matrix has so many pairs.
    """

    name = "confusion"

    def __init__(
        self,
        category_no: int | None = None,
        labels: str = "labels",
        predictions: str = "predictions",
        labels_collection: str = "labels",
        predictions_collection: str = "predictions",
        min_diag: float = 0.9,
        max_off_diag: float = 0.1,
        normalize: Literal["column", "row"] = "column",
        cumulative: bool = False,
        min_samples: int = 0,
    ) -> None:
        at_least("category_no", 2 if category_no is None else category_no, 2)
        within("min_diag", min_diag, 0, 1)
        within("max_off_diag", max_off_diag, 0, 1)
        one_of("normalize", normalize, ("column", "row"))
        at_least("min_samples", min_samples, 0)
        self.min_diag, self.max_off_diag = min_diag, max_off_diag
        self.normalize = normalize
        self.cumulative = cumulative
        self.min_samples = min_samples
        self._sources = Sources(
            Selection((labels_collection,), (f"^{labels}$",)),
            Selection((predictions_collection,), (f"^{predictions}$",)),
            num_classes=category_no,
        )
        self._sums: dict[tuple[str, Mode], Counts] = {}
        self._judged = self._eval_seen = False

    def check(self, step: StepView) -> Findings:
        if self._eval_seen and step.mode is not Mode.EVAL:
            return
        matrices = self._sources.matrices(step)
        self._eval_seen |= bool(matrices) and step.mode is Mode.EVAL
        for name, matrix in matrices.items():
            if self.cumulative:
                key = name, step.mode
                before = self._sums.get(key)
                matrix = matrix if before is None else added([before, matrix])
                self._sums[key] = matrix
            if matrix.size and int(matrix.sum()) >= max(self.min_samples, 1):
                self._judged = True
                yield from self._judge(step, name, matrix)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        missing = "no classes were counted, and no labels and predictions saved in full"
        return self._sources.why_not or missing

    def _judge(self, step: StepView, name: str, matrix: Counts) -> Findings:
        shares = normalized(matrix, self.normalize)
        occurs = (matrix.sum(axis=0) + matrix.sum(axis=1)) > 0
        right = np.where(occurs, np.diagonal(shares), 1.0)
        others = shares - np.diag(np.diagonal(shares))
        wrong = others.max(axis=0 if self.normalize == "column" else 1)
        met = occurs & ((right < self.min_diag) | (wrong > self.max_off_diag))
        if met.any():
            worst = int(np.argmin(np.where(met, right - wrong, np.inf)))
            other = int(
                (others[:, worst] if self.normalize == "column" else others[worst]).argmax()
            )
            yield self._finding(
                step,
                name,
                (worst, float(right[worst])),
                (other, float(wrong[worst])),
                int(met.sum()),
            )

    def _finding(
        self,
        step: StepView,
        name: str,
        worst: tuple[int, float],
        other: tuple[int, float],
        classes: int,
    ) -> Finding:
        low = worst[1] < self.min_diag
        of = "predictions" if self.normalize == "column" else "labels"
        more = f"; {classes} classes are like that" if classes > 1 else ""
        taken = f", and {number(other[1])} are class {other[0]}" if other[1] else ""
        limits = f"min_diag {number(self.min_diag)}, max_off_diag {number(self.max_off_diag)}"
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: of the {of} of class {worst[0]}, {number(worst[1])} are right{taken}"
            f" ({limits}) at step {step.number}{more}",
            value=worst[1] if low else other[1],
            threshold=self.min_diag if low else self.max_off_diag,
            condition=name,
            remedy="look at samples of the two classes, their features and their labels",
            evidence={"class": worst[0], "other": other[0], "classes": classes},
        )


def normalized(matrix: Counts, by: Literal["column", "row"]) -> npt.NDArray[np.float64]:
    """Return fractions of the sum of each column, or row; 0 where that is 0.

    Args:
        matrix: Counts, shape ``[classes, classes]``.
        by: What sums to 1.

    Example:
        >>> normalized(np.array([[1, 1], [0, 2]]), "row").tolist()
        [[0.5, 0.5], [0.0, 1.0]]
    """
    sums = matrix.sum(axis=0 if by == "column" else 1, keepdims=True)
    return np.where(sums > 0, matrix / np.maximum(sums, 1), 0.0)
