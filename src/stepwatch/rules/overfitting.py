"""Losses of validation beside those of training: overfitting and training for too long."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import number, overfit_ratio
from ..numerics.statistics import COUNT, SUM, SUM_SQ
from .history import MeanGuess, Round, RoundLosses, Rounds
from .samples import ALL_DATA, Samples
from .shared import has_sums, is_loss, losses_of, named_losses, of_same_loss

#: An evaluation that ends above what guessing costs by so much is worse than that.
WORSE = 1.02


class RoundRule(Rule):
    """A rule on losses of rounds: a run of TRAIN steps and the run of EVAL steps after it."""

    per_model = True
    sign = "outcome"
    view = EvidenceView("losses", "mean")

    tensor_regex: Sequence[str] = parameter(
        (), "Scalars whose name matches one of these; by default the losses."
    )

    def begin(self) -> None:
        collections = () if self.tensor_regex else ("losses",)
        self._losses = Selection(collections, self.tensor_regex, keep=is_loss)
        self._rounds = Rounds()
        self._last = StepNumber(0, 0)

    def check(self, step: StepView) -> Findings:
        self._last = step.at
        ended = self._rounds.add(step.mode, step.number, losses_of(step, self._losses))
        if ended is not None:
            yield from self._evaluate(ended, step.at, step.mode.value)

    def finish(self) -> Findings:
        current = self._rounds.current
        if current is not None:
            yield from self._evaluate(current, self._last, Mode.EVAL.value)

    def unevaluated(self) -> str | None:
        return None if self._evaluated else self._losses.missing() or self._rounds.missing()

    def _evaluate(self, ended: Round, at: StepNumber, mode: str) -> Findings:
        raise NotImplementedError


# Before the name of a loss that is weighted in training, and not where it is evaluated.
_WEIGHTED = "setup/weighted/"
_REGULARIZE = "regularize, augment or gather data, or use a smaller model"
_PREPARED = (
    "check first how inputs and labels are prepared on both sides: the same scaling, order of"
    " columns and axes, vocabulary and numbers of ids, samples of all classes, each label with its"
    " sample, and statistics of batch normalization that are up to date; if all is right,"
    f" {_REGULARIZE}"
)
#: A validation loss rises alone if it does by so many times what that of training rises.
_ALONE = 4
# What batch normalization of Keras evaluates with. It keeps 0.99 of it at each step: of where it
# began 1% is left after so many.
_MOVING, _SETTLED = "/moving_variance", 458


class Overfit(RoundRule):
    """A validation loss that stays well above the training loss, or rises away from it.

    A round is a run of TRAIN steps and the run of EVAL steps after it. It is judged at the
    first TRAIN step of the next round, the last one at the end of training. In boosting, each step
    is a round, with ``train-rmse`` and ``validation-rmse``. Dropout and label smoothing, which
    only training has, shift the ratio.

    It is a warning where the validation loss has risen from its own best by more than its rounds
    scatter, has not come down again by as much, and the training loss did not rise with it. A loss
    that only lies above that of training is information: many a model that generalizes has one.
    Where the training loss is weighted by classes or samples and that of validation is not, they
    are not compared, and only a rise above what training lost at first counts. Of a model of Keras
    with batch normalization nothing is said before its moving statistics have left where they
    began, or the training has ended.

    At the end, a mean square that hardly falls below the variance of the targets in training, and
    in evaluation ends above what guessing their mean costs (``guessing``).
    """

    name = "overfit"

    start_step: int = parameter(0, "First step at which a round may begin.", at_least=0)
    patience: int = parameter(1, "So many bad rounds in a row are tolerated.", at_least=0)
    ratio_threshold: float = parameter(
        0.1, "How far V may lie above T, as a fraction of T.", above=0
    )
    rising_by: float | None = parameter(
        None, "V must also be above the best so far by this fraction.", at_least=0
    )

    def begin(self) -> None:
        super().begin()
        self._validation: dict[str, RoundLosses] = {}
        self._training: dict[str, RoundLosses] = {}
        # Losses that are weighted in TRAIN only, and what was said of bad rounds that go on.
        self._weighted: set[str] = set()
        self._said: dict[str, str] = {}
        self._guesses: defaultdict[str, MeanGuess] = defaultdict(MeanGuess)
        # What training lost before anything was learned; of boosting a first round is over by then.
        self._at_first: dict[str, float] = {}
        self._samples = Samples()
        # Whether statistics of batch normalization may be far from those of batches.
        self._is_settling = False
        self._is_over = False

    def check(self, step: StepView) -> Findings:
        self._samples.add(step)
        if step.trains and step.train_step < _SETTLED:
            buffers = step.tensors("buffers")
            self._is_settling |= any(one.name.endswith(_MOVING) for one in buffers)
        self._weighted |= named_losses(step, _WEIGHTED)
        if step.mode in (Mode.TRAIN, Mode.EVAL):
            for loss in step.tensors("losses"):
                if step.mode is Mode.TRAIN and "boosting" not in loss.record.layout.rows_of:
                    self._at_first.setdefault(loss.name, loss.scalar)
                label = of_same_loss(step, loss, "label")
                if label is None or loss.info.function != "mse_loss":
                    continue
                if not has_sums(step, loss.worker):
                    moments = label.record.statistics[label.row, [COUNT, SUM, SUM_SQ]]
                    self._guesses[loss.name].add_targets(step.mode, moments)
        yield from super().check(step)

    def finish(self) -> Findings:
        self._is_over = True
        yield from super().finish()
        for name, guess in self._guesses.items():
            shares = guess.shares()
            if shares is not None and name not in self._weighted:
                yield self._guessed(name, guess.num_rounds, *shares)

    def _guessed(self, name: str, num_rounds: int, train: float, validation: float) -> Finding:
        return self.finding(
            self._last,
            name,
            f"{name}: after {num_rounds} rounds training comes to {train:.0%} of what guessing the"
            f" mean of the targets costs, and the evaluation to {validation:.0%}, and never was"
            " clearly below: what little is learnt is learnt by heart",
            mode=Mode.EVAL.value,
            value=validation,
            threshold=1.0,
            severity="warning" if validation > WORSE else "info",
            condition=f"{name} guessing",
            remedy="check that each target belongs to its sample, as where one of both is shuffled"
            " or sorted and the other is not; if the targets are as noisy as that, end the training"
            " where the evaluation is best",
            evidence={"train": train, "validation": validation, "rounds": num_rounds},
        )

    def _evaluate(self, ended: Round, at: StepNumber, mode: str) -> Findings:
        if ended.first_step < self.start_step:
            return
        for name, train, validation in ended.pairs():
            self._evaluated = True
            if name in self._guesses and len(ended.losses[Mode.TRAIN]) == 1:
                self._guesses[name].add_round(train, validation)
            ratio = overfit_ratio(train, validation)
            if math.isnan(ratio):
                continue
            known = self._validation.setdefault(name, RoundLosses())
            trained = self._training.setdefault(name, RoundLosses())
            weighted = name in self._weighted
            is_above = weighted or ratio > self.ratio_threshold
            bad = is_above and self._is_rising(known.best, validation)
            count = self.streak(name, bad)
            known.add(validation, bad=bad)
            trained.add(train)
            is_alone = _ALONE * trained.rise() < known.rise()
            risen = not math.isfinite(validation) or (known.stays_up() and is_alone)
            if weighted:  # to weigh classes moves predictions away from how frequent these are
                risen &= not validation < self._at_first.get(name, -math.inf)
            if self._is_settling and at.train_step < _SETTLED and not self._is_over:
                continue
            severity = "warning" if risen else "info"
            if count <= self.patience:
                self._said.pop(name, None)
                continue
            # once for each time it starts: rounds may be further apart than any cooldown
            if (risen or not weighted) and self._said.get(name) not in ("warning", severity):
                self._said[name] = severity
                pair = train, validation
                yield self._finding(name, pair, known.best, count, at, mode, severity)

    def _finding(
        self,
        name: str,
        losses: tuple[float, float],
        best: float,
        count: int,
        at: StepNumber,
        mode: str,
        severity: str,
    ) -> Finding:
        train, validation = losses
        ratio = overfit_ratio(train, validation)
        what = f"exceeds training loss by {ratio:.0%} ({number(validation)} vs {number(train)})"
        if name in self._weighted:
            what = f"rose from {number(best)} to {number(validation)} and stays above its best"
        only = "" if severity == "warning" else "; it does not rise while that of training falls"
        first = self._at_first.get(name, math.nan)
        # Training may weigh its losses, and then the two say nothing of each other.
        is_judged = severity == "warning" and name not in self._weighted
        is_learned = not (is_judged and best >= first > train)
        if not is_learned:
            only = (
                f"; it never was below {number(first)}, what training lost at first: nothing was"
                " learned that holds there"
            )
        few = self._samples.fewer() if severity == "warning" else ""
        apart = self._samples.apart() if severity == "warning" else ""
        prepared = _REGULARIZE if is_learned and not apart else _PREPARED
        return self.finding(
            at,
            name,
            f"{name}: validation loss {what} for {count} rounds in a row"
            f" (> patience {self.patience}) at step {at.train_step}{only}{few}{apart}",
            mode=mode,
            value=ratio,
            threshold=self.ratio_threshold,
            severity=severity,
            condition=name if severity == "warning" else f"{name} level",
            remedy=ALL_DATA if few else prepared,
            evidence={"train": train, "validation": validation, "best": best, "rounds": count},
        )

    def _is_rising(self, best: float, validation: float) -> bool:
        if self.rising_by is None or not math.isfinite(validation):
            return True
        return validation > best + self.rising_by * abs(best)


@dataclass(slots=True)
class Best:
    """The best of a loss so far, and for how many looks there was no better one.

    Args:
        loss: The best; nan before the first finite one.
        step: The step it was at.
        stale: Looks since.
        last: The loss now.
    """

    loss: float = math.nan
    step: StepNumber = field(default_factory=lambda: StepNumber(0, 0))
    stale: int = 0
    last: float = math.nan

    def add(self, loss: float, step: StepNumber, delta: float, *, relative: bool) -> None:
        """Take in one more loss; one that is not finite is no better one."""
        self.last = loss
        margin = delta * abs(self.loss) if relative else delta
        if math.isfinite(loss) and not loss >= self.loss - margin:
            self.loss, self.step, self.stale = loss, step, 0
        else:
            self.stale += 1


@dataclass(slots=True)
class _Progress:
    train: Best = field(default_factory=Best)
    validation: Best = field(default_factory=Best)
    validated: bool = False
    reported: bool = False


class Overtraining(RoundRule):
    """A validation loss that has not reached a new best for many rounds, and lies above it.

    A round is a run of TRAIN steps and the run of EVAL steps after it, as in Overfit. Without a
    validation loss, which is possible with ``unit=step``, the training loss is judged.
    """

    name = "overtraining"
    compat: ClassVar[Mapping[str, object]] = {"unit": "step", "combine": "either"}

    patience_train: int = parameter(
        5, "So many rounds without a better training loss are tolerated.", at_least=1
    )
    patience_validation: int = parameter(
        10, "So many without a better validation loss.", at_least=1
    )
    delta: float = parameter(0.01, "A loss is better only if it is lower by this.", at_least=0)
    delta_relative: bool = parameter(False, "Take `delta` as a fraction of the best.")
    combine: Literal["validation", "either", "both"] = parameter(
        "validation",
        "`either`: the training loss, after `patience_train`, is a finding as well, which it is"
        " in compat. `both`: both are needed. The last two do not ask whether V lies above its"
        " best.",
    )
    unit: Literal["round", "step"] = parameter(
        "round",
        "`step` counts single steps of each mode, and judges the training loss where there is no"
        " other; it is `step` in compat, where losses of single batches raise many false alarms.",
    )

    def begin(self) -> None:
        super().begin()
        self._progress: dict[str, _Progress] = {}
        self._mode = ""

    def check(self, step: StepView) -> Findings:
        if self.unit == "round":
            yield from super().check(step)
        elif step.mode is not Mode.PREDICT:
            evaluates = step.mode is Mode.EVAL
            for name, loss in losses_of(step, self._losses).items():
                train, validation = (None, loss) if evaluates else (loss, None)
                self._mode = step.mode.value
                yield from self._add(name, step.at, train, validation)

    def unevaluated(self) -> str | None:
        if self._progress:
            return None
        alone = "; to judge the training loss alone: unit=step"
        return self._losses.missing() or self._rounds.missing() + alone

    def _evaluate(self, ended: Round, at: StepNumber, mode: str) -> Findings:
        self._mode = mode
        for name, train, validation in ended.pairs():
            yield from self._add(name, at, train, validation)

    def _add(
        self, name: str, step: StepNumber, train: float | None, validation: float | None
    ) -> Findings:
        loss = self._progress.setdefault(name, _Progress())
        if train is not None:
            loss.train.add(train, step, self.delta, relative=self.delta_relative)
        if validation is not None:
            loss.validated = True
            loss.validation.add(validation, step, self.delta, relative=self.delta_relative)
        is_stale = self._is_stale(loss)
        if is_stale and not loss.reported:
            yield self._finding(name, loss, step)
        loss.reported = is_stale

    def _is_stale(self, loss: _Progress) -> bool:
        train = loss.train.stale >= self.patience_train
        validation = loss.validation.stale >= self.patience_validation
        if not loss.validated:
            return train
        if self.combine == "validation":
            return validation and not loss.validation.last <= loss.validation.loss
        return (train and validation) if self.combine == "both" else (train or validation)

    def _finding(self, name: str, loss: _Progress, step: StepNumber) -> Finding:
        by_train = not loss.validated or loss.validation.stale < self.patience_validation
        what, best = ("training", loss.train) if by_train else ("validation", loss.validation)
        patience = self.patience_train if by_train else self.patience_validation
        flat = loss.train.stale >= self.patience_train
        goes_on = "is flat, too" if flat else "still improves"
        more = "" if by_train else f"; training {goes_on}"
        return self.finding(
            step,
            name,
            f"{name}: no new best {what} loss for {best.stale} {self.unit}s (patience {patience});"
            f" best {number(best.loss)} at step {best.step.train_step}, now"
            f" {number(best.last)}{more}",
            mode=self._mode,
            value=float(best.stale),
            threshold=float(patience),
            severity="info" if flat else "warning",
            remedy=f"go back to step {best.step.train_step}, and stop earlier",
            evidence={"best": best.loss, "best_step": best.step.number, "now": best.last},
        )
