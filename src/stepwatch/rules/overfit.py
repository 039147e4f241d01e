"""The rule that compares validation with training."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..finding import Finding
from ..steps import Mode
from .checks import number, overfit_ratio
from .loss_memory import Round, Rounds, is_loss, losses_of
from .rule import Findings, Rule
from .scope import Selection, above, at_least
from .step_view import StepView


class Overfit(Rule):
    """A validation loss that stays well above the training loss.

    A round is a run of TRAIN steps and the run of EVAL steps after it. It is judged at the
    first TRAIN step of the next round, the last one at the end of training. In boosting, each step
    is a round, with ``train-rmse`` and ``validation-rmse``. Dropout and label smoothing, which
    only training has, shift the ratio.

    Args:
        tensor_regex: Scalars in whose name one of these finds itself; by default the losses.
        start_step: First step at which a round may begin.
        patience: So many bad rounds in a row are tolerated.
        ratio_threshold: A round is bad when its mean validation loss is above its mean training
            loss by more than this fraction of the latter,
        rising_by: and, if given, above the best validation loss so far by this fraction of it.
    """

    name = "overfit"
    per_model = True

    def __init__(
        self,
        tensor_regex: Sequence[str] = (),
        start_step: int = 0,
        patience: int = 1,
        ratio_threshold: float = 0.1,
        rising_by: float | None = None,
    ) -> None:
        at_least("start_step", start_step, 0)
        at_least("patience", patience, 0)
        above("ratio_threshold", ratio_threshold, 0)
        at_least("rising_by", 0 if rising_by is None else rising_by, 0)
        self.tensor_regex = tuple(tensor_regex)
        self.start_step = start_step
        self.patience = patience
        self.ratio_threshold = ratio_threshold
        self.rising_by = rising_by
        self._losses = Selection(() if tensor_regex else ("losses",), tensor_regex, keep=is_loss)
        self._rounds = Rounds()
        self._bad_rounds: dict[str, int] = {}
        self._best: dict[str, float] = {}
        self._judged = False

    def check(self, step: StepView) -> Findings:
        ended = self._rounds.add(step.mode, step.number, losses_of(step, self._losses))
        if ended is not None:
            yield from self._judge(ended, step.number, step.mode.value)

    def finish(self) -> Findings:
        current = self._rounds.current
        if current is not None:
            yield from self._judge(current, self._rounds.last_step, Mode.EVAL.value)

    def unevaluated(self) -> str | None:
        return None if self._judged else self._losses.missing() or self._rounds.missing()

    def _judge(self, ended: Round, at_step: int, mode: str) -> Findings:
        if ended.first_step < self.start_step:
            return
        for name, train, validation in ended.pairs():
            self._judged = True
            ratio = overfit_ratio(train, validation)
            if math.isnan(ratio):
                continue
            bad = ratio > self.ratio_threshold and self._is_rising(name, validation)
            count = self._bad_rounds[name] = self._bad_rounds.get(name, 0) + 1 if bad else 0
            self._best[name] = min(self._best.get(name, math.inf), validation)
            # once for each time it starts: rounds may be further apart than any cooldown
            if count == self.patience + 1:
                yield Finding(
                    self.name,
                    at_step,
                    name,
                    f"{name}: validation loss exceeds training loss by {ratio:.0%}"
                    f" ({number(validation)} vs {number(train)}) for {count} rounds in a row"
                    f" (> patience {self.patience}) at step {at_step}",
                    mode=mode,
                    value=ratio,
                    threshold=self.ratio_threshold,
                    remedy="regularize, augment or gather data, or use a smaller model",
                    evidence={"train": train, "validation": validation, "rounds": count},
                )

    def _is_rising(self, name: str, validation: float) -> bool:
        if self.rising_by is None or not math.isfinite(validation):
            return True
        best = self._best.get(name, math.inf)
        return validation > best + self.rising_by * abs(best)
