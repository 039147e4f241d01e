"""The rule on evaluation data in training, and on targets among the inputs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

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
from .shared import (
    begun_anew,
    dependence_samples,
    in_a_row,
    learns_by_reward,
    of_same_loss,
    prefixed,
)

#: So many samples are remembered: of the training, and of what was evaluated before.
MOST_SAMPLES = 1 << 18
#: Looks at the training by which it is known how many of its samples are known again.
KNOWN_SAMPLES = 5
#: So many looks at the training are remembered.
MOST_LOOKS = 4096
#: What is known again of the training, at least, before an evaluation is compared with it.
LEAST_KNOWN = 0.4
#: So many samples of an evaluation must be expected among the known ones, had it been trained on.
LEAST_EXPECTED = 20
#: Of what was trained on such a part is known again, at least.
ALL = 0.8
#: Where only some batches of an unshuffled training are known, these are longer runs of samples.
LONGEST_RUN = 4
#: Of samples that were trained on so many are expected to be so since the last evaluation; and if
#: it is none, in so many evaluations, these were trained on before, and are not any more.
LEAST_LATE, LEAST_FOLDS = 4.0, 2
#: So many samples of evaluations must be compared before all of them are said to be trained on.
LEAST_COMPARED = 100


@dataclass
class _Part:
    """Batches of one evaluation.

    Args:
        looked: How many samples were looked at,
        shared: how many of them are known to be trained on,
        expected: and how many would be if all were.
        late: How many of the shared ones were trained on since the last evaluation,
        expected_late: and how many would be, were all of what is known trained on again and again.
        touched: Batches of which any sample was trained on,
        between: and those of which that is true of some samples only.
    """

    looked: int = 0
    shared: int = 0
    expected: float = 0.0
    late: int = 0
    expected_late: float = 0.0
    touched: int = 0
    between: int = 0

    @property
    def is_all(self) -> bool:
        return self.shared >= ALL * self.expected

    @property
    def is_some(self) -> bool:
        scatter = 2 * math.sqrt(self.expected * max(0.0, 1 - self.expected / self.looked))
        is_less = 0 < self.shared < ALL * self.expected - scatter
        return is_less and 2 * self.between >= self.touched


class Overlap:
    """Remembers the digests of the samples that one model was trained on.

    Only some steps are sampled, so what is known again of the samples of an evaluation is a lower
    bound of those that were trained on. How much of the training itself is known again, once it
    repeats its samples, gives how low: the one over the other estimates the share. Where all of one
    evaluation was trained on and nothing of another, both are evaluated on purpose.

    Args:
        min_samples: So many samples must be shared before they are some of an evaluation.
    """

    def __init__(self, min_samples: int) -> None:
        self._min_samples = min_samples
        self._trained: set[int] = set()
        # What was trained on since the last evaluation, and whether one is on; which part of the
        # training was known again as it began.
        self._since, self._evaluates, self._coverage = set[int](), False, 0.0
        self._known: deque[tuple[int, int]] = deque(maxlen=KNOWN_SAMPLES)
        self._repeats = self._num_trained = 0
        # The last step at which each batch was looked at; after how many they come again.
        self._batches: dict[int, int] = {}
        self._period = 0
        self._looks: deque[int] = deque(maxlen=MOST_LOOKS)
        # What was evaluated and not trained on by then; how many of it were trained on later.
        self._held: set[int] = set()
        self._num_released = self._num_folds = self._num_rounds = 0
        # Those that are not judged yet, by which evaluation they are of, and whether it is scored.
        self._parts: dict[tuple[int, bool], _Part] = {}
        self._pass = 0
        #: The samples looked at of evaluations of which some samples were trained on, how many of
        #: these are known, and how many would be if all were.
        self.some = _Part()
        #: How many samples were looked at of evaluations of which all was trained on.
        self.num_compared = 0
        self._num_others = 0  # evaluations that are not

    def train(self, samples: list[int], num_steps: int, *, is_first_pass: bool = False) -> None:
        """Add the digests of the samples of a TRAIN step, of so many by then.

        Args:
            is_first_pass: Whether they are of the first pass through texts, in which none comes
                again but for others of the same words.
        """
        digests = set(samples)
        if is_first_pass:
            self._repeats += len(digests & self._trained)
        if self._evaluates:
            self._since, self._evaluates, self._pass = set(), False, 0
        self._num_trained += len(samples)
        self._repeats += len(samples) - len(digests)
        # The very batch again: without shuffling the same few may be sampled over and over.
        batch = hash(frozenset(digests))
        self._period = math.gcd(self._period, num_steps - self._batches.get(batch, num_steps))
        self._batches[batch] = num_steps
        self._looks.append(num_steps)
        self._known.append((len(digests & self._trained), len(digests)))
        self._num_released += len(digests & self._held)
        self._held -= digests
        if len(self._trained) < MOST_SAMPLES:
            self._trained |= digests
            self._since |= digests

    def _known_part(self) -> float:
        """Which part of the training is known again: of its batches where they repeat."""
        if self._period:
            return len({step % self._period for step in self._looks}) / self._period
        return sum(known for known, _ in self._known) / sum(total for _, total in self._known)

    def evaluate(
        self, samples: list[int], evaluation: float = math.nan, is_scored: bool = True
    ) -> bool:
        """Add those of an EVAL step; return whether there is training to compare them with.

        Args:
            samples: Digests.
            evaluation: Which one since the last TRAIN step begins with them; nan for none.
            is_scored: Whether they are evaluated, and not only predicted, as all data may be.
        """
        if not self._trained:
            return False
        if not self._evaluates:
            self._evaluates, self._coverage = True, self._known_part()
            self._num_rounds += self._coverage >= LEAST_KNOWN
        self._pass = self._pass if math.isnan(evaluation) else int(evaluation)
        digests = set(samples)
        shared = digests & self._trained
        if len(self._held) < MOST_SAMPLES:
            self._held |= digests - shared
        coverage = self._coverage
        if coverage >= LEAST_KNOWN:
            part = self._parts.setdefault((self._pass, is_scored), _Part())
            part.looked += len(digests)
            part.shared += len(shared)
            part.expected += len(digests) * coverage
            part.late += len(shared & self._since)
            part.expected_late += len(shared) * len(self._since) / len(self._trained)
            part.touched += bool(shared)
            is_between = 0 < len(shared) < ALL * len(digests) * coverage
            is_long = self._period > 0 and _mean_run(samples, shared) > LONGEST_RUN
            part.between += is_between and not is_long
            if part.expected >= LEAST_EXPECTED:
                self._settle(self._parts.pop((self._pass, is_scored)), is_scored)
        return True

    def _settle(self, part: _Part, is_scored: bool) -> None:
        if part.is_all:
            self.num_compared += part.looked if is_scored else 0
            self._num_folds += not part.late and part.expected_late >= LEAST_LATE
        elif part.is_some and is_scored:
            self.some.looked += part.looked
            self.some.shared += part.shared
            self.some.expected += part.expected
        else:
            self._num_others += 1

    @property
    def share(self) -> float:
        """The share of those evaluations that was trained on, as estimated; 0 for too few."""
        is_known = self.some.shared >= self._min_samples
        return min(1.0, self.some.shared / self.some.expected) if is_known else 0.0

    @property
    def is_all(self) -> bool:
        """Whether all of each evaluation was trained on."""
        # Another evaluation may follow the first one.
        is_only = self._num_rounds > 1 and not self._num_others and not self.some.looked
        return is_only and self.num_compared >= LEAST_COMPARED

    @property
    def num_released(self) -> int:
        """How many samples were evaluated, and trained on later.

        0 unless what is evaluated by then was trained on before, and is not any more.
        """
        return self._num_released if self._num_folds >= LEAST_FOLDS else 0

    @property
    def repeats(self) -> bool:
        """Whether samples repeat within a batch: such data cannot be judged."""
        return 1000 * self._repeats > self._num_trained


def _mean_run(samples: list[int], shared: set[int]) -> float:
    """Return the mean length of the runs of samples in a batch that are shared.

    Example:
        >>> _mean_run([1, 2, 3, 4, 5], {2, 3, 5})
        1.5
    """
    known = [one in shared for one in samples]
    runs = sum(now and not before for before, now in pairwise([False, *known]))
    return sum(known) / runs if runs else 0.0


_LABEL_IN = "boosting/label_in/"
_ENCODED = {
    "boosting": ("boosting/encoded/", "of the rows that are trained on"),
    "evaluations": ("evaluation/encoded/", "of all rows, those that are then held out as well"),
}
_SHARED_ROWS = (
    ("boosting", "boosting/shared_rows/", "of the rows of {}"),
    ("evaluations", "evaluation/shared_rows/", "of the rows that {} is evaluated on"),
    ("evaluations", "evaluation/held_out_rows/", "of the rows that {} holds out"),
)
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

    ``overlap``: some samples of an evaluation were seen in TRAIN, by the digests of the samples:
    more than ``max_overlap`` of them, where it is estimated how many were not looked at; or, of
    severity info, all of each evaluation, as who evaluates on the training data means to, but not
    where losses are of some of the rows, as of a graph that is given whole. Data in which samples
    repeat within a batch is not judged. It is reported once. Of boosting, rows of the evaluated
    tables are compared with those that are trained on. ``folds``: what is evaluated was trained on
    before, and not since the last evaluation, and what was evaluated before is trained on now: the
    folds of a cross-validation share one model.
    ``target_is_input``: the integer targets are the input itself, or one of several, as when the
    shift by one is missing, such as that of what a decoder is given. ``future``: a model that
    predicts the next token sees all of them, in each of its modules with attention; see also the
    rule ``dependence``. ``feature``: a column of the input is the target, or puts the samples in
    the very order of it, as a price does where its logarithm is asked for. The hook finds it at two
    looks, or as boosting begins; it is judged at each step, too, at which ``batches`` and
    ``labels`` are saved raw. ``encoded``: a column of the table that boosting is trained on, or
    that a script splits, holds for each category the mean label of few rows, each row's own
    included. ``centred``: a window of
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
        self._overlaps: dict[str, Overlap] = {}  # by model
        self._models: set[str] = set()
        self._reported: set[str] = set()  # of samples that are shared
        self._takes_part = False  # losses are of some of the rows, as of a graph's nodes
        self._by_reward = False  # states that a policy acts in are those that it learns from
        # The largest evaluation of each loss, and a column of boosting that makes all of the gain.
        self._evaluations: dict[str, float] = {}
        self._alone: tuple[str, float, int] | None = None

    def check(self, step: StepView) -> Findings:
        sampled = [tensor for tensor in step.tensors("samples") if tensor.name in tensor.record.raw]
        if step.trains and begun_anew(step):
            self._overlaps.clear()
        self._by_reward |= learns_by_reward(step)
        if step.trains and sampled:
            self._models = {tensor.name for tensor in sampled}
        for tensor in sampled:
            yield from self._evaluate_samples(step, tensor)
        yield from self._evaluate_centred(step)
        yield from self._evaluate_encodings(step)
        yield from self._evaluate_rows(step)
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
        overlap = self._overlaps.get(tensor.name)
        if overlap is None:
            overlap = self._overlaps[tensor.name] = Overlap(self.min_samples)
        samples = tensor.value().ravel().tolist()
        if step.trains:
            batch = step.tensor(tensor.name.replace("sample", "batch", 1), tensor.worker)
            is_text = batch is not None and batch.info.dtype.startswith("int")
            self._takes_part |= batch is not None and _takes_part(step, batch)
            is_first = is_text and step.scalar("loop/epoch", tensor.worker) < 1
            overlap.train(samples, step.train_step + 1, is_first_pass=is_first)
            return
        if tensor.name not in self._models or self._by_reward:
            return  # of a model that is not trained now, as a teacher that labels training data
        evaluation = step.scalar("evaluation/number", tensor.worker)
        is_over = "warning" in self._reported
        if is_over or not overlap.evaluate(samples, evaluation, step.mode is Mode.EVAL):
            return
        self._evaluated = True
        if overlap.repeats:
            return
        share, released = overlap.share, overlap.num_released
        if share > self.max_overlap:
            yield self._overlap(
                step,
                tensor,
                f"{overlap.some.shared} of {overlap.some.looked} samples of EVAL that were looked"
                f" at up to step {step.train_step} were seen in TRAIN, {share:.1%} of them as"
                f" estimated (> {self.max_overlap:.1%})",
                value=share,
            )
        elif released >= self.min_samples:
            yield self._overlap(
                step,
                tensor,
                f"the model is evaluated on samples up to step {step.train_step} that it was"
                f" trained on before, and not since the last evaluation; {released} that were"
                " evaluated are trained on by now, as where it goes on from fold to fold",
                condition="folds",
                remedy="make the model and its optimizer anew for each fold",
                value=1.0,
            )
        elif overlap.is_all and not self._reported and not self._takes_part:
            yield self._overlap(
                step,
                tensor,
                f"all samples of EVAL that were looked at, {overlap.num_compared} up to step"
                f" {step.train_step}, were seen in TRAIN",
                severity="info",
                value=1.0,
            )

    def _overlap(
        self,
        step: StepView,
        tensor: TensorView,
        message: str,
        *,
        value: float,
        severity: str = "warning",
        condition: str = "overlap",
        remedy: str = "split the data before it is shuffled, repeated or augmented; take out of"
        " training what evaluation uses",
    ) -> Finding:
        self._reported.add(severity)
        return self.finding(
            step,
            tensor,
            message,
            severity=severity,
            value=value,
            threshold=self.max_overlap,
            condition=condition,
            remedy=remedy,
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

    def _evaluate_encodings(self, step: StepView) -> Findings:
        """Report the columns of tables that are mean labels of their categories."""
        for collection, (prefix, which) in _ENCODED.items():
            for group in prefixed(step, collection, prefix):
                names = [one.name.removeprefix(prefix) for one in group]
                rows = group[0].scalar
                yield self.finding(
                    step,
                    group[0],
                    f"{listed(names)}: each value is the mean label of the rows that have it, or"
                    f" this drawn towards that of all: categories of {number(rows)} rows on average"
                    f" are encoded by the labels {which}, so that each is told a part of its own",
                    condition="encoded",
                    value=rows,
                    remedy=_REMEDIES["encoded"],
                )

    def _evaluate_rows(self, step: StepView) -> Findings:
        """Report tables of which some rows are evaluated and trained on."""
        for collection, prefix, rows in _SHARED_ROWS:
            for one in (each for group in prefixed(step, collection, prefix) for each in group):
                if one.scalar > MOST_SHARED_ROWS:
                    yield self.finding(
                        step,
                        one,
                        f"{one.scalar:.0%} {rows.format(one.name.removeprefix(prefix))} are"
                        " among those that are trained on, where rows differ otherwise: what is"
                        " evaluated was learned by heart",
                        value=one.scalar,
                        threshold=MOST_SHARED_ROWS,
                        condition="overlap",
                        remedy="split the table first, and draw rows with replacement, or repeat"
                        " them, in the part that is trained on only",
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


def _takes_part(step: StepView, batch: TensorView) -> bool:
    """Return whether a loss has fewer targets than the batch has rows."""
    rows = batch.info.shape[:1]
    labels = step.tensors("labels", worker=batch.worker)
    return any(rows > label.info.shape[:1] > () for label in labels)
