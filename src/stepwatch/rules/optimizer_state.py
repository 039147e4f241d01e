"""The rule on the state of optimizers."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import (
    EvidenceView,
    Findings,
    NamedRows,
    NotApplicable,
    Rule,
    few_steps,
)
from ..judge.step_view import StepView, TensorGroup
from ..numerics.measures import Floats, listed, non_finite, number
from ..numerics.statistics import MAX, MIN
from .shared import begun_anew, is_skipped, largest_of, prefixed, weighted_mean

# Moments that are averages of what was, and the power of the gradient that they average.
_MOMENTS = {"exp_avg": 1, "exp_avg_sq": 2}
#: An average may be larger than all it was made of by this factor, and no more: weight decay may
#: be part of the gradient.
SLACK = 1e3
#: A loss below such a part of what it began at scatters as numbers are rounded.
SPENT = 1e-3
#: At the first step the RMS is 1 but for elements without a gradient, whatever the gradient.
LEAST_RMS = 0.05


class StaleOptimizerState(Rule):
    """An optimizer whose state does not fit the gradients.

    ``rms``: gradients are larger than the second moment of an Adam-like optimizer expects. The
    RMS of ``g / sqrt(v)`` is about 1; above 2.3 spikes of the loss follow (Wortsman et al.: Stable
    and low-precision training for large-scale vision-language models, 2023). It is that of all
    parameters together, and must be reached in half of the last samples.

    ``epsilon``: the RMS stays far below 1 from the first sample on, because the optimizer's epsilon
    is larger than the second moment, and updates are as small as that makes them.

    ``reset``: the count of steps in the state went back, or stands still, though the same
    parameters are trained with about the same learning rate: the optimizer was made anew, or
    resumed without its state. Where the script gave the model other weights, which are of no file,
    it begins anew.

    ``impossible``: a moment is larger than every gradient it could be an average of: memory was
    corrupted, or something else writes to the state. Where the gradients of some steps are not
    known, it is larger than what any gradient of the model could have made of it.
    """

    name = "stale_optimizer_state"
    needs = ("optimizer_states", "gradients")
    training_only = True
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {"epsilon": "divisor", "*": "state"}
    view = EvidenceView("optimizer_states", "rms")

    max_rms: float = parameter(2.3, "The largest RMS that is tolerated.", above=0)
    looks: int = parameter(4, "Looks of which half must be above it.", at_least=1)
    warmup: int = parameter(3, "Looks before the first judgement of `rms`.", at_least=0)

    def begin(self) -> None:
        self._workers: dict[str, _State] = {}
        self._num_samples = 0
        #: The first of each loss, and the lowest so far, at the steps that are judged.
        self._losses: dict[str, tuple[float, float]] = {}

    def check(self, step: StepView) -> Findings:
        for group in step.groups("gradients"):
            state = self._state(group.record.worker)
            state.add_gradients(step, group)
            state.changes += not is_skipped(step, group.record.worker)
        for worker in begun_anew(step):
            self._state(worker).begins_anew = True
        self._num_samples += any(True for _ in step.groups("optimizer_states"))
        for group in prefixed(step, "optimizer_states", "update_rms/"):
            yield from self._evaluate_rms(step, group)
        for group in prefixed(step, "optimizer_states", "optimizer_state/.*/step$"):
            yield from self._evaluate_steps(step, group)
        for group in prefixed(step, "optimizer_states", "optimizer_state/.*/exp_avg(_sq)?$"):
            yield from self._evaluate_moments(step, group)

    def unevaluated(self) -> str | None:
        if not self._num_samples:
            return NotApplicable("no optimizer was seen that keeps a state")
        return few_steps(self._num_samples, 2)

    def _state(self, worker: str) -> _State:
        return self._workers.setdefault(worker, _State(self.looks))

    def _evaluate_rms(self, step: StepView, group: TensorGroup) -> Findings:
        state = self._state(group.record.worker)
        rms = math.sqrt(weighted_mean(group, power=2))
        if not rms > 0:  # without gradients, or with nan, it is not what they are divided by
            return
        state.num_rms += 1
        state.most_rms = max(state.most_rms, rms)
        if state.num_rms >= self.looks and state.most_rms < LEAST_RMS:
            yield self.finding(
                step,
                group[0],
                f"gradients are {number(rms)} times what the optimizer divides them by at step"
                f" {step.train_step}, and less than {number(LEAST_RMS)} times at every look so far",
                value=rms,
                threshold=LEAST_RMS,
                condition="epsilon",
                remedy="lower the optimizer's eps, or scale the loss up: eps outweighs the"
                " gradients",
            )
        is_learned = self._is_learned(step)
        is_large = rms > self.max_rms and state.num_rms > self.warmup
        state.recent.append(is_large and not is_learned)
        if 2 * sum(state.recent) >= self.looks and state.recent[-1]:
            worst = largest_of(group)
            yield self.finding(
                step,
                worst,
                f"gradients are {number(rms)} times what the optimizer's second moment expects at"
                f" step {step.train_step} (> {number(self.max_rms)}), at {sum(state.recent)} of"
                f" {len(state.recent)} looks; most of all {worst.name}"
                f" ({number(worst.statistics.mean)})",
                value=rms,
                threshold=self.max_rms,
                condition="rms",
                remedy="a spike of the loss may follow: lower beta2 or the learning rate, or clip"
                " updates by their RMS",
            )

    def _is_learned(self, step: StepView) -> bool:
        """Return whether the losses were once a small part of the first: what comes is chance."""
        for one in step.tensors("losses"):
            first, lowest = self._losses.get(one.name, (one.scalar, math.inf))
            self._losses[one.name] = first, min(lowest, one.scalar)
        lasting = self._losses.values()
        return bool(lasting) and all(0 <= lowest < SPENT * first for first, lowest in lasting)

    def _evaluate_steps(self, step: StepView, group: TensorGroup) -> Findings:
        state = self._state(group.record.worker)
        names = tuple(group.names)
        now = group.quantity("mean")
        before, at = state.steps.get(names, (None, 0))
        state.steps = {names: (now, step.train_step)}
        changes, state.changes = state.changes, 0
        begins_anew, state.begins_anew = state.begins_anew, False
        # with another learning rate it is another phase of the training
        rate_changed = state.changes_rate(step, group.record.worker)
        rows = group.record.layout.row_of
        trained = np.array([f"gradient/{name[16:-5]}" in rows for name in names])
        if before is None or changes < 2 or not trained.any():
            return
        back = trained & (now <= before)
        if back.sum() == trained.sum() and not (rate_changed or begins_anew):
            yield self.finding(
                step,
                names[int(np.argmax(back))],
                f"the optimizer's state says {number(float(now.max()))} steps at step"
                f" {step.train_step}"
                f" and said {number(float(before.max()))} at step {at}: it was made anew while the"
                f" same {len(names)} parameters are trained",
                worker=group.record.worker,
                value=float(now.max()),
                threshold=float(before.max()),
                condition="reset",
                remedy="create the optimizer once, and load its state with the model's when"
                " training is resumed",
            )

    def _evaluate_moments(self, step: StepView, group: TensorGroup) -> Findings:
        state = self._state(group.record.worker)
        rows = group.record.statistics[group.rows]
        now = np.maximum(np.abs(rows[:, MIN]), np.abs(rows[:, MAX])).tolist()
        bad = [
            (tensor, value)
            for tensor, value in zip(group, now, strict=True)
            if state.is_impossible(tensor.name, value)
        ]
        if bad:
            worst, largest = max(bad, key=lambda pair: pair[1])
            yield self.finding(
                step,
                worst,
                f"{listed([tensor.name for tensor, _ in bad])}: {number(largest)} at step"
                f" {step.train_step} is more than the gradients so far can have made of it",
                value=largest,
                severity="error",
                condition="impossible",
                remedy="restart from a checkpoint before this step; if it happens again, test the"
                " memory of this machine",
            )


class _State:
    """What is remembered of one worker.

    Args:
        window: Of how many of the last RMS it is kept whether they were too large.
    """

    def __init__(self, window: int) -> None:
        self.recent: deque[bool] = deque(maxlen=window)
        self.num_rms = 0
        self.most_rms = 0.0
        self._rate = math.nan
        #: Steps since the state was last compared that were not skipped by a gradient scaler.
        self.changes = 0
        #: Whether the model was given other weights since.
        self.begins_anew = False
        self.steps: dict[tuple[str, ...], tuple[Floats, int]] = {}
        self._moments: dict[str, float] = {}
        self._largest = NamedRows()
        # Whether gradients of some TRAIN steps are not known, and the last of which they are.
        self._has_gaps, self._last_step = False, -1

    def changes_rate(self, step: StepView, worker: str) -> bool:
        """Return whether the first learning rate is far from what it was when asked last."""
        before, self._rate = self._rate, step.scalar("learning_rate/0", worker)
        return bool(max(before, self._rate) > 2 * min(before, self._rate))

    def add_gradients(self, step: StepView, group: TensorGroup) -> None:
        """Remember how large each gradient ever was."""
        self._has_gaps |= step.trains and step.mode_step > self._last_step + 1
        self._last_step = step.mode_step if step.trains else self._last_step
        rows = group.record.statistics[group.rows]
        now = np.fmax(-rows[:, MIN], rows[:, MAX])
        now[non_finite(rows) > 0] = np.inf
        at = self._largest.rows(group.names)
        self._largest.values[at] = np.fmax(self._largest.values[at], now)

    def is_impossible(self, name: str, value: float) -> bool:
        """Return whether a moment is too large for what it was and for all gradients so far."""
        parameter, _, what = name.removeprefix("optimizer_state/").rpartition("/")
        index = self._largest.index.get(f"gradient/{parameter}")
        before = self._moments.get(name)
        self._moments[name] = value
        if index is None or before is None:
            return False
        # The moments of one parameter come together, so each may take its gradient; one that was
        # never seen may have been as large as any.
        seen = self._largest.values if self._has_gaps else self._largest.values[index]
        largest = float(np.max(seen)) ** _MOMENTS[what]
        return value > SLACK ** _MOMENTS[what] * max(before, largest, 1e-30)
