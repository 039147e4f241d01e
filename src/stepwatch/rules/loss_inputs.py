"""The rule on a loss that is given numbers of another kind, or of another shape."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NotApplicable, Rule, few_steps
from ..judge.step_view import StepNumber, StepView, TensorView
from ..model.finding import Finding
from ..model.record import is_integer
from ..numerics.measures import by_x, number
from ..numerics.statistics import COUNT, MAX, MIN, SUM, SUM_SQ, ZEROS
from .logit_range import LogitRange
from .shared import BINARY, CROSS_ENTROPIES, ELEMENTWISE, dependence_samples, in_a_row, of_same_loss

_LOGITS = "binary_cross_entropy_with_logits"
#: What Keras calls so, from_logits=False: it takes probabilities of classes, and no logits.
OF_PROBABILITIES = "cross_entropy_of_probabilities"
_OF_LOGARITHMS = ("nll_loss", "kl_div")
#: What Keras calls the divergence of two distributions: it takes probabilities.
_OF_DISTRIBUTIONS = "kl_divergence"
#: Losses that take labels of -1 and 1, and what becomes of one that is 0.
_OF_SIGNS = {
    "soft_margin_loss": "those of 0 have no effect",
    "margin_ranking_loss": "those of 0 have no effect",
    "cosine_embedding_loss": "pairs of 0 add no loss, so nothing is pushed apart",
    "hinge_embedding_loss": "those of 0 cost the margin, and are not pushed apart up to it",
}
#: Labels of a column that are whole numbers may be those of so many classes.
_CLASSES = 1000
#: What Keras calls its loss of counts, which takes the logarithm of what is expected; and that of
#: PyTorch, which takes what is such a logarithm.
_OF_EXPECTED, _OF_LOG_EXPECTED = "poisson", "poisson_nll_loss"
_KNOWN = (
    *(*CROSS_ENTROPIES, OF_PROBABILITIES, *ELEMENTWISE),
    *(*_OF_LOGARITHMS, _OF_EXPECTED, _OF_LOG_EXPECTED, _OF_DISTRIBUTIONS, *_OF_SIGNS),
)

#: Of logits on both sides of 0 this share is exactly 0 where some are dropped.
DROPPED = 0.2
#: Labels of a sample, on average, that are several.
SEVERAL = 1.3
#: Looks at one-hot targets of which some are all zeros, and labels of the others in all.
MIN_LOOKS, MIN_LABELS = 5, 100
#: Looks at the graph of a loss that is written out.
MIN_SAMPLES = 2
_LAST_OPERATION, _TEMPERATURE = "setup/last_operation/", "setup/temperature/"
#: Operations whose results are probabilities, and those whose results are never below 0.
_PROBABILITIES = ("sigmoid", "softmax")
_ABOVE_ZERO = ("softplus", "relu", "exp")
_NEVER_BELOW_ZERO = (*_PROBABILITIES, *_ABOVE_ZERO)
#: At so many steps in a row there is a derivative of a derivative that has no graph.
_WITHOUT_GRAPH = "setup/without_graph"
#: The sentence and the remedy of each condition.
CAUSES = {
    "probabilities": (
        "are probabilities, but the loss takes logits",
        "take the softmax or sigmoid before the loss away; the loss computes it",
    ),
    "not_probabilities": (
        "are no probabilities of classes, but the loss takes these",
        "apply softmax in the last layer (for two classes of one unit, sigmoid), or let the loss"
        " take logits, from_logits=True",
    ),
    "clipped": (
        "are not within 0 to 1, but the loss takes probabilities and cuts off what lies beyond,"
        " where it has no gradient",
        "apply softmax in the last layer; what returns logarithms, as log_softmax, is given as its"
        " exponential",
    ),
    "one_class": (
        "are of one class, of which the probability is always 1: the loss is the same whatever the"
        " prediction is",
        "give the last layer one unit for each class, or compute a binary cross-entropy after a"
        " sigmoid",
    ),
    "repeated_target": (
        "are more than the targets, each of which is repeated for several of them",
        "let the model predict one value for each target: of a sequence the last, or the mean, as"
        " by return_sequences=False or pooling; or give a target for each position",
    ),
    "softmax_of_one": (
        "are 1 whatever the input is, as after a softmax over one unit",
        "take a sigmoid for one unit, or one unit for each class",
    ),
    "wrong_axis": (
        "are probabilities over the batch, not over the classes",
        "take the softmax away; the loss computes it, over the classes",
    ),
    "not_log_probabilities": (
        "are above 0, but the loss takes log-probabilities",
        "apply log_softmax first, or use cross_entropy",
    ),
    "rates": (
        "end in a {last}, which is never below 0, as expected counts are, but the loss takes their"
        " logarithm (log_input=True): none below 1 can be expected",
        "pass log_input=False; or take the activation after the last layer away, and the"
        " exponential of what the model returns for the expected count",
    ),
    "below_zero": (
        "are below 0, but the loss takes their logarithm: it is NaN for these",
        "end with an activation that is above 0, such as exponential or softplus",
    ),
    "relu": (
        "are never negative and often exactly 0, as after a ReLU",
        "take the activation after the last layer away",
    ),
    "never_negative": (
        "end in a {last}, which is never below 0, but the loss takes logits: no probability comes"
        " below 0.5, so none is said to be of class 0",
        "take the activation after the last layer away; see that a helper that adds one to each"
        " layer does not make the last one",
    ),
    "dropped": (
        "are often exactly 0, as after dropout",
        "take the dropout after the last layer away",
    ),
    "broadcast": (
        "are broadcast against their targets, so every prediction is compared with every target",
        "give both the same shape, with squeeze or unsqueeze",
    ),
    "several_labels": (
        "share one probability between the classes, but most samples have several labels",
        "take a sigmoid for each class and a binary cross-entropy, in place of softmax",
    ),
    "labels_from_one": (
        "have no class for the largest label: labels begin at 1",
        "number the classes from 0, or give the last layer one unit more",
    ),
    "codes_from_one": (
        "are compared with one-hot targets of which some are all zeros, and the first class is"
        " never set: labels begin at 1, and the largest has no class, so that its samples have no"
        " loss and are never learned",
        "number the classes from 0, as by one_hot(labels - 1, num_classes): one_hot() gives zeros"
        " for what lies beyond its classes, and no error",
    ),
    "two_classes": (
        "are numbers, but the targets are whole numbers, 0 and 1, as of two classes: that is a"
        " regression of the number of the class",
        "give the last layer one unit for each class and a cross-entropy (num_labels=2 in"
        " Transformers), or one unit and a binary cross-entropy of logits; targets that are meant"
        " as numbers are floats",
    ),
    "swapped": (
        "are numbers, as their loss has it, and their targets only 0 and 1, while a loss of two"
        " classes beside it has targets in between: the targets of two outputs were swapped",
        "give the targets in the order of the outputs, or by their names:"
        " y={'age': ages, 'sex': sexes}",
    ),
    "out_of_reach": (
        "end where their activation ends, and targets lie beyond",
        "take the activation after the last layer away, or scale the targets",
    ),
}


@dataclass(frozen=True, slots=True)
class _Given:
    """What a loss was given at one step: what is known of predictions and labels."""

    prediction: TensorView
    label: TensorView | None

    @property
    def function(self) -> str:
        """The loss function."""
        return self.prediction.info.function

    def field(self, index: int) -> float:
        """Return a field of the statistics of the predictions."""
        return float(self.prediction.record.statistics[self.prediction.row, index])

    def label_field(self, index: int) -> float:
        """Return one of those of the labels; nan where there are none."""
        label = self.label
        return math.nan if label is None else float(label.record.statistics[label.row, index])


#: Labels of 0 and one number below this were scaled.
SMALL = 0.05
#: Of numbers from 0 to 1 the squares add up to less than this part of their sum.
_BETWEEN = 0.9
# Where a sigmoid, a tanh and a ReLU end.
_ENDS = ((0.0, 1.0), (-1.0, 1.0), (0.0, math.inf))
#: Looks at which predictions press against such an end, and the least number of looks in all.
_PRESSING, _LOOKS = 10, 20
#: Or looks at which they are there but for so little, as what saturates is, and no sum of products.
_SATURATED, _AT_THE_END = 5, 1e-3


class _Reach:
    """Whether predictions never leave an interval that targets do."""

    def __init__(self, began: StepNumber) -> None:
        #: The first look.
        self.began = began
        self._looks = 0
        self._pressing = dict.fromkeys(_ENDS, 0)
        self._saturated = dict.fromkeys(_ENDS, 0)

    def add(self, given: _Given) -> bool:
        """Add a look; return whether they press against an end of it, with targets beyond."""
        least, largest = given.field(MIN), given.field(MAX)
        below, above = given.label_field(MIN), given.label_field(MAX)
        self._looks += 1
        self._pressing = {
            (low, high): times + _is_pressing(given, low, high)
            for (low, high), times in self._pressing.items()
            if low <= least and largest <= high
        }
        # As no untrained layer gives without an activation.
        is_apart = least > 0 and largest <= 1 and below > 1.5 and above > 1.5
        for low, high in self._pressing if least < largest else ():  # a constant may be any
            is_there = math.isfinite(high) and _is_pressing(given, low, high, near=_AT_THE_END)
            self._saturated[low, high] += is_there
        if max((self._saturated[one] for one in self._pressing), default=0) >= _SATURATED:
            return True
        most = max(self._pressing.values(), default=0) + is_apart
        return self._looks >= _LOOKS and most >= (1 if is_apart else _PRESSING)


def _is_pressing(given: _Given, low: float, high: float, near: float = 0.05) -> bool:
    """Return whether predictions come near an end and targets lie well beyond the same one."""
    least, largest = given.field(MIN), given.field(MAX)
    below, above = given.label_field(MIN), given.label_field(MAX)
    if math.isinf(high):
        return below < -0.3 * abs(above) and given.field(ZEROS) >= 0.05 * given.field(COUNT)
    return (above > high + 0.5 and largest > high - near) or (
        below < low - 0.5 and least < low + near
    )


@dataclass(slots=True)
class _Labels:
    """The labels of a loss so far, by their statistics."""

    least: float = math.inf
    largest: float = -math.inf
    #: Whether the least, the largest and the sum of all batches were whole numbers.
    are_whole: bool = True
    #: Number, sum and sum of squares of all of them.
    moments: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def are_two(self) -> bool:
        """Whether none lies between the least and the largest."""
        return _none_between(self.least, self.largest, self.moments, are_whole=self.are_whole)

    def add(self, given: _Given) -> None:
        """Add those of a step."""
        least, largest, total = (given.label_field(index) for index in (MIN, MAX, SUM))
        self.least, self.largest = min(self.least, least), max(self.largest, largest)
        self.are_whole &= all(one.is_integer() for one in (least, largest, total))
        count, squares = given.label_field(COUNT), given.label_field(SUM_SQ)
        before = self.moments
        self.moments = before[0] + count, before[1] + total, before[2] + squares


def _none_between(
    least: float, largest: float, moments: tuple[float, float, float], *, are_whole: bool = False
) -> bool:
    """Return whether labels are the least and the largest only.

    Args:
        moments: Their number, sum and sum of squares.
        are_whole: They are whole numbers, of which nothing is rounded.
    """
    count, total, squares = moments
    # The sum of (largest - label) * (label - least): each of these is at least 0.
    between = (least + largest) * total - squares - least * largest * count
    return abs(between) <= (0.5 if are_whole else 1e-3 * (largest - least) ** 2 * count)


class _Codes:
    """Targets of rows with a 1 for the class, or with none: how often each class was set."""

    def __init__(self, began: StepNumber) -> None:
        #: The first look.
        self.began = began
        self._counts = np.zeros(0, np.int64)
        self._looks = 0

    def add(self, given: _Given, counts: npt.NDArray[np.int64]) -> bool:
        """Add a look; return whether labels seem to begin at 1, so that the largest has no class.

        Args:
            given: By the loss, samples along the first axis and classes along the second.
            counts: How many rows have a 1 for one class alone, by the class.
        """
        if self._counts.shape != counts.shape:
            self._counts, self._looks = np.zeros_like(counts), 0
        self._counts = self._counts + counts
        rows, _ = _table(given)
        ones = given.label_field(COUNT) - given.label_field(ZEROS)
        self._looks += ones == given.label_field(SUM) == counts.sum() < rows
        is_shifted = self._counts[0] == 0 and bool((self._counts[1:] > 0).all())
        return self._looks >= MIN_LOOKS and is_shifted and self._counts.sum() >= MIN_LABELS


class LossInput(Rule):
    """What a loss is given that it does not mean, though it computes something.

    Each of these is checked by the least and largest value, the sum and the shape alone:
    probabilities where logits are taken, whose softmax is flat (rows that add up to 1; or, of one
    probability each, values that come near 0 and 1 and never leave the interval), and the other way
    round, also of rates where the loss takes their logarithms; a cross-entropy of one class;
    probabilities over the wrong axis; what is above 0 where log-probabilities are taken, or below 0
    where a logarithm is; logits after a ReLU or the like; logits of which many are dropped; shapes
    ``(n, 1)`` against ``(n,)``, also where the script writes the loss out; targets of which each is
    compared with several predictions; labels that are not those of the loss; a softmax where
    samples have several labels; one-hot targets without a class for the largest label; and outputs
    of a sigmoid, tanh or ReLU that press against their end while the targets lie beyond it; whole
    numbers of two classes as targets of a regression; logits of many classes that fill a range so
    small that the loss stays near that of a guess (``bounded``). By graphs: a second derivative of
    a model by its inputs that was computed without a graph of its own, step after step.
    """

    name = "loss_input"
    needs = ("predictions", "dependence", "setup", "classes")
    training_only = True
    per_model = True
    sign = "loss_input"
    view = EvidenceView("losses", "mean")

    consecutive: int = parameter(5, "Steps in a row.", at_least=1)
    patience: int = parameter(
        50, "Steps in a row for what single batches may look like by chance.", at_least=1
    )

    def begin(self) -> None:
        self._reaches: dict[tuple[str, str], _Reach] = {}
        self._extremes: dict[tuple[str, str], tuple[float, float]] = {}
        self._labels: dict[tuple[str, str], _Labels] = {}
        self._last_operations: dict[tuple[str, str], str] = {}
        self._codes: dict[tuple[str, str], _Codes] = {}
        self._num_samples = 0
        self._ranges: dict[tuple[str, str], LogitRange] = {}
        # Workers of whose logits the graph of the loss says that they are cosines.
        self._of_cosines: set[str] = set()

    def check(self, step: StepView) -> Findings:
        all_given = [
            _Given(tensor, of_same_loss(step, tensor, "label"))
            for tensor in step.tensors("predictions")
        ]
        self._steps += any(given.function in _KNOWN for given in all_given)
        self._note_last_operations(step)
        shares = [one for one in all_given if one.function in BINARY and _are_shares(one.label)]
        for given in all_given:
            tensor = given.prediction
            if not given.field(COUNT) or math.isnan(given.field(MIN)):
                continue
            has_shares = any(one.prediction.worker == tensor.worker for one in shares)
            for condition, holds, least in self._conditions(step, given, has_shares=has_shares):
                key = tensor.worker, tensor.name, condition
                if self.persists(key, holds, least):
                    yield self._finding(step, given, condition, least)
        yield from self._evaluate_ranges(step, all_given)
        yield from self._evaluate_written(step)
        yield from self._evaluate_derivatives(step)

    def unevaluated(self) -> str | None:
        if self._num_samples >= MIN_SAMPLES or self._steps >= self.consecutive:
            return None
        if not self._steps:
            return NotApplicable("no loss was computed whose input it knows")
        return few_steps(self._steps, self.consecutive)

    def _note_last_operations(self, step: StepView) -> None:
        """Note by which operations predictions have a range of their own."""
        for tensor in step.tensors("setup"):
            if tensor.name.startswith(_TEMPERATURE):
                self._of_cosines.add(tensor.worker)
            if tensor.name.startswith(_LAST_OPERATION):
                loss, _, last = tensor.name.removeprefix(_LAST_OPERATION).rpartition("/")
                self._last_operations[tensor.worker, f"prediction/{loss}"] = last

    def _evaluate_ranges(self, step: StepView, all_given: Iterable[_Given]) -> Findings:
        """Judge logits that stop growing, by the least loss that they allow."""
        for given in all_given:
            tensor = given.prediction
            is_known = given.function == "cross_entropy"
            if tensor.worker in self._of_cosines or not (is_known or _is_in_batch(given)):
                continue
            loss = of_same_loss(step, tensor, "loss")
            if loss is None or _are_shared_out(given):
                continue
            key = tensor.worker, tensor.name
            found = self._ranges.setdefault(key, LogitRange(step.at, is_known=is_known))
            least, largest = given.field(MIN), given.field(MAX)
            classes = int(_table(given)[1])
            is_full = found.add(step.mode_step, least, largest, classes, loss.scalar)
            if self.persists((tensor.worker, tensor.name, "bounded"), is_full, 1):
                yield self._bounded(step, tensor, found)

    def _bounded(self, step: StepView, tensor: TensorView, found: LogitRange) -> Finding:
        guess, least = math.log(found.num_classes), found.least_loss
        return self.finding(
            step,
            tensor,
            f"the logits of {tensor.name.partition('/')[2]} lie between {number(found.least)} and"
            f" {number(found.largest)}, and have stopped growing within"
            f" {step.train_step - found.began.train_step} steps, up to step {step.train_step}: the"
            f" cross-entropy over {found.num_classes} classes cannot fall below {number(least)},"
            f" and a guess has ln({found.num_classes}) = {number(guess)}",
            value=least,
            threshold=guess / 2,
            condition=f"bounded {tensor.name}",
            onset=found.began,
            remedy="let logits be as large as it takes: divide cosine similarities by a temperature"
            " such as 0.07, and do not multiply by it; take a tanh, a sigmoid or a normalization"
            " after the last layer away",
            evidence={"cause": "bounded", "function": tensor.info.function},
        )

    def _evaluate_written(self, step: StepView) -> Findings:
        """Judge losses that the script writes out, by what their graphs compare."""
        for tensor, sample in dependence_samples(step):
            self._num_samples += sample.compared >= 1
            key = tensor.worker, tensor.name, "compared"
            if self.persists(key, sample.compared > 1, MIN_SAMPLES):
                yield self.finding(
                    step,
                    tensor,
                    f"a loss that is written out puts each prediction together with those of all"
                    f" {sample.compared:.0f} samples, up to step {step.train_step}: values of shape"
                    " (n, 1) and (n,), as predictions and targets, or log-probabilities and"
                    " advantages, are broadcast against each other to shape (n, n)",
                    value=sample.compared,
                    threshold=1.0,
                    condition="broadcast",
                    remedy=CAUSES["broadcast"][1],
                    evidence={"cause": "broadcast"},
                )

    def _evaluate_derivatives(self, step: StepView) -> Findings:
        """Judge derivatives of derivatives that were computed without a graph of their own."""
        for worker in step.workers:
            tensor = step.tensor(_WITHOUT_GRAPH, worker)
            if tensor is not None and tensor.scalar >= self.consecutive:
                yield self.finding(
                    step,
                    tensor,
                    "the second derivative is computed without create_graph=True,"
                    f" {in_a_row(int(tensor.scalar), 'step')} up to step {step.train_step}: the"
                    " loss cannot be differentiated through it, so that the residual of a"
                    " differential equation teaches the model nothing by it",
                    value=tensor.scalar,
                    threshold=float(self.consecutive),
                    condition="without_graph",
                    remedy="pass create_graph=True to each torch.autograd.grad of which the result"
                    " enters the loss, the last one too; if it is only to be looked at, compute it"
                    " now and then",
                    evidence={"cause": "without_graph"},
                )

    def _conditions(
        self, step: StepView, given: _Given, *, has_shares: bool
    ) -> Iterator[tuple[str, bool, int]]:
        """Yield each condition that can be met, whether it is, and for how many steps it must.

        Args:
            has_shares: Whether another loss, of two classes, has targets that are none.
        """
        least, largest = given.field(MIN), given.field(MAX)
        within = least >= 0 and largest <= 1
        last = self._last_operations.get((given.prediction.worker, given.prediction.name), "")
        if given.function == "cross_entropy":
            rows, classes = _table(given)
            adds_up = within and classes > 1
            yield "probabilities", adds_up and _near(given.field(SUM), rows), self.consecutive
            wrong = adds_up and rows != classes and _near(given.field(SUM), classes)
            yield "wrong_axis", wrong, self.consecutive
            zeros = given.field(ZEROS) / given.field(COUNT)
            yield "relu", least == 0 and largest > 1 and zeros >= 0.05, self.patience
            yield "dropped", least < 0 < largest and zeros >= DROPPED, self.patience
            yield "one_class", _has_one_class(given), self.consecutive
        elif given.function == OF_PROBABILITIES:
            rows, classes = _table(given)
            adds_up = within and _near(given.field(SUM), rows)
            yield "not_probabilities", classes > 1 and not adds_up, self.consecutive
            yield "one_class", _has_one_class(given), self.consecutive
        elif given.function == "binary_cross_entropy":
            # torch raises here, Keras cuts off what is beyond 0 and 1
            yield "not_probabilities", not within, self.consecutive
            yield "softmax_of_one", least == largest == 1 and _is_column(given), self.consecutive
        elif given.function in _OF_LOGARITHMS:
            yield "not_log_probabilities", largest > 1e-3, self.consecutive
        elif given.function == _OF_DISTRIBUTIONS:
            yield "clipped", least < -1e-3 or largest > 1 + 1e-3, self.consecutive
        elif given.function == _OF_EXPECTED:
            yield "below_zero", least < 0, 1
        elif given.function == _OF_LOG_EXPECTED:
            # Large counts may be left above 1, but are not by an exponential of an exponential.
            is_low = last in _NEVER_BELOW_ZERO and (last == "exp" or given.label_field(MIN) < 1)
            yield "rates", is_low and least >= 0, self.consecutive
        elif given.function == _LOGITS:
            fills = self._fills_unit(given, within=within)
            is_known = within and last in _PROBABILITIES
            least_steps = self.consecutive if is_known else self.patience
            yield "probabilities", is_known or fills, least_steps
            never = last in _ABOVE_ZERO and least >= 0 and given.label_field(MIN) < 0.5
            yield "never_negative", never, self.consecutive
        if given.function in ELEMENTWISE and given.label is not None:
            yield "broadcast", _spreads(given), self.consecutive
            yield "repeated_target", _repeats(given), self.consecutive
            yield "swapped", _are_flags(given.label) and has_shares, self.consecutive
            yield "two_classes", not within and _are_two_classes(given.label), self.consecutive
        if given.function in ELEMENTWISE or _is_compared_by_script(given):
            key = given.prediction.worker, given.prediction.name
            reach = self._reaches.setdefault(key, _Reach(step.at))
            yield "out_of_reach", reach.add(given), 1
        if given.function in (*BINARY, *_OF_SIGNS):
            key = given.prediction.worker, given.prediction.name
            self._labels.setdefault(key, _Labels()).add(given)
            yield "labels", _wrong_labels(given), self.consecutive
        yield "labels_from_one", _begin_at_one(given), self.consecutive
        yield "codes_from_one", self._has_shifted_codes(step, given), 1
        yield "several_labels", _have_several_labels(given), self.consecutive

    def _has_shifted_codes(self, step: StepView, given: _Given) -> bool:
        """Return whether one-hot targets, one for each sample, are of labels that begin at 1.

        Where rows are positions of samples, those of padding are often zeros on purpose.
        """
        tensor, shape = given.prediction, given.prediction.info.shape
        if given.function not in ("cross_entropy", OF_PROBABILITIES) or len(shape) != 2:
            return False
        if given.label is None or given.label.info.shape != shape:
            return False
        found = of_same_loss(step, tensor, "class_count")
        batches = (one.info.shape for one in step.tensors("batches") if one.worker == tensor.worker)
        if found is None or shape[:1] not in {one[:1] for one in batches}:
            return False
        try:
            counts = found.value().astype(np.int64)
        except TensorUnavailable:
            return False
        codes = self._codes.setdefault((tensor.worker, tensor.name), _Codes(step.at))
        return codes.add(given, counts)

    def _fills_unit(self, given: _Given, *, within: bool) -> bool:
        """Return whether single values came near 0 and 1 in this streak, and never left."""
        key = given.prediction.worker, given.prediction.name
        if not within:
            self._extremes.pop(key, None)
            return False
        least, largest = self._extremes.get(key, (1.0, 0.0))
        least, largest = min(least, given.field(MIN)), max(largest, given.field(MAX))
        self._extremes[key] = least, largest
        return least < 0.1 and largest > 0.9

    def _finding(self, step: StepView, given: _Given, condition: str, least: int) -> Finding:
        tensor = given.prediction
        if condition == "labels":
            what, remedy = _what_labels_are(given, self._labels[tensor.worker, tensor.name])
        else:
            what, remedy = CAUSES[condition]
        what = what.format(last=self._last_operations.get((tensor.worker, tensor.name)))
        when = f"{in_a_row(least, 'step')} up to" if least > 1 else "at"
        begins: dict[str, Mapping[tuple[str, str], _Reach | _Codes]]
        begins = {"out_of_reach": self._reaches, "codes_from_one": self._codes}
        began = begins.get(condition, {}).get((tensor.worker, tensor.name))
        return self.finding(
            step,
            tensor,
            f"predictions {what}, {when} step {step.train_step}:"
            f" {tensor.name.partition('/')[2]} is given values {_range(tensor)}"
            + (f" and targets {_range(given.label)}" if given.label is not None else ""),
            value=given.field(MAX),
            condition=f"{condition} {tensor.name}",
            onset=began.began if began is not None else None,
            remedy=remedy,
            evidence={
                "cause": condition,
                "function": given.function,
                "label_min": given.label_field(MIN),
                "label_max": given.label_field(MAX),
            },
        )


def _is_in_batch(given: _Given) -> bool:
    """Return whether predictions are of each sample with each, as in a contrastive loss.

    Vectors of length 1, as many as they have elements, are none.
    """
    shape = given.prediction.info.shape
    is_square = len(shape) == 2 and shape[0] == shape[1]
    is_other = given.label is None or given.label.info.shape != shape
    is_unit = is_square and _near(given.field(SUM_SQ), shape[0])
    return given.function not in _KNOWN and is_square and is_other and not is_unit


def _are_shared_out(given: _Given) -> bool:
    """Return whether targets are shares of classes of which none has half, as in distillation."""
    is_dense = given.label is not None and given.label.info.shape == given.prediction.info.shape
    return is_dense and given.label_field(MAX) < 0.5


def _are_flags(label: TensorView) -> bool:
    """Return whether all targets are 0 or 1, some each."""
    found = label.statistics
    return found.min == 0 and found.max == 1 and found.sum == found.sum_sq


def _are_shares(label: TensorView | None) -> bool:
    """Return whether targets lie from 0 to 1, and many well between."""
    if label is None:
        return False
    found = label.statistics
    within = found.min >= 0 and found.max <= 1 and found.min < found.max
    return within and found.sum_sq < _BETWEEN * found.sum


def _is_compared_by_script(given: _Given) -> bool:
    """Return whether a loss of the script compares one prediction of each sample with a target."""
    is_known = given.function in _KNOWN or given.label is None
    return not is_known and _is_column(given) and given.field(COUNT) == given.label_field(COUNT)


def _range(tensor: TensorView) -> str:
    """Return from where to where a tensor goes, and its shape."""
    found = tensor.statistics
    return f"from {number(found.min)} to {number(found.max)} (shape {by_x(tensor.info.shape)})"


def _table(given: _Given) -> tuple[float, float]:
    """Return how many rows there are, and how many classes."""
    shape = given.prediction.info.shape
    classes = shape[min(1, len(shape) - 1)] if shape else 1
    return given.field(COUNT) / max(classes, 1), float(classes)


def _is_column(given: _Given) -> bool:
    """Return whether there is one prediction for each of several samples."""
    shape = given.prediction.info.shape
    return len(shape) > 1 and shape[-1] == 1 and shape[0] > 1


def _near(value: float, expected: float) -> bool:
    return abs(value - expected) <= 1e-2 * expected  # bfloat16 has 8 bits


def _spreads(given: _Given) -> bool:
    """Return whether broadcasting makes more pairs than there are predictions or targets."""
    shapes = given.prediction.info.shape, given.label.info.shape if given.label else ()
    try:
        pairs = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        return False  # parts of different batches
    return pairs > max(math.prod(shape) for shape in shapes)


def _has_one_class(given: _Given) -> bool:
    """Return whether a cross-entropy is of a single class."""
    shape = given.prediction.info.shape
    return len(shape) > 1 and shape[1] == 1


def _repeats(given: _Given) -> bool:
    """Return whether each of several targets that differ is compared with several predictions."""
    label = given.label
    shape = given.prediction.info.shape
    if label is None or len(shape) < 2 or shape[:1] != label.info.shape[:1]:
        return False
    differ = given.label_field(MAX) > given.label_field(MIN)
    fewer = 1 < math.prod(label.info.shape) < math.prod(shape)
    return differ and fewer and not _spreads(given)


def _are_two_classes(label: TensorView) -> bool:
    """Return whether a batch of labels are whole numbers by their dtype, 0 and 1."""
    of = label.statistics
    return is_integer(label.info.dtype) and of.min == 0 and of.max == 1


def _begin_at_one(given: _Given) -> bool:
    """Return whether labels are numbers of classes from 1 on, where the last has no prediction.

    PyTorch raises then; of one-hot codes, as JAX makes them, that of such a label is all zeros.
    """
    if given.function not in (*CROSS_ENTROPIES, OF_PROBABILITIES) or given.label is None:
        return False
    shape, label = given.prediction.info.shape, given.label.info.shape
    classes = shape[1] if len(shape) > 1 else 0
    is_number = len(label) < len(shape) or label[-1:] == (1,)
    is_last = given.label_field(MIN) >= 1 and given.label_field(MAX) == classes
    return classes > 1 and is_number and is_last


def _have_several_labels(given: _Given) -> bool:
    """Return whether a softmax is compared with ones for each of several labels of a sample."""
    shape = given.prediction.info.shape
    if given.label is None or len(shape) != 2 or given.label.info.shape != shape:
        return False
    rows, classes = _table(given)
    if given.function == "binary_cross_entropy" and not _near(given.field(SUM), rows):
        return False  # no softmax
    known = given.function in ("cross_entropy", "binary_cross_entropy", OF_PROBABILITIES)
    are_codes = given.label_field(MIN) == 0 and given.label_field(MAX) == 1
    labels = given.label_field(SUM)
    # Codes only: of soft labels and weights nobody knows what they add up to.
    are_whole = labels == given.label_field(COUNT) - given.label_field(ZEROS)
    return known and classes > 2 and are_codes and are_whole and labels >= SEVERAL * rows


def _wrong_labels(given: _Given) -> bool:
    """Return whether labels cannot be those of a loss with two classes.

    Soft labels and those that are a little above 1 on purpose are accepted, but not 0 and one small
    number, as masks that were divided by 255 twice.
    """
    least, largest = given.label_field(MIN), given.label_field(MAX)
    if given.function in BINARY:
        moments = given.label_field(COUNT), given.label_field(SUM), given.label_field(SUM_SQ)
        is_small = least == 0 and 0 < largest < SMALL and _none_between(least, largest, moments)
        return least < -0.5 or largest > 1.5 or is_small
    ones = given.label_field(COUNT) - given.label_field(ZEROS)
    are_codes = least == 0 and largest == 1 and given.label_field(SUM) == ones
    return given.function in _OF_SIGNS and are_codes


def _as_codes(least: float, largest: float) -> str:
    """Return how labels of two values become 0 and 1.

    Example:
        >>> [_as_codes(*two) for two in ((0.0, 255.0), (1.0, 2.0), (-1.0, 1.0))]
        ['labels / 255', 'labels - 1', '(labels + 1) / 2']
    """
    moved = f"labels {'-' if least > 0 else '+'} {number(abs(least))}" if least else "labels"
    apart = largest - least
    if apart == 1:
        return moved
    return f"{f'({moved})' if least else moved} / {number(apart)}"


def _what_labels_are(given: _Given, labels: _Labels) -> tuple[str, str]:
    """Return the sentence and the remedy for labels that are not those of the loss."""
    what = "logits" if given.function == _LOGITS else "probabilities"
    each = f"are {what}, one a sample, of the second of two classes"
    range_ = f"from {number(labels.least)} to {number(labels.largest)}"
    is_one = _is_column(given) or len(given.prediction.info.shape) == 1
    if given.function in _OF_SIGNS:
        return (
            "are pushed by labels of -1 and 1, but the labels are 0 and 1:"
            f" {_OF_SIGNS[given.function]}",
            "give labels of -1 and 1: 2 * labels - 1",
        )
    if labels.are_two:
        return (
            f"are {what} of labels of 0 and 1, but the labels are {number(labels.least)} and"
            f" {number(labels.largest)}",
            f"turn the labels into 0 and 1: {_as_codes(labels.least, labels.largest)}",
        )
    classes = int(labels.largest - labels.least) + 1 if labels.are_whole else 0
    if is_one and labels.least >= 0 and 2 < classes <= _CLASSES:
        return (
            f"{each}, but the labels are whole numbers {range_}, as of {classes} classes",
            f"give the last layer one unit for each class, {classes}, with a softmax and a loss of"
            " classes (sparse_categorical_crossentropy, or CrossEntropyLoss, which takes logits);"
            " of two classes labels are 0 and 1",
        )
    return (
        f"are {what} of labels from 0 to 1, but the labels go {range_}",
        "scale the labels to 0 to 1 (divide images by 255); numbers that are to be predicted as"
        " they are take a last layer without an activation and a loss of squares, such as mse",
    )
