"""The rule on evaluation data in training, and on targets among the inputs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..judge.declaration import parameter
from ..judge.rule import Findings, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import correlations, listed, number
from ..numerics.statistics import MAX, MIN
from .data import COPY_SHARE
from .shared import dependence_samples, in_a_row, of_same_loss, prefixed

#: So many samples of the training are remembered.
MOST_SAMPLES = 1 << 18
#: Looks at the training by which it is known how many of its samples are known again.
KNOWN_SAMPLES = 5
#: What is known again of the training, at least, before an evaluation is compared with it.
LEAST_KNOWN = 0.4
#: So many samples of evaluations are compared, at least, before anything is reported.
LEAST_COMPARED = 100
#: Estimated shares of an evaluation that was trained on: nothing, and everything.
NONE, ALL = 0.005, 0.8


class Overlap:
    """Remembers the digests of samples.

    Only some steps are sampled, so what is known again of the samples of an evaluation is a lower
    bound of those that were trained on. Where batches are shuffled, how much of the training itself
    is known again, once it repeats its samples, gives how low: the one over the other estimates the
    share.

    Args:
        min_samples: With fewer samples of an evaluation at a step nothing is estimated.
    """

    def __init__(self, min_samples: int) -> None:
        self._min_samples = min_samples
        self._trained: set[int] = set()
        self._known: deque[tuple[int, int]] = deque(maxlen=KNOWN_SAMPLES)
        self._repeats = self._num_trained = 0
        self._batches: set[int] = set()
        self._in_order = False
        self._shared: set[int] = set()
        self._num_evaluated = self._compared = 0
        #: Estimated shares at the steps that could be compared.
        self.shares: list[float] = []

    def train(self, samples: list[int]) -> None:
        """Add the digests of the samples of a TRAIN step."""
        digests = set(samples)
        self._num_trained += len(samples)
        self._repeats += len(samples) - len(digests)
        # The very batch again: without shuffling the same few may be sampled over and over.
        batch = hash(frozenset(digests))
        self._in_order |= batch in self._batches
        self._batches.add(batch)
        self._known.append((len(digests & self._trained), len(digests)))
        if len(self._trained) < MOST_SAMPLES:
            self._trained |= digests

    def evaluate(self, samples: list[int]) -> bool:
        """Add those of an EVAL step; return whether there is training to compare them with."""
        if not self._trained:
            return False
        digests = set(samples)
        self._num_evaluated += len(digests)
        self._shared |= digests & self._trained
        known = sum(known for known, _ in self._known) / sum(total for _, total in self._known)
        if not self._in_order and known >= LEAST_KNOWN and len(digests) >= self._min_samples:
            self._compared += len(digests)
            self.shares.append(len(digests & self._trained) / len(digests) / known)
        return True

    @property
    def num_shared(self) -> int:
        """How many samples of EVAL were seen in TRAIN."""
        return len(self._shared)

    @property
    def num_evaluated(self) -> int:
        """How many samples of EVAL were looked at."""
        return self._num_evaluated

    @property
    def repeats(self) -> bool:
        """Whether samples repeat within a batch: such data cannot be judged."""
        return 1000 * self._repeats > self._num_trained

    @property
    def is_compared(self) -> bool:
        """Whether so many were compared that it is known whether all or some were shared."""
        return self._compared >= LEAST_COMPARED

    @property
    def is_part(self) -> bool:
        """Whether some of each evaluation was trained on, and some of it was not.

        Where all of one was and nothing of another, both are evaluated on purpose.
        """
        return bool(self.shares) and all(NONE < share < ALL for share in self.shares)

    @property
    def is_all(self) -> bool:
        """Whether all of each evaluation was trained on."""
        return bool(self.shares) and all(share >= ALL for share in self.shares)


_LABEL_IN, _ENCODED = "boosting/label_in/", "boosting/encoded/"
_SHARED_ROWS = "boosting/shared_rows/"
#: The share of the rows of a table that are evaluated and may be trained on, where rows differ.
MOST_SHARED_ROWS = 0.01
# What a column gains of what all do, in each library; trees are asked for it at full rounds.
_GAINS = "feature_importance/(total_gain|prediction_change)/"
#: A column gives the label away that makes so much of the gain, of at least so many columns, where
#: what is evaluated comes to so small a part of what it was.
ALONE, LEAST_COLUMNS, SOLVED = 0.98, 3, 0.02
_CENTRED = "evaluation/centred/"
#: Looks at which a column of the input was the target: of a whole batch, so two are enough.
MIN_COPIES = 2

_REMEDIES = {
    "target_is_input": "shift targets by one against the inputs",
    "future": "mask attention: a position may see those before it and itself, is_causal=True",
    "feature": "take this column out of the input",
    "alone": "see whether this column is the label, or is made of it or after it, and take it out"
    " of the table",
    "centred": "take rolling(window) without center=True, which ends at its own place, or shift"
    " what is centred by half of its window",
    "encoded": "encode each fold by the labels of the others, as fit_transform of"
    " sklearn.preprocessing.TargetEncoder does, or by rows that are not trained on; split off what"
    " is evaluated before",
}


class LabelLeak(Rule):
    """Training and evaluation that share what they must not.

    Leakage is behind results of hundreds of papers that cannot be repeated (Kapoor and Narayanan:
    Leakage and the reproducibility crisis in machine-learning-based science, 2023).

    ``overlap``: samples of EVAL were seen in TRAIN, by the digests of the samples: more than
    ``max_overlap`` of them; or some of each evaluation, where it is estimated how many were not
    looked at; or, of severity info, all of each evaluation, as who evaluates on the training data
    means to. Data in which samples repeat within a batch is not judged. It
    is reported once. Of boosting, rows of the evaluated tables are compared with those that are
    trained on.
    ``target_is_input``: the integer targets are the input itself, or one of several, as when the
    shift by one is missing, such as that of what a decoder is given. ``future``: a model that
    predicts the next token sees all of them, in each of its modules with attention; see also the
    rule ``dependence``. ``feature``: a column of the input is the target, or puts the samples in
    the very order of it, as a price does where its logarithm is asked for. The hook finds it at two
    looks, or as boosting begins; it is judged at each step, too, at which ``batches`` and
    ``labels`` are saved raw. ``encoded``: a column of the table that boosting is trained on holds
    for each category the mean label of few rows, each row's own included. ``centred``: a window of
    a series that is forecast has a column that was made by a centred window of pandas, of which the
    target is a part. ``alone``: of the columns of boosting one makes nearly all of the gain, and
    evaluations come to next to nothing: such as the label itself, taken for a category.
    """

    name = "label_leak"
    needs = (
        "samples",
        "batches",
        "labels",
        "losses",
        "dependence",
        "boosting",
        "feature_importance",
        "evaluations",
    )
    sign = "data"
    lacks = "neither targets in TRAIN nor samples of both TRAIN and EVAL were seen"

    max_overlap: float = parameter(
        0.01, "The share of EVAL samples that may have been seen.", between=(0, 1)
    )
    min_samples: int = parameter(20, "So many must have been, at least.", at_least=1)
    min_correlation: float = parameter(0.999, "Of a column with the target.", above=0, at_most=1)
    consecutive: int = parameter(5, "Looks in a row, for the others.", at_least=1)

    def begin(self) -> None:
        self._overlap = Overlap(self.min_samples)
        self._models: set[str] = set()
        self._reported = False
        # The largest evaluation of each loss, and a column of boosting that makes all of the gain.
        self._evaluations: dict[str, float] = {}
        self._alone: tuple[str, float, int] | None = None

    def check(self, step: StepView) -> Findings:
        sampled = [tensor for tensor in step.tensors("samples") if tensor.name in tensor.record.raw]
        if step.trains and sampled:
            self._models = {tensor.name for tensor in sampled}
        for tensor in sampled:
            yield from self._evaluate_samples(step, tensor)
        yield from self._evaluate_centred(step)
        if step.mode is Mode.EVAL:
            yield from self._evaluate_alone(step)
        if step.trains:
            self._add_gains(step)
            for label in step.tensors("labels"):
                yield from self._evaluate_target(step, label)
                yield from self._evaluate_future(step, label)
            yield from self._evaluate_features(step)
            yield from self._evaluate_tables(step)

    def _evaluate_samples(self, step: StepView, tensor: TensorView) -> Findings:
        overlap = self._overlap
        samples = tensor.value().ravel().tolist()
        if step.trains:
            overlap.train(samples)
            return
        if tensor.name not in self._models:
            return  # of a model that is not trained now, as a teacher that labels training data
        if step.mode is not Mode.EVAL or self._reported or not overlap.evaluate(samples):
            return
        self._evaluated = True
        share = overlap.num_shared / overlap.num_evaluated
        enough = overlap.num_shared >= self.min_samples and not overlap.repeats
        over = share > self.max_overlap
        if not enough or not (over or overlap.is_compared):
            return
        if over or overlap.is_part or overlap.is_all:
            self._reported = True
            yield self._shared(step, tensor, share, over=over)

    def _shared(self, step: StepView, tensor: TensorView, share: float, *, over: bool) -> Finding:
        overlap = self._overlap
        estimate = ""
        if not over:
            mean = min(1.0, sum(overlap.shares) / len(overlap.shares))
            estimate = f"; as many as {mean:.0%} were, if those not looked at are like these"
        return self.finding(
            step,
            tensor,
            f"{overlap.num_shared} samples of EVAL were seen in TRAIN, {share:.1%} of"
            f" {overlap.num_evaluated} looked at up to step {step.train_step}"
            + (f" (> {self.max_overlap:.1%})" if over else estimate),
            severity="warning" if over or overlap.is_part else "info",
            value=share,
            threshold=self.max_overlap,
            condition="overlap",
            remedy="split the data before it is shuffled, repeated or augmented; take out of"
            " training what evaluation uses",
        )

    def _evaluate_target(self, step: StepView, label: TensorView) -> Findings:
        batches = list(step.tensors("batches", worker=label.worker))
        # A model that computes its loss itself is given its targets with what they are for.
        for batch in batches if len(batches) == 1 else ():
            self._evaluated = True
            key = label.worker, label.name, batch.name
            copied = _is_copy(batch, label)
            if self.persists((*key, "copy"), copied):
                yield self._finding(step, label, batch, "target_is_input", "is the input itself")
            for column, value in self._columns(batch, label):
                if self.persists((*key, column), True):
                    yield self._finding(
                        step,
                        label,
                        batch,
                        "feature",
                        f"has a correlation of {number(value)} with column {column} of the input",
                        evidence={"column": column},
                    )

    def _evaluate_features(self, step: StepView) -> Findings:
        """Judge the column of the input that is most like the target, as the hook found it."""
        for tensor, sample in dependence_samples(step):
            label = of_same_loss(step, tensor, "label")
            batches = list(step.tensors("batches", worker=tensor.worker))
            if label is None or not batches:
                continue
            copies = len(batches) > 1 and sample.same_0 >= COPY_SHARE
            if self.persists((tensor.worker, tensor.name, "copy"), copies, MIN_COPIES):
                what = "is one of the inputs itself"
                yield self._finding(step, label, batches[-1], "target_is_input", what, MIN_COPIES)
            batch = step.tensor("batch/0", tensor.worker)
            if batch is None or not sample.column >= 0:
                continue
            key = tensor.worker, tensor.name, "column", int(sample.column)
            holds = sample.correlation > self.min_correlation
            if self.persists(key, holds, MIN_COPIES):
                yield self._finding(
                    step,
                    label,
                    batch,
                    "feature",
                    f"has a correlation of {number(sample.correlation)} with column"
                    f" {int(sample.column)} of the input",
                    MIN_COPIES,
                    evidence={"column": int(sample.column)},
                )

    def _evaluate_tables(self, step: StepView) -> Findings:
        """Report the columns of a table that boosting is trained on and that tell its labels."""
        for group in prefixed(step, "boosting", _LABEL_IN):
            names = [one.name.removeprefix(_LABEL_IN) for one in group]
            yield self.finding(
                step,
                group[0],
                f"{listed(names)}: puts the rows in the very order of their labels, which can be"
                " read from it",
                condition="feature",
                remedy=_REMEDIES["feature"],
            )
        for group in prefixed(step, "boosting", _SHARED_ROWS):
            for one in group:
                if one.scalar <= MOST_SHARED_ROWS:
                    continue
                yield self.finding(
                    step,
                    one,
                    f"{one.scalar:.0%} of the rows of {one.name.removeprefix(_SHARED_ROWS)} are"
                    " among those that are trained on, where rows differ otherwise: what is"
                    " evaluated was learned by heart",
                    value=one.scalar,
                    threshold=MOST_SHARED_ROWS,
                    condition="overlap",
                    remedy="split the table first, and draw rows with replacement, or repeat them,"
                    " in the part that is trained on only",
                )
        for group in prefixed(step, "boosting", _ENCODED):
            names = [one.name.removeprefix(_ENCODED) for one in group]
            rows = group[0].scalar
            yield self.finding(
                step,
                group[0],
                f"{listed(names)}: each value is the mean label of the rows that have it, or this"
                f" drawn towards that of all: categories of {number(rows)} rows on average are"
                " encoded by the labels of the rows that are trained on, so that each is told a"
                " part of its own",
                condition="encoded",
                value=rows,
                remedy=_REMEDIES["encoded"],
            )

    def _add_gains(self, step: StepView) -> None:
        """Remember whether one column makes nearly all of the gain of a boosted model."""
        for group in prefixed(step, "feature_importance", _GAINS):
            gains = {one.name: one.scalar for one in group}
            name = max(gains, key=gains.__getitem__)
            share = gains[name] / max(sum(gains.values()), 1e-300)
            # Columns by which no tree splits may not be listed.
            columns = step.scalar("boosting/columns", group.record.worker)
            count = len(gains) if math.isnan(columns) else int(columns)
            is_alone = count >= LEAST_COLUMNS and share >= ALONE
            self._alone = (name, share, count) if is_alone else None

    def _evaluate_alone(self, step: StepView) -> Findings:
        """Report a column that decides alone, and rightly, for what is evaluated."""
        for loss in step.tensors("losses"):
            largest = max(self._evaluations.get(loss.name, 0.0), loss.scalar)
            self._evaluations[loss.name] = largest
            if self._alone is None or not 0 <= loss.scalar <= SOLVED * largest:
                continue
            tensor, share, count = self._alone
            self._alone = None
            name = tensor.rpartition("/")[2]
            yield self.finding(
                step,
                tensor,
                f"{name} makes {number(100 * share)}% of the gain of all {count} columns, and"
                f" {loss.name} of what is evaluated came to {number(loss.scalar)}, from"
                f" {number(largest)}: the label can be read from it",
                worker=loss.worker,
                condition=f"alone {name}",
                value=share,
                threshold=ALONE,
                remedy=_REMEDIES["alone"],
            )

    def _evaluate_centred(self, step: StepView) -> Findings:
        """Report centred windows among the inputs of a forecast, in whichever step it was seen."""
        for group in prefixed(step, "evaluations", _CENTRED):
            name, ahead = group[0].name.removeprefix(_CENTRED), group[0].scalar
            self._evaluated = True
            yield self.finding(
                step,
                group[0],
                f"a column of the input is made of {name} by rolling(center=True), which takes in"
                " values that come later: at the last place of a window the mean holds its target,"
                f" {number(ahead)} ahead",
                condition="centred",
                value=ahead,
                threshold=0.0,
                worker=group.record.worker,
                remedy=_REMEDIES["centred"],
            )

    def _evaluate_future(self, step: StepView, label: TensorView) -> Findings:
        batch = step.tensor("batch/0", label.worker)
        key = label.worker, label.name
        shifted = batch is not None and _is_shifted(batch, label)
        streak = self.streak((*key, "shifted"), shifted)
        keys = [count for worker, count in _visible_keys(step) if worker == label.worker]
        if batch is None or not keys:
            return
        length = batch.info.shape[-1]
        covers_all = length > 2 and all(abs(count - length) < 0.5 for count in keys)
        times = self.streak((*key, "future"), covers_all)
        # other targets of the same distribution may seem shifted at a step, not at twenty
        if streak >= 20 and times >= self.consecutive:
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
        num_samples: int | None = None,
        evidence: dict[str, object] | None = None,
    ) -> Finding:
        return self.finding(
            step,
            label,
            f"{label.name}: the target {what} ({batch.name}),"
            f" {in_a_row(num_samples or self.consecutive, 'look')} up"
            f" to step {step.train_step}",
            condition=condition,
            remedy=_REMEDIES[condition],
            evidence=evidence or {},
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
