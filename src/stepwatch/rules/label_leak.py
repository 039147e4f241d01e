"""The answer is among what the model is given, or what it is judged by was trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..finding import Finding
from ..statistics import MAX, MIN
from ..steps import Mode
from .checks import Floats, number
from .dependence import looks
from .overlap import Overlap
from .rule import Findings, Rule
from .scalars import InARow
from .scope import above, at_least, within
from .step_view import StepView, TensorView

#: Looks at which a column of the input was the target: of a whole batch, so two are enough.
LOOKS = 2

_REMEDIES = {
    "target_is_input": "shift targets by one against the inputs",
    "future": "mask attention: a position may see those before it and itself, is_causal=True",
    "feature": "take this column out of the input",
}


def correlations(columns: Floats, target: Floats) -> Floats:
    """Return how each column correlates with a target, in magnitude.

    Args:
        columns: Shape ``[rows, columns]``.
        target: Shape ``[rows]``.

    Returns:
        Pearson's coefficient, shape ``[columns]``, from 0 to 1; 0 for what does not vary or is
        not finite.
    """
    x = columns - columns.mean(axis=0)
    y = target - target.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.abs(x.T @ y) / np.sqrt((x**2).sum(axis=0) * (y**2).sum())
    result: Floats = np.nan_to_num(found, posinf=0.0)
    return result


class LabelLeak(Rule):
    """Training and evaluation that share what they must not.

    Leakage is behind results of hundreds of papers that cannot be repeated (Kapoor and Narayanan:
    Leakage and the reproducibility crisis in machine-learning-based science, 2023).

    ``overlap``: samples of EVAL were seen in TRAIN, by the digests of the samples: more than
    ``max_overlap`` of them; or some of each evaluation, where it is estimated how many were not
    looked at; or, of severity info, all of each evaluation, as who evaluates on the training data
    means to. Data in which samples repeat within a batch cannot be told so and is not judged; it
    is said once.
    ``target_is_input``: the integer targets are the input itself, as when the shift by one is
    missing. ``future``: a model that predicts the next token sees all of them, in each of its
    modules with attention; see also the rule ``dependence``. ``feature``: a column of the input is
    the target, as the hook finds at two looks, or at each step at which ``batches`` and ``labels``
    are saved raw.

    Args:
        max_overlap: The share of EVAL samples that may have been seen, between 0 and 1.
        min_samples: So many must have been, at least.
        min_correlation: Of a column with the target, between 0 and 1.
        consecutive: Looks in a row, for the others.
    """

    name = "label_leak"
    needs = ("samples", "batches", "labels", "dependence")

    def __init__(
        self,
        max_overlap: float = 0.01,
        min_samples: int = 20,
        min_correlation: float = 0.999,
        consecutive: int = 5,
    ) -> None:
        within("max_overlap", max_overlap, 0, 1)
        at_least("min_samples", min_samples, 1)
        above("min_correlation", min_correlation, 0, up_to=1)
        at_least("consecutive", consecutive, 1)
        self.max_overlap, self.min_samples = max_overlap, min_samples
        self.min_correlation, self.consecutive = min_correlation, consecutive
        self._in_a_row = InARow()
        self._overlap = Overlap(min_samples)
        self._models: set[str] = set()
        self._told = False
        self._judged = False

    def check(self, step: StepView) -> Findings:
        for tensor in step.tensors("samples"):
            if tensor.name in tensor.record.raw:
                yield from self._judge_samples(step, tensor)
        if step.trains:
            for label in step.tensors("labels"):
                yield from self._judge_target(step, label)
                yield from self._judge_future(step, label)
            yield from self._judge_features(step)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return "neither targets in TRAIN nor samples of both TRAIN and EVAL were seen"

    def _judge_samples(self, step: StepView, tensor: TensorView) -> Findings:
        overlap = self._overlap
        samples = tensor.value().ravel().tolist()
        if step.trains:
            self._models.add(tensor.name)
            overlap.train(samples)
            return
        if tensor.name not in self._models:
            return  # of another model, as a teacher that is asked about the training data
        if step.mode is not Mode.EVAL or self._told or not overlap.evaluate(samples):
            return
        self._judged = True
        share = overlap.num_shared / overlap.num_evaluated
        enough = overlap.num_shared >= self.min_samples and not overlap.repeats
        over = share > self.max_overlap
        if not enough or not (over or overlap.is_compared):
            return
        if over or overlap.is_part or overlap.is_all:
            self._told = True
            yield self._shared(step, tensor, share, over=over)

    def _shared(self, step: StepView, tensor: TensorView, share: float, *, over: bool) -> Finding:
        overlap = self._overlap
        estimate = ""
        if not over:
            mean = min(1.0, sum(overlap.shares) / len(overlap.shares))
            estimate = f"; as many as {mean:.0%} were, if those not looked at are like these"
        return Finding(
            self.name,
            step.number,
            tensor.name,
            f"{overlap.num_shared} samples of EVAL were seen in TRAIN, {share:.1%} of"
            f" {overlap.num_evaluated} looked at up to step {step.number}"
            + (f" (> {self.max_overlap:.1%})" if over else estimate),
            severity="warning" if over or overlap.is_part else "info",
            worker=tensor.worker,
            value=share,
            threshold=self.max_overlap,
            condition="overlap",
            remedy="split the data before it is shuffled, repeated or augmented; take out of"
            " training what evaluation uses",
        )

    def _judge_target(self, step: StepView, label: TensorView) -> Findings:
        batches = [one for one in step.tensors("batches") if one.worker == label.worker]
        # A model that computes its loss itself is given its targets with what they are for.
        for batch in batches if len(batches) == 1 else ():
            self._judged = True
            key = label.worker, label.name, batch.name
            copied = _is_copy(batch, label)
            if self._in_a_row.count((*key, "copy"), copied) >= self.consecutive:
                yield self._finding(step, label, batch, "target_is_input", "is the input itself")
            for column, value in self._columns(batch, label):
                if self._in_a_row.count((*key, column), True) >= self.consecutive:
                    yield self._finding(
                        step,
                        label,
                        batch,
                        "feature",
                        f"has a correlation of {number(value)} with column {column} of the input",
                    )

    def _judge_features(self, step: StepView) -> Findings:
        """Judge the column of the input that is most like the target, as the hook found it."""
        for tensor, look in looks(step):
            label = step.tensor(f"label/{tensor.name.partition('/')[2]}", tensor.worker)
            batch = step.tensor("batch/0", tensor.worker)
            if label is None or batch is None or not look.column >= 0:
                continue
            key = tensor.worker, tensor.name, "column", int(look.column)
            met = look.correlation > self.min_correlation
            if self._in_a_row.count(key, met) >= LOOKS:
                yield self._finding(
                    step,
                    label,
                    batch,
                    "feature",
                    f"has a correlation of {number(look.correlation)} with column"
                    f" {int(look.column)} of the input",
                    LOOKS,
                )

    def _judge_future(self, step: StepView, label: TensorView) -> Findings:
        batch = step.tensor("batch/0", label.worker)
        key = label.worker, label.name
        shifted = batch is not None and _is_shifted(batch, label)
        streak = self._in_a_row.count((*key, "shifted"), shifted)
        keys = [seen for worker, seen in _visible_keys(step) if worker == label.worker]
        if batch is None or not keys:
            return
        length = batch.info.shape[-1]
        sees_all = length > 2 and all(abs(seen - length) < 0.5 for seen in keys)
        looks = self._in_a_row.count((*key, "future"), sees_all)
        # other targets of the same distribution may look shifted at a step, not at twenty
        if streak >= 20 and looks >= self.consecutive:
            what = (
                f"is the input shifted by one, and each position sees all {length} in all"
                f" {len(keys)} modules with attention, so what it is to predict as well"
            )
            yield self._finding(step, label, batch, "future", what)

    def _columns(self, batch: TensorView, label: TensorView) -> Iterator[tuple[int, float]]:
        """Yield the columns that are as good as the target, if values were saved."""
        try:
            columns, target = (np.asarray(each.value(), np.float64) for each in (batch, label))
        except TensorUnavailable:
            return
        if columns.ndim != 2 or target.size != len(columns) or len(columns) < 16:
            return
        found = correlations(columns, target.ravel())
        for column in np.flatnonzero(found > self.min_correlation).tolist():
            yield column, float(found[column])

    def _finding(
        self,
        step: StepView,
        label: TensorView,
        batch: TensorView,
        condition: str,
        what: str,
        num_looks: int | None = None,
    ) -> Finding:
        return Finding(
            self.name,
            step.number,
            label.name,
            f"{label.name}: the target {what} ({batch.name}),"
            f" {num_looks or self.consecutive} looks in a row up"
            f" to step {step.number}",
            worker=label.worker,
            condition=condition,
            remedy=_REMEDIES[condition],
        )


def _is_copy(batch: TensorView, label: TensorView) -> bool:
    """Return whether targets are the input, by all that is known of both."""
    integers = "int" in batch.info.dtype and "int" in label.info.dtype
    ours: npt.NDArray[np.float64] = label.record.statistics[label.row]
    theirs = batch.record.statistics[batch.row]
    same = bool((ours == theirs).all())
    return integers and same and bool(ours[MIN] < ours[MAX])


def _is_shifted(batch: TensorView, label: TensorView) -> bool:
    """Return whether targets may be the input shifted by one: all but one of each row is the same.

    The sums then differ by what two elements of each row do, and so little that other targets
    would not do it for long.
    """
    shape = batch.info.shape
    integers = "int" in batch.info.dtype and "int" in label.info.dtype
    ours, theirs = label.statistics, batch.statistics
    if not integers or len(shape) != 2 or ours.count != theirs.count or ours.min < 0:
        return False
    return bool(abs(ours.sum - theirs.sum) <= 4 * theirs.std * math.sqrt(2 * shape[0]))


def _visible_keys(step: StepView) -> Iterator[tuple[str, float]]:
    """Yield, for each module with attention, its worker and how many keys a row sees on average."""
    for logits in step.tensors("attention"):
        if logits.name.endswith("/logits"):
            rows = step.tensor(f"{logits.name.removesuffix('logits')}entropy", logits.worker)
            if rows is not None and rows.statistics.count:
                yield logits.worker, logits.statistics.finite / rows.statistics.count
