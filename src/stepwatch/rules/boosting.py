"""What the rounds of boosting show of how a model was set up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..judge.rule import Findings, Rule
from ..judge.step_view import StepNumber, StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import listed, number
from .shared import direction, prefixed

#: Of a metric that ends boosting early so many values are judged where its name tells what is
#: better, so many where it does not, and so many of these at the end; what it was and is must
#: differ by so many times what half of its changes are smaller than.
LEAST_NAMED, LEAST_UNNAMED, LEAST_AT_END, CLEAR = 4, 20, 8, 3.0
_STOPS, _STOPS_AT, _TRAINS_AT, _HELD_OUT = (
    f"boosting/{what}/" for what in ("stops_by", "stops_at", "trains_at", "held_out")
)
_ROUND, _UNSPLIT = "boosting/round", "boosting/unsplit_rounds"
_CENSORED, _OBJECTIVE = "boosting/censored", "hyperparameters/objective"
#: Labels of rows and how they differ between the groups that are ranked, see ``grouping``.
_GROUPS = {of: f"boosting/{of}/ratio/" for of in ("groups", "evaluated_groups")}
#: Rows lie in their groups where the ratio is so many standard deviations away from that of rows
#: that are put together at random, and apart from them where it is fewer; of so many groups.
IN_GROUPS, APART, LEAST_GROUPS = 5.0, 3.0, 20
#: So far two sets of labels may differ in their means (by standard deviations), and by these
#: factors in their spread and in the rows of a group.
SAME_MEAN, SAME_STD, SAME_SIZE = 0.25, 1.25, 1.5
#: Columns with a value for each group of rows, whose rows lie in other groups.
_SCATTERED = "boosting/scattered/"
_REGROUP = (
    "sort rows by their query, as by np.argsort(qid, kind='stable'), so that they lie as the sizes"
    " of groups say; to shuffle, shuffle whole groups"
)
#: Columns whose categories training and another set of data number each by its own first rows.
_RECODED = "boosting/recoded/"
#: Columns whose monotone constraint is against the data, by their rank correlation with labels.
_CONSTRAINED = "boosting/constrained/"
_EXPOSURES = "boosting/exposures"
#: 1 where gradients of an objective of the script rise with margins, -1 where they fall: they have
#: the wrong sign.
_CURVATURE, UPHILL = "boosting/curvature", -0.9
#: 1 where such an objective takes margins for probabilities.
_OF_PROBABILITIES = "boosting/of_probabilities"
_RATE = "hyperparameters/learning_rate"
#: Boosting whose trees stay as they were grown, each multiplied by the learning rate.
_BOOSTERS = ("hyperparameters/booster", "hyperparameters/boosting")
_SHRUNK = ("gbtree", "gbdt")
#: What a leaf must hold at least: rows in LightGBM, and in XGBoost as much for squared errors. A
#: tree of so few leaves can tell next to nothing, where more are wanted and rows are not few.
_LEAST_IN_LEAF = ("min_data_in_leaf", "min_child_weight")
FEW_LEAVES, WANTED_LEAVES, MANY_ROWS = 4, 8, 100
#: A model has gone less than half of the way, and in the last tenth of its rounds it improves by
#: this much of what it does on average, or more.
HALF, STILL = 0.5, 0.5
#: In so many rounds, and in this share of all, the loss of training stayed as it ended, within
#: this share of all that it fell.
LEAST_IDLE, IDLE, SAME = 100, 0.8, 0.01
#: What a split must gain.
_GAINS = tuple(
    f"hyperparameters/{name}" for name in ("gamma", "min_split_loss", "min_gain_to_split")
)


@dataclass(slots=True)
class _Stopping:
    """What a metric was that ends a training early, and on the data that are trained on.

    Args:
        sign: -1 where less of it is taken for better.
        ought: 1 where more is better by its name, -1 where less is; 0 if unknown.
        step: The last step.
        values: On the data that end the training.
        trained: On those that are trained on, if it was evaluated there.
        improved: Whether a round was better than the first, by what it is told.
    """

    sign: float
    ought: int
    step: StepNumber = field(default_factory=lambda: StepNumber(0, 0))
    improved: bool = False
    values: list[float] = field(default_factory=list)
    trained: list[float] = field(default_factory=list)

    def add(self, step: StepNumber, value: float, trained: float) -> None:
        """Take in a round; nan for what was not evaluated."""
        self.step = step
        self.values.append(value)
        self.improved |= self.sign * (value - self.values[0]) > 0
        if not math.isnan(trained):
            self.trained.append(trained)

    def is_wrong(self, unnamed: int) -> bool:
        """Return whether the first rounds stay the best ones because of the direction.

        Args:
            unnamed: Of so many values, where the name does not tell what is better.
        """
        if self.ought:
            enough = len(self.values) >= LEAST_NAMED and self.ought != self.sign
            return enough and worsens(self.values, self.sign)
        # Its own training tells what is better.
        judged = self.values, self.trained
        return not self.improved and all(
            len(one) >= unnamed and worsens(one, self.sign) for one in judged
        )

    @property
    def is_improving(self) -> bool:
        """Return whether no round was better than the last."""
        return self.sign * self.values[-1] >= max(self.sign * value for value in self.values)


@dataclass(slots=True)
class _Boosted:
    """How a boosted model is trained, and its loss on the training data.

    Args:
        rate: Its learning rate: each tree goes this share of the way that is left.
        least_gain: What a split must gain.
        step: The last step.
        num_rounds: How many rounds there were.
        losses: By name, the number of rounds until then and the value.
    """

    rate: float
    least_gain: float = 0.0
    step: StepNumber = field(default_factory=lambda: StepNumber(0, 0))
    num_rounds: int = 0
    losses: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    @property
    def reached(self) -> float:
        """The share of the way from a constant to the labels that all trees can go together.

        Of squared errors ``1 - (1 - rate) ** rounds`` (Friedman: Greedy function approximation,
        2001, shrinkage), from 0 to 1; other objectives go about as far.
        """
        return float(1 - (1 - min(self.rate, 1.0)) ** self.num_rounds)

    def still_improves(self) -> str:
        """Return the name of a loss that falls at the end as it did on average, or an empty one."""
        for name, values in self.losses.items():
            (began, first), (ended, last) = values[0], values[-1]
            turned, middle = max(one for one in values if one[0] <= 0.9 * ended or one == values[0])
            usual = (first - last) / max(ended - began, 1)
            if began < turned and (middle - last) / (ended - turned) >= STILL * usual > 0:
                return name
        return ""

    def stands_still(self) -> tuple[str, int] | None:
        """Return a loss that most rounds left as it was, far from 0, and since which round."""
        for name, values in self.losses.items():
            (_, first), (ended, last) = values[0], values[-1]
            apart = [at for at, value in values if abs(value - last) > SAME * (first - last)]
            since = apart[-1] if apart else 1
            if ended - since >= max(LEAST_IDLE, IDLE * ended) and last > HALF * first > 0:
                return name, since
        return None


class Boosting:
    """Judges the rounds of boosted models for a rule, whose findings it makes.

    Args:
        rule: The rule.
        least_rounds: Trees without a split are judged after so many rounds.
    """

    def __init__(self, rule: Rule, least_rounds: int) -> None:
        self._rule, self._least_rounds = rule, least_rounds
        self._stopping: dict[tuple[str, str], _Stopping] = {}
        self._boosted: dict[str, _Boosted] = {}
        self._unsplit_models: set[str] = set()  # their workers
        #: Whether anything could be judged so far.
        self.is_judged = False

    def check(self, step: StepView) -> Findings:
        """Judge a step with a round."""
        self._count_rounds(step)
        yield from self._unsplit(step)
        yield from self._few_leaves(step)
        yield from self._uphill(step)
        yield from self._without_sigmoid(step)
        yield from self._uncensored(step)
        yield from self._ungrouped(step)
        yield from self._scattered(step)
        yield from self._recoded(step)
        yield from self._constrained(step)
        yield from self._exposures(step)
        yield from self._stopped_by(step)

    def finish(self) -> Findings:
        """Judge what can only be said at the end."""
        yield from self._ended_early()
        yield from self._idle()
        for (worker, name), known in self._stopping.items():
            if not known.ought and known.is_wrong(LEAST_AT_END):
                yield self._stopping_found(worker, name, known)

    def _unsplit(self, step: StepView) -> Findings:
        for group in prefixed(step, "boosting", f"{_UNSPLIT}$"):
            count = group[0].scalar
            self.is_judged = True
            if count >= self._least_rounds:
                self._unsplit_models.add(group.record.worker)
                yield self._rule.finding(
                    step,
                    group[0],
                    f"no tree has a split in {number(count)} rounds up to step"
                    f" {step.train_step}: the"
                    " model says the same of every row, and nothing is learnt",
                    condition="unsplit",
                    value=count,
                    threshold=float(self._least_rounds),
                    worker=group.record.worker,
                    remedy="of an objective of your own see whether its gradient and hessian are"
                    " those of the raw margins, through the sigmoid or softmax, and not all about"
                    " zero; else lower min_child_weight, gamma or min_data_in_leaf",
                )

    def _few_leaves(self, step: StepView) -> Findings:
        """Find models whose leaves must hold so much that a tree has room for next to none."""
        for worker in step.workers:
            bounds = (step.tensor(f"hyperparameters/{name}", worker) for name in _LEAST_IN_LEAF)
            known = [one for one in bounds if one is not None]
            rows = step.scalar("boosting/rows", worker)
            if not known or not rows >= MANY_ROWS:
                continue
            least, bound = known[0].scalar, known[0].name.rpartition("/")[2]
            leaves, depth = step.scalars(
                ["hyperparameters/num_leaves", "hyperparameters/max_depth"], worker
            )
            is_of_xgboost = bound == _LEAST_IN_LEAF[1]
            if is_of_xgboost and not _is_squared(step, worker):
                continue
            wanted = 2.0**depth if is_of_xgboost else leaves
            room = rows // max(least, 1.0)
            self.is_judged = True
            if room < FEW_LEAVES and wanted >= WANTED_LEAVES:
                yield self._rule.finding(
                    step,
                    known[0],
                    f"{bound} is {number(least)} and there are {number(rows)} rows: a tree has at"
                    f" most {number(max(room, 1.0))} leaves, of the {number(wanted)} that it may"
                    " have",
                    condition="few_leaves",
                    value=room,
                    threshold=float(FEW_LEAVES),
                    worker=worker,
                    remedy="lower it: by default it is 20 rows in LightGBM, and 1 in XGBoost",
                )

    def _uphill(self, step: StepView) -> Findings:
        """Find objectives of the script whose gradients have the wrong sign."""
        for group in prefixed(step, "boosting", f"{_CURVATURE}$"):
            self.is_judged = True
            if (share := group[0].scalar) < UPHILL:
                yield self._rule.finding(
                    step,
                    group[0],
                    "the gradients of the objective fall where margins rise, row by row: they have"
                    " the wrong sign, and each round makes the loss larger",
                    condition="uphill",
                    value=share,
                    threshold=UPHILL,
                    worker=group.record.worker,
                    remedy="return the derivative of the loss by the raw margin, as"
                    " prediction - label for a squared error, a Poisson or a logistic loss",
                )

    def _without_sigmoid(self, step: StepView) -> Findings:
        """Find objectives of the script that take margins for probabilities."""
        for group in prefixed(step, "boosting", f"{_OF_PROBABILITIES}$"):
            self.is_judged = True
            if group[0].scalar:
                yield self._rule.finding(
                    step,
                    group[0],
                    "the objective is that of a logistic loss, with raw margins in the place of"
                    " probabilities: its hessian is margin * (1 - margin), which is negative for"
                    " margins below 0 and above 1",
                    condition="without_sigmoid",
                    value=1.0,
                    threshold=0.0,
                    worker=group.record.worker,
                    remedy="an objective is given raw margins: compute p = 1 / (1 + exp(-margin))"
                    " first, and return p - label and p * (1 - p)",
                )

    def _uncensored(self, step: StepView) -> Findings:
        """Find times of events that are learnt as if the event of each row had been seen."""
        for group in prefixed(step, "boosting", f"{_CENSORED}$"):
            self.is_judged = True
            objective = step.tensor(_OBJECTIVE, group.record.worker)
            if group[0].scalar > 0 or objective is None:
                continue
            is_cox = objective.value().item() == "survival:cox"
            yield self._rule.finding(
                step,
                group[0],
                f"{objective.value().item()} learns from no censored row, as"
                f" {'no label is negative' if is_cox else 'all label bounds are equal'}: every time"
                " counts as that of an event, which is so only if the event of each row was seen",
                condition="uncensored",
                severity="info",
                value=0.0,
                threshold=0.0,
                worker=group.record.worker,
                remedy="give rows that had no event until they were last seen a negative label"
                if is_cox
                else "give rows that had no event until they were last seen label_upper_bound=inf,"
                " and that time as label_lower_bound",
            )

    def _ungrouped(self, step: StepView) -> Findings:
        """Find rows that were shuffled apart from their groups, by sets where they were not."""
        for worker in step.workers:
            known = [
                one for of, prefix in _GROUPS.items() for one in _grouped(step, worker, prefix)
            ]
            for torn, whole in itertools.permutations(known, 2):
                self.is_judged = True
                if not torn.is_apart_from(whole):
                    continue
                yield self._rule.finding(
                    step,
                    torn.tensor,
                    f"the rows of {torn.name} stand apart from their groups: labels vary between"
                    f" its {number(torn.count)} groups {number(torn.ratio)} times as much as within"
                    " them, as of rows that are put together at random, and those of"
                    f" {whole.name} {number(whole.ratio)} times: rows of different queries are"
                    " ranked against each other",
                    condition=f"ungrouped {torn.name}",
                    value=torn.ratio,
                    threshold=whole.ratio,
                    worker=worker,
                    remedy=_REGROUP,
                )
                break

    def _scattered(self, step: StepView) -> Findings:
        """Find rows that were shuffled apart from their groups, by what is one for each group."""
        for group in prefixed(step, "boosting", _SCATTERED):
            for tensor in group:
                data, _, column = tensor.name.removeprefix(_SCATTERED).partition("/")
                yield self._rule.finding(
                    step,
                    tensor,
                    f"the rows of {data} stand apart from their groups: {column} has a value for"
                    " each group, in as many rows as that has, and these rows lie in other groups:"
                    " rows of different queries are ranked against each other",
                    condition=f"ungrouped {data}",
                    value=1.0,
                    threshold=0.0,
                    worker=group.record.worker,
                    remedy=_REGROUP,
                )

    def _constrained(self, step: StepView) -> Findings:
        """Find monotone constraints that are against the data, in several columns."""
        for group in prefixed(step, "boosting", _CONSTRAINED):
            names = [name.removeprefix(_CONSTRAINED) for name in group.names]
            ways = [
                f"{name} (made to {'fall' if one.scalar > 0 else 'rise'}, rank correlation with the"
                f" labels {number(one.scalar)})"
                for name, one in zip(names, group, strict=True)
            ]
            yield self._rule.finding(
                step,
                group[0],
                f"monotone constraints go against the data in {len(names)} columns, as where they"
                f" stand in another order than these: {listed(ways)}",
                condition="constrained",
                value=group[0].scalar,
                threshold=0.0,
                worker=group.record.worker,
                remedy="give the constraints by the names of the columns, as"
                " monotone_constraints={'area': 1, 'age': -1}, or in the order in which the model"
                " has its columns",
            )

    def _exposures(self, step: StepView) -> Findings:
        """Find rows that begin with exposures where their logarithms are expected."""
        for group in prefixed(step, "boosting", _EXPOSURES):
            yield self._rule.finding(
                step,
                group[0],
                "what rows begin with (base_margin, init_score) is added to the logarithm of what"
                " is predicted, and is no logarithm: all of it is above 0, and the labels are more"
                " likely in proportion to it than to its exponential, by"
                f" {number(group[0].scalar)} nats",
                condition="exposures",
                value=group[0].scalar,
                threshold=0.0,
                worker=group.record.worker,
                remedy="give the logarithm of the exposure: base_margin=np.log(exposure), or"
                " init_score; so for what is predicted",
            )

    def _recoded(self, step: StepView) -> Findings:
        """Find categories that have other numbers in the data that are evaluated."""
        for group in prefixed(step, "boosting", _RECODED):
            by_data: dict[str, list[TensorView]] = {}
            for tensor in group:
                data = tensor.name.removeprefix(_RECODED).partition("/")[0]
                by_data.setdefault(data, []).append(tensor)
            for data, tensors in by_data.items():
                names = [tensor.name.removeprefix(f"{_RECODED}{data}/") for tensor in tensors]
                yield self._rule.finding(
                    step,
                    tensors[0],
                    f"{listed(names)}: the training data and {data} each number their categories in"
                    " the order in which they come first, as pandas.factorize does for one table:"
                    " the same number stands for another category in each",
                    condition=f"recoded {data}",
                    value=tensors[0].scalar,
                    threshold=0.0,
                    worker=group.record.worker,
                    remedy="make the codes once, on the training data, and look up those of all"
                    " other data in them, as by OrdinalEncoder.fit and then transform",
                )

    def _count_rounds(self, step: StepView) -> None:
        """Remember the learning rate of a model, and what its loss was after how many rounds."""
        for record in step.records:
            worker = record.worker
            for rate in _shrinkages(step, worker):
                gains = [gain for gain in step.scalars(_GAINS, worker) if gain > 0]
                self._boosted[worker] = _Boosted(rate, max(gains, default=0.0))
            if (known := self._boosted.get(worker)) is None:
                continue
            known.num_rounds += step.train_step - known.step.train_step if known.num_rounds else 0
            known.step = step.at
            if (tensor := step.tensor(_ROUND, worker)) is not None:  # not between full steps
                known.num_rounds = int(tensor.scalar) + 1
            for loss in step.tensors("losses", worker=worker):
                known.losses.setdefault(loss.name, []).append((known.num_rounds, loss.scalar))

    def _ended_early(self) -> Findings:
        """Judge the rounds that a model had, once it has no more."""
        for worker, known in self._boosted.items():
            stops = [one for (of, _), one in self._stopping.items() if of == worker]
            name = known.still_improves()
            if not name or known.reached >= HALF or not all(one.is_improving for one in stops):
                continue
            yield self._rule.finding(
                known.step,
                name,
                f"{known.num_rounds} rounds with a learning rate of {number(known.rate)} take"
                f" predictions {known.reached:.0%} of the way from a constant to the labels, and"
                f" {name} still fell as it did on average when training ended",
                condition="few_rounds",
                mode="TRAIN",
                worker=worker,
                value=known.reached,
                threshold=HALF,
                remedy="raise the learning rate (eta), 0.05 to 0.3 is usual, or the number of"
                " rounds, and let early stopping find their end: the model is underfitted",
            )

    def _idle(self) -> Findings:
        """Judge whether most rounds of a model added nothing to it."""
        for worker, known in self._boosted.items():
            splits = known.least_gain > 0 and worker not in self._unsplit_models
            found = known.stands_still() if splits else None
            if found is None:
                continue
            name, since = found
            (_, first), (_, last) = known.losses[name][0], known.losses[name][-1]
            yield self._rule.finding(
                known.step,
                name,
                f"{known.num_rounds - since} of {known.num_rounds} rounds, from round {since} on,"
                f" left {name} as it was, at {number(last)}, from {number(first)} after the first;"
                f" a split must gain {number(known.least_gain)}",
                condition="idle_rounds",
                mode="TRAIN",
                worker=worker,
                value=(known.num_rounds - since) / known.num_rounds,
                threshold=IDLE,
                remedy="lower what a split must gain (gamma, min_split_gain): it counts in squares"
                " of the targets, so that those of a small range need less; or scale the targets",
            )

    def _stopped_by(self, step: StepView) -> Findings:
        """Judge the metrics that end boosting early: their direction, and their data."""
        for group in prefixed(step, "boosting", _STOPS):
            worker = group.record.worker
            for tensor in group:
                name = tensor.name.removeprefix(_STOPS)
                ought = direction(name.partition("-")[2])
                known = self._stopping.setdefault((worker, name), _Stopping(tensor.scalar, ought))
                value, trained = step.scalars((f"{_STOPS_AT}{name}", f"{_TRAINS_AT}{name}"), worker)
                known.add(step.at, value, trained)
                self.is_judged = True
                if known.is_wrong(LEAST_UNNAMED):
                    yield self._stopping_found(worker, name, known)
                held_out = step.scalar(f"{_HELD_OUT}{name}", worker)
                if not math.isnan(held_out) and len(known.values) >= LEAST_NAMED:
                    yield self._stops_on_trained(step, worker, name, held_out)

    def _stops_on_trained(self, step: StepView, worker: str, name: str, held_out: float) -> Finding:
        value = self._stopping[worker, name].values[-1]
        return self._rule.finding(
            step,
            f"{_STOPS}{name}",
            f"early stopping watches {name}, which is of the data that are trained on"
            f" ({number(value)}, and {number(held_out)} on data that are not): it goes on improving"
            " however much is overfitted, so that training does not stop, and the last round is"
            " taken for the best",
            condition=f"stops_on_trained {name}",
            worker=worker,
            value=value,
            threshold=held_out,
            remedy="give the validation data last in evals or eval_set: XGBoost stops by the last"
            " of them; or name them, as by EarlyStopping(data_name=...)",
        )

    def _stopping_found(self, worker: str, name: str, known: _Stopping) -> Finding:
        first, last, less = known.values[0], known.values[-1], known.sign < 0
        why = f"which ought to {'rise' if less else 'fall'}"
        if not known.ought:
            why = "and on the training data too"
        return self._rule.finding(
            known.step,
            f"{_STOPS}{name}",
            f"early stopping takes {'less' if less else 'more'} of {name} for better, {why}: it"
            f" {'rose' if less else 'fell'} from {number(first)} in the first round to"
            f" {number(last)} at step {known.step.train_step}, and the first rounds are taken"
            " for the best",
            condition=f"early_stopping {name}",
            mode="TRAIN",
            worker=worker,
            value=last,
            threshold=first,
            remedy=f"tell it that {'more' if less else 'less'} is better: XGBoost takes"
            f" maximize={less}, and LightGBM what a metric returns as is_higher_better",
        )


@dataclass(frozen=True, slots=True)
class _Grouped:
    """Labels of rows that are ranked in groups; see ``grouping`` of the hook."""

    name: str
    tensor: TensorView
    rows: float
    count: float
    mean: float
    std: float
    ratio: float

    def deviations(self, ratio: float) -> float:
        """Return by how many standard deviations a ratio is not that of rows at random."""
        scatter = math.sqrt(2 / (self.count - 1) + 2 / (self.rows - self.count))
        return abs(ratio - 1) / scatter

    def is_apart_from(self, other: _Grouped) -> bool:
        """Return whether rows lie at random here, and in their groups in another such set."""
        same = (
            min(self.count, other.count) >= LEAST_GROUPS
            and abs(self.mean - other.mean) <= SAME_MEAN * max(self.std, other.std)
            and _within(SAME_STD, self.std, other.std)
            and _within(SAME_SIZE, self.rows / self.count, other.rows / other.count)
        )
        # This set, too, must be large enough to show what the other one does.
        clear = min(other.deviations(other.ratio), self.deviations(other.ratio))
        return same and clear >= IN_GROUPS and self.deviations(self.ratio) < APART


def _within(factor: float, one: float, other: float) -> bool:
    return max(one, other) <= factor * min(one, other)


def _grouped(step: StepView, worker: str, prefix: str) -> Iterator[_Grouped]:
    """Yield the sets of ranked rows whose training begins."""
    for group in prefixed(step, "boosting", prefix):
        for tensor in group if group.record.worker == worker else ():
            name = tensor.name.removeprefix(prefix)
            rows, count, mean, std = step.scalars(
                tuple(
                    tensor.name.replace("/ratio/", f"/{what}/", 1)
                    for what in ("rows", "count", "mean", "std")
                ),
                worker,
            )
            yield _Grouped(name, tensor, rows, count, mean, std, tensor.scalar)


def _is_squared(step: StepView, worker: str) -> bool:
    """Return whether a model of XGBoost learns by squared errors, of which each row weighs 1."""
    objective = step.tensor(_OBJECTIVE, worker)
    return objective is not None and objective.value().item() == "reg:squarederror"


def _shrinkages(step: StepView, worker: str) -> Iterator[float]:
    """Yield the learning rate of a model whose first round a step is, if its trees are shrunk."""
    rate = step.tensor(_RATE, worker)
    boosters = [tensor for name in _BOOSTERS if (tensor := step.tensor(name, worker)) is not None]
    if rate is not None and any(tensor.value().item() in _SHRUNK for tensor in boosters):
        yield rate.scalar


def worsens(values: Sequence[float], sign: float) -> bool:
    """Return whether a metric got clearly worse than it was in the first round.

    Args:
        values: The metric, of one round after the other; nan is never worse.
        sign: 1 where more is better, -1 for less.

    Example:
        >>> worsens([0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.6], -1)
        True
        >>> worsens([0.6, 0.7, 0.5, 0.6, 0.65, 0.7, 0.5, 0.6], -1)
        False
    """
    found = -sign * np.array(values)
    late = found[len(found) // 2 :]
    if len(late) < 2 or not (late > found[0]).all():
        return False
    usual = float(np.median(np.abs(np.diff(late))))
    return bool(late.mean() - found[0] > CLEAR * usual)
