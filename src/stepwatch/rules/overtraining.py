"""The rule on training that goes on after validation has stopped to get better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..finding import Finding
from ..steps import Mode
from .checks import number
from .loss_memory import Rounds, is_loss, losses_of
from .rule import Findings, Rule
from .scope import Selection, at_least, one_of
from .step_view import StepView


@dataclass(slots=True)
class Best:
    """The best of a loss so far, and for how many looks there was no better one.

    Args:
        loss: The best; nan before the first finite one.
        step: The global step it was at.
        stale: Looks since.
        last: The loss now.
    """

    loss: float = math.nan
    step: int = 0
    stale: int = 0
    last: float = math.nan

    def add(self, loss: float, step: int, delta: float, *, relative: bool) -> None:
        """Take in one more loss; one that is not finite is no better one."""
        self.last = loss
        margin = delta * abs(self.loss) if relative else delta
        if math.isfinite(loss) and not loss >= self.loss - margin:
            self.loss, self.step, self.stale = loss, step, 0
        else:
            self.stale += 1


@dataclass(slots=True)
class _Loss:
    train: Best = field(default_factory=Best)
    validation: Best = field(default_factory=Best)
    validated: bool = False
    told: bool = False


class Overtraining(Rule):
    """A validation loss that has not reached a new best for many rounds, and lies above it.

    A round is a run of TRAIN steps and the run of EVAL steps after it, as in Overfit. Without a
    validation loss, which is possible with ``unit=step``, the training loss is judged.

    Args:
        tensor_regex: Scalars in whose name one of these finds itself; by default the losses.
        patience_train: So many rounds without a better training loss are tolerated.
        patience_validation: So many without a better validation loss.
        delta: A loss is better only if it is lower by this.
        delta_relative: Take ``delta`` as a fraction of the best.
        combine: Which of the two makes a finding: ``validation``, ``either`` or ``both``. The last
            two do not ask whether the validation loss lies above its best.
        unit: Count and compare rounds, or single steps.
    """

    name = "overtraining"
    per_model = True
    compat: ClassVar[Mapping[str, object]] = {"unit": "step", "combine": "either"}

    def __init__(
        self,
        tensor_regex: Sequence[str] = (),
        patience_train: int = 5,
        patience_validation: int = 10,
        delta: float = 0.01,
        delta_relative: bool = False,
        combine: Literal["validation", "either", "both"] = "validation",
        unit: Literal["round", "step"] = "round",
    ) -> None:
        at_least("patience_train", patience_train, 1)
        at_least("patience_validation", patience_validation, 1)
        at_least("delta", delta, 0)
        one_of("combine", combine, ("validation", "either", "both"))
        one_of("unit", unit, ("round", "step"))
        self.tensor_regex = tuple(tensor_regex)
        self.patience_train, self.patience_validation = patience_train, patience_validation
        self.delta, self.delta_relative = delta, delta_relative
        self.combine = combine
        self.unit = unit
        self._selected = Selection(() if tensor_regex else ("losses",), tensor_regex, keep=is_loss)
        self._rounds = Rounds()
        self._losses: dict[str, _Loss] = {}

    def check(self, step: StepView) -> Findings:
        losses = losses_of(step, self._selected)
        if self.unit == "round":
            ended = self._rounds.add(step.mode, step.number, losses)
            if ended is not None:
                yield from self._judge(ended.pairs(), step.number)
            return
        if step.mode is Mode.PREDICT:
            return
        evaluates = step.mode is Mode.EVAL
        for name, loss in losses.items():
            pair = (math.nan, loss) if evaluates else (loss, math.nan)
            yield from self._judge([(name, *pair)], step.number, evaluates=evaluates)

    def finish(self) -> Findings:
        current = self._rounds.current
        if current is not None:
            yield from self._judge(current.pairs(), self._rounds.last_step)

    def unevaluated(self) -> str | None:
        if self._losses:
            return None
        alone = "; to judge the training loss alone: unit=step"
        return self._selected.missing() or self._rounds.missing() + alone

    def _judge(
        self,
        pairs: Sequence[tuple[str, float, float]],
        step: int,
        *,
        evaluates: bool | None = None,
    ) -> Findings:
        """Judge losses of training and validation; of single steps, of the one that they are of."""
        for name, train, validation in pairs:
            loss = self._losses.setdefault(name, _Loss())
            if evaluates is not True:
                loss.train.add(train, step, self.delta, relative=self.delta_relative)
            if evaluates is not False:
                loss.validated = True
                loss.validation.add(validation, step, self.delta, relative=self.delta_relative)
            is_stale = self._is_stale(loss)
            if is_stale and not loss.told:
                yield self._finding(name, loss, step)
            loss.told = is_stale

    def _is_stale(self, loss: _Loss) -> bool:
        train = loss.train.stale >= self.patience_train
        validation = loss.validation.stale >= self.patience_validation
        if not loss.validated:
            return train
        if self.combine == "validation":
            return validation and not loss.validation.last <= loss.validation.loss
        return (train and validation) if self.combine == "both" else (train or validation)

    def _finding(self, name: str, loss: _Loss, step: int) -> Finding:
        by_train = not loss.validated or loss.validation.stale < self.patience_validation
        what, best = ("training", loss.train) if by_train else ("validation", loss.validation)
        patience = self.patience_train if by_train else self.patience_validation
        flat = loss.train.stale >= self.patience_train
        goes_on = "is flat, too" if flat else "still improves"
        more = "" if by_train else f"; training {goes_on}"
        return Finding(
            self.name,
            step,
            name,
            f"{name}: no new best {what} loss for {best.stale} {self.unit}s (patience {patience});"
            f" best {number(best.loss)} at step {best.step}, now {number(best.last)}{more}",
            value=float(best.stale),
            threshold=float(patience),
            severity="info" if flat else "warning",
            remedy=f"go back to step {best.step}, and stop earlier",
            evidence={"best": best.loss, "best_step": best.step, "now": best.last},
        )
