"""What several rules need of a step, of tensors and of losses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError, TensorUnavailable
from ..judge.declaration import parameter
from ..judge.rule import Rule, Selection
from ..judge.step_view import StepView, TensorGroup, TensorView
from ..model.record import Layout, StepRecord, TensorInfo
from ..numerics.measures import FEW_ROWS, Floats, scalar_value
from ..numerics.statistics import COUNT, NAN, NEGINF, POSINF, SUM

Array = npt.NDArray[np.generic]


#: Losses that are made of others, or of what nobody else saw.
COMPOSED = ("loss/backward", "loss/Trainer")


def is_scalar(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    """Return whether a tensor has one element."""
    return math.prod(tensor.shape) == 1


# Metrics of XGBoost that rise as training goes well.
_RISING = re.compile(r"-(auc|aucpr|map|ndcg|pre)(@[\d-]+)?$")


def is_loss(layout: Layout, tensor: TensorInfo) -> bool:
    """Return whether a tensor has one element and, if it counts as a loss, ought to fall."""
    rises = tensor.collection == "losses" and _RISING.search(tensor.name)
    return not rises and is_scalar(layout, tensor)


def is_trainable(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    """Return whether a parameter is not frozen."""
    return tensor.trainable is not False


def is_trained(layout: Layout, tensor: TensorInfo) -> bool:
    """Return whether a parameter is not frozen and held by an optimizer, as far as is known."""
    return is_trainable(layout, tensor) and tensor.optimizer_groups != 0


def parameter_of(layout: Layout, tensor: str) -> TensorInfo | None:
    """Return the parameter that a tensor called ``KIND/PARAMETER`` is about, if it is known."""
    row = layout.row_of.get(tensor.partition("/")[2])
    return None if row is None else layout.tensors[row]


def is_of_trainable(layout: Layout, tensor: TensorInfo) -> bool:
    """Return whether a tensor called ``KIND/PARAMETER`` is about one that is not frozen."""
    parameter = parameter_of(layout, tensor.name)
    return parameter is None or is_trainable(layout, parameter)


class TensorRule(Rule):
    """A rule on the tensors that its parameters select."""

    #: A collection to select, for the error where nothing is selected.
    example: ClassVar[str] = "weights"

    collection_names: Sequence[str] = parameter((), "Look at the tensors of these collections.")
    tensor_regex: Sequence[str] = parameter(
        (), "And tensors whose name matches. One of both is needed."
    )

    def begin(self) -> None:
        if not (self.collection_names or self.tensor_regex):
            raise ConfigError(
                f"say which tensors, by collection_names={self.example} or tensor_regex=fc"
            )
        self._tensors = Selection(self.collection_names, self.tensor_regex)


def in_a_row(count: int, what: str) -> str:
    """Return a number of steps or looks as people write it.

    Example:
        >>> in_a_row(1, "step"), in_a_row(5, "step")
        ('1 step', '5 steps in a row')
    """
    return f"1 {what}" if count == 1 else f"{count} {what}s in a row"


def out_of_range(
    rule: Rule, worker: str, names: tuple[str, ...], values: Floats, least: float, most: float
) -> Iterator[tuple[str, float, str, list[int]]]:
    """Yield the tensors whose values are outside of a range now, together if they left it so.

    Args:
        rule: Which remembers it.
        worker: Of the tensors; empty where it does not matter.
        names: The tensors.
        values: Shape ``[tensors]``; nan is in every range.
        least: The least value in the range.
        most: The largest.

    Yields:
        ``above`` or ``below``, the limit, the condition for a finding, and the indices.
    """
    for side, limit, holds in (("above", most, values > most), ("below", least, values < least)):
        for leader, indices in rule.onsets((worker, side), names, holds).items():
            yield side, limit, f"{leader} {side}", indices


def losses_of(step: StepView, selection: Selection) -> Mapping[str, float]:
    """Return each selected scalar, the mean over the workers; not finite where one is not."""
    losses: dict[str, float] | None = step.computed.get(selection.key)
    if losses is None:
        values: dict[str, list[float]] = {}
        for group, names in selection.groups(step):
            statistics = group.record.statistics
            for name, row in zip(names, group.rows.tolist(), strict=True):
                values.setdefault(name, []).append(scalar_value(statistics[row]))
        losses = {name: sum(parts) / len(parts) for name, parts in values.items()}
        step.computed[selection.key] = losses
    selection.found_any |= bool(losses)
    return losses


def means(group: TensorGroup) -> list[float]:
    """Return the mean of each tensor, as ``quantity("mean")`` does and faster for a few."""
    if len(group) > FEW_ROWS:
        values: list[float] = group.quantity("mean").tolist()
        return values
    statistics = group.record.statistics
    found = []
    for row in group.rows.tolist():
        fields = statistics[row].tolist()
        finite = fields[COUNT] - fields[NAN] - fields[POSINF] - fields[NEGINF]
        found.append(fields[SUM] / finite if finite else math.nan)
    return found


def raw_values(step: StepView, selection: Selection) -> Iterator[tuple[str, str, Array]]:
    """Yield worker, name and value of each selected tensor whose full value was saved."""
    for group, names in selection.groups(step):
        raw = group.record.raw
        saved = frozenset(raw) if raw else frozenset()
        for name in names:
            if name in saved:
                yield group.record.worker, name, raw[name]


def summaries(step: StepView, prefix: str) -> Iterator[tuple[StepRecord, str]]:
    """Yield the full values whose name begins so: the record and what follows in the name."""
    for record in step.records:
        for name in record.raw or ():
            if name.startswith(prefix):
                yield record, name.removeprefix(prefix)


def prefixed(step: StepView, collection: str, prefix: str) -> Iterator[TensorGroup]:
    """Yield, for each worker, the tensors of a collection whose name begins so."""
    for group in step.groups(collection):
        mask = group.record.layout.matching(f"^{prefix}")[group.rows]
        if mask.any():
            yield group.where(mask)


def begun_anew(step: StepView) -> list[str]:
    """Return the workers whose model was given other weights, which are of no file, meanwhile."""
    return [one.record.worker for one in prefixed(step, "checkpoints", "checkpoint/given/")]


def named_losses(step: StepView, *prefixes: str) -> set[str]:
    """Return the losses that tensors of ``setup`` are about whose name begins with a prefix."""
    return {
        f"loss/{name.removeprefix(prefix)}"
        for prefix in prefixes
        for group in prefixed(step, "setup", prefix)
        for name in group.names
    }


def sizes(group: TensorGroup) -> Floats:
    """Return how many elements the tensor has that each tensor of a group is about.

    Args:
        group: Tensors called ``KIND/PARAMETER``.

    Returns:
        Shape ``[tensors]``; 1 for a parameter that the step does not hold.
    """
    layout = group.record.layout
    found = [parameter_of(layout, name) for name in group.names]
    known = [1 if one is None else math.prod(one.shape) for one in found]
    return np.array(known, np.float64)


def weighted_mean(group: TensorGroup, power: int = 1) -> float:
    """Return the mean of the powers of some numbers, by the size of what each is about.

    Args:
        group: Tensors of one element each, called ``KIND/PARAMETER``.
        power: Of the numbers.

    Returns:
        nan where no number is finite.
    """
    values = group.quantity("mean")
    known = np.isfinite(values)
    if not known.any():
        return math.nan
    return float(np.average(values[known] ** power, weights=sizes(group)[known]))


def largest_of(group: TensorGroup) -> TensorView:
    """Return the tensor with the largest mean, of which one at least is finite."""
    return group[int(np.nanargmax(group.quantity("mean")))]


#: Loss functions of two classes, and of any number of them.
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
CROSS_ENTROPIES = ("cross_entropy", *BINARY)
#: Those of each element, which broadcast what they are given.
ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def of_same_loss(step: StepView, tensor: TensorView, kind: str) -> TensorView | None:
    """Return another tensor of the loss that a tensor is of, as the worker of that has it.

    Args:
        step: The step.
        tensor: Such as ``prediction/mse_loss``.
        kind: Such as ``label`` for ``label/mse_loss``.
    """
    return step.tensor(f"{kind}/{tensor.name.partition('/')[2]}", tensor.worker)


def learns_by_reward(step: StepView) -> bool:
    """Return whether a step shows the loss of a policy, or of values of actions."""
    return any("policy" in one.layout.rows_of for one in step.records)


def has_sums(step: StepView, worker: str) -> bool:
    """Return whether a loss of a step is a sum over its targets, and not their mean."""
    return step.scalar("loop/summed_losses", worker) > 0


def is_skipped(step: StepView, worker: str) -> bool:
    """Return whether a gradient scaler skipped the update of a step."""
    return step.scalar("optimizer/skipped", worker) > 0


_SIZE = 23


@dataclass(frozen=True, slots=True)
class DependenceSample:
    """What derivatives of one prediction show; nan for what they do not.

    Args:
        others: Share of the squared derivatives that belongs to other samples.
        order: 1 where rows lie sample by sample, 0 where they lie time by time.
        future: Share that belongs to later positions of the sample.
        gap: How many positions back the nearest earlier position lies that counts.
        same_0: Share of targets that are the input at their position,
        same_1: one position later,
        same_2: two positions later,
        turned: and one later where the targets lie time by time.
        correlation: The largest of a column of the input with the target, in magnitude.
        column: Which one.
        together: Of how many samples batch normalization takes the statistics.
        compared: With how many targets a loss that is written out compares each prediction.
        as_time: 1 where a recurrent layer or attention takes samples for steps of time.
        aligned: Of how many pictures the target lies as they do,
        flipped: and of how many as they do flipped or turned,
        pictures: of how many that were looked at.
        neighbours: How pixels of the pictures correlate with those beside them,
        other_order: and where the axis of channels is read at its other place.
        alike: How many samples have the label of the nearest other one,
        paired: of how many,
        by_chance: and how many would by chance.
        purity: Share of tokens whose target is the most frequent one of others of that token,
        purity_turned: and where the targets lie time by time.
    """

    others: float
    order: float
    future: float
    gap: float
    same_0: float
    same_1: float
    same_2: float
    turned: float
    correlation: float
    column: float
    together: float
    compared: float
    as_time: float
    aligned: float
    flipped: float
    pictures: float
    neighbours: float
    other_order: float
    alike: float
    paired: float
    by_chance: float
    purity: float
    purity_turned: float

    @property
    def is_about_predictions(self) -> bool:
        """Whether more is known than what inputs tell of their labels."""
        return not all(map(math.isnan, astuple(self)[:-5]))


def dependence_samples(step: StepView) -> Iterator[tuple[TensorView, DependenceSample]]:
    """Yield what was sampled at the step of each loss, with the tensor that holds it."""
    for tensor in step.tensors("dependence"):
        try:
            value = np.asarray(tensor.value(), np.float64).ravel()
        except TensorUnavailable:
            continue
        if value.size <= _SIZE:  # earlier versions did not know all
            value = np.pad(value, (0, _SIZE - value.size), constant_values=-1.0)
            yield tensor, DependenceSample(*np.where(value < 0, np.nan, value).tolist())


_FALLS = re.compile(r"(loss|error|err|mse|mae|rmse|mape|msle|ppl|perplexity|wer|crossentropy)$")
_RISES = re.compile(
    r"(^|_)(acc|accuracy|auc|aucpr|auroc|precision|recall|f1|fbeta|mcc|kappa|qwk|iou|miou|dice|psnr"
    r"|ssim|r2|ndcg|mrr|bleu|(\w+_)?accuracy|f1_(score|macro|micro|weighted)|r2_score|mean_io_u"
    r"|one_hot_io_u|io_u|(dice|iou|jaccard)_(coeff?|coefficient|score|index|metric|similarity)"
    r"|jaccard|explained_variance|r_squared|pearson(_?r)?|spearman(_?r)?|rouge(_?[12l])?"
    r"|hits?_rate)(_\d+)?$"
)


def direction(metric: str) -> int:
    """Return 1 for a metric of which more is better, -1 for less, by its name; 0 if unknown.

    Example:
        >>> direction("val_accuracy"), direction("val_loss"), direction("val_dice_loss")
        (1, -1, -1)
        >>> direction("neg_loss"), direction("val_dice_coef")
        (0, 1)
    """
    name = metric.lower()
    if "neg" in name or "_at_" in name:
        return 0
    return -1 if _FALLS.search(name) else 1 if _RISES.search(name) else 0
