"""The state of optimizers: too old for the gradients, forgotten, or not what gradients made it."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from ..finding import Finding
from ..statistics import MAX, MIN
from .checks import Floats, listed, non_finite, number
from .rule import Findings, NothingToJudge, Rule
from .scalars import few_steps, prefixed, sizes
from .scope import above, at_least
from .step_view import StepView, TensorGroup
from .weights import is_skipped

# Moments that are averages of what was, and the power of the gradient that they average.
_MOMENTS = {"exp_avg": 1, "exp_avg_sq": 2}
#: An average may be larger than all it was made of by this factor, and no more: weight decay may
#: be part of the gradient.
SLACK = 1e3
#: At the first step the RMS is 1 but for elements without a gradient, whatever the gradient.
LEAST_RMS = 0.05


class StaleOptimizerState(Rule):
    """An optimizer whose state does not fit the gradients.

    ``rms``: gradients are larger than the second moment of an Adam-like optimizer expects. The
    RMS of ``g / sqrt(v)`` is about 1; above 2.3 spikes of the loss follow (Wortsman et al.: Stable
    and low-precision training for large-scale vision-language models, 2023). It is that of all
    parameters together, and must be reached in half of the last looks.

    ``epsilon``: the RMS stays far below 1 from the first look on, because the optimizer's epsilon
    is larger than the second moment, and updates are as small as that makes them.

    ``reset``: the count of steps in the state went back, or stands still, though the same
    parameters are trained with about the same learning rate: the optimizer was made anew, or
    resumed without its state.

    ``impossible``: a moment is larger than every gradient it could be an average of: memory was
    corrupted, or something else writes to the state.

    Args:
        max_rms: The largest RMS that is tolerated.
        looks: Looks of which half must be above it.
        warmup: Looks before the first judgement of the RMS.
    """

    name = "stale_optimizer_state"
    needs = ("optimizer_states", "gradients")
    per_model = True

    def __init__(self, max_rms: float = 2.3, looks: int = 4, warmup: int = 3) -> None:
        above("max_rms", max_rms, 0)
        at_least("looks", looks, 1)
        at_least("warmup", warmup, 0)
        self.max_rms, self.looks, self.warmup = max_rms, looks, warmup
        self._workers: dict[str, _State] = {}
        self._looks = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for group in step.groups("gradients"):
            state = self._state(group.record.worker)
            state.add_gradients(group)
            state.changes += not is_skipped(step, group.record.worker)
        self._looks += any(True for _ in step.groups("optimizer_states"))
        for group in prefixed(step, "optimizer_states", "update_rms/"):
            yield from self._judge_rms(step, group)
        for group in prefixed(step, "optimizer_states", "optimizer_state/.*/step$"):
            yield from self._judge_steps(step, group)
        for group in prefixed(step, "optimizer_states", "optimizer_state/.*/exp_avg(_sq)?$"):
            yield from self._judge_moments(step, group)

    def unevaluated(self) -> str | None:
        if not self._looks:
            return NothingToJudge("no optimizer was seen that keeps a state")
        return few_steps(self._looks, 2)

    def _state(self, worker: str) -> _State:
        return self._workers.setdefault(worker, _State(self.looks))

    def _judge_rms(self, step: StepView, group: TensorGroup) -> Findings:
        state = self._state(group.record.worker)
        values, weights = group.quantity("mean"), sizes(group)
        known = np.isfinite(values)
        if not known.any():
            return
        rms = math.sqrt(float(np.average(values[known] ** 2, weights=weights[known])))
        state.num_rms += 1
        state.most_rms = max(state.most_rms, rms)
        if state.num_rms >= self.looks and state.most_rms < LEAST_RMS:
            yield self._epsilon(step, group, rms)
        state.recent.append(rms > self.max_rms and state.num_rms > self.warmup)
        if 2 * sum(state.recent) >= self.looks and state.recent[-1]:
            worst = group[int(np.nanargmax(values))]
            yield Finding(
                self.name,
                step.number,
                worst.name,
                f"gradients are {number(rms)} times what the optimizer's second moment expects at"
                f" step {step.number} (> {number(self.max_rms)}), at {sum(state.recent)} of"
                f" {len(state.recent)} looks; most of all {worst.name}"
                f" ({number(worst.statistics.mean)})",
                worker=group.record.worker,
                value=rms,
                threshold=self.max_rms,
                condition="rms",
                remedy="a spike of the loss may follow: lower beta2 or the learning rate, or clip"
                " updates by their RMS",
            )

    def _epsilon(self, step: StepView, group: TensorGroup, rms: float) -> Finding:
        return Finding(
            self.name,
            step.number,
            group[0].name,
            f"gradients are {number(rms)} times what the optimizer divides them by at step"
            f" {step.number}, and less than {number(LEAST_RMS)} times at every look so far",
            worker=group.record.worker,
            value=rms,
            threshold=LEAST_RMS,
            condition="epsilon",
            remedy="lower the optimizer's eps, or scale the loss up: eps outweighs the gradients",
        )

    def _judge_steps(self, step: StepView, group: TensorGroup) -> Findings:
        state = self._state(group.record.worker)
        names = tuple(info.name for info in group.infos)
        now = group.quantity("mean")
        before, at = state.steps.get(names, (None, 0))
        state.steps = {names: (now, step.number)}
        changes, state.changes = state.changes, 0
        # with another learning rate it is another phase of the training
        rate_changed = state.changes_rate(step, group.record.worker)
        rows = group.record.layout.row_of
        trained = np.array([f"gradient/{name[16:-5]}" in rows for name in names])
        if before is None or changes < 2 or not trained.any():
            return
        back = trained & (now <= before)
        if back.sum() == trained.sum() and not rate_changed:
            yield Finding(
                self.name,
                step.number,
                names[int(np.argmax(back))],
                f"the optimizer's state says {number(float(now.max()))} steps at step {step.number}"
                f" and said {number(float(before.max()))} at step {at}: it was made anew while the"
                f" same {len(names)} parameters are trained",
                worker=group.record.worker,
                value=float(now.max()),
                threshold=float(before.max()),
                condition="reset",
                remedy="create the optimizer once, and load its state with the model's when"
                " training is resumed",
            )

    def _judge_moments(self, step: StepView, group: TensorGroup) -> Findings:
        state = self._state(group.record.worker)
        names = [info.name for info in group.infos]
        rows = group.record.statistics[group.rows]
        now = np.maximum(np.abs(rows[:, MIN]), np.abs(rows[:, MAX]))
        bad = [
            index
            for index, (name, value) in enumerate(zip(names, now.tolist(), strict=True))
            if state.is_impossible(name, value)
        ]
        if bad:
            worst = group[max(bad, key=lambda index: now[index])]
            yield Finding(
                self.name,
                step.number,
                worst.name,
                f"{listed([names[index] for index in bad])}: {number(float(now[bad].max()))} at"
                f" step {step.number} is more than the gradients so far can have made of it",
                worker=worst.worker,
                value=float(now[bad].max()),
                severity="error",
                condition="impossible",
                remedy="restart from a checkpoint before this step; if it happens again, test the"
                " memory of this machine",
            )


class _State:
    """What is remembered of one worker.

    Args:
        looks: So many of the last looks at the RMS are kept.
    """

    def __init__(self, looks: int) -> None:
        self.recent: deque[bool] = deque(maxlen=looks)
        self.num_rms = 0
        self.most_rms = 0.0
        self._rate = math.nan
        #: Steps since the state was looked at that were not skipped by a gradient scaler.
        self.changes = 0
        self.steps: dict[tuple[str, ...], tuple[Floats, int]] = {}
        self._moments: dict[str, float] = {}
        self._names: list[str] = []
        self._layout: object = None
        self._largest = np.zeros(0)
        self._index: dict[str, int] = {}

    def changes_rate(self, step: StepView, worker: str) -> bool:
        """Return whether the first learning rate is far from what it was when asked last."""
        before, self._rate = self._rate, step.scalar("learning_rate/0", worker)
        return bool(max(before, self._rate) > 2 * min(before, self._rate))

    def add_gradients(self, group: TensorGroup) -> None:
        """Remember how large each gradient ever was."""
        rows = group.record.statistics[group.rows]
        if group.record.layout is not self._layout:
            self._align(group)
        now = np.fmax(-rows[:, MIN], rows[:, MAX])
        now[non_finite(rows) > 0] = np.inf
        self._largest[self._rows] = np.fmax(self._largest[self._rows], now)

    def is_impossible(self, name: str, value: float) -> bool:
        """Return whether a moment is too large for what it was and for all gradients so far."""
        parameter, _, what = name.removeprefix("optimizer_state/").rpartition("/")
        index = self._index.get(f"gradient/{parameter}")
        before = self._moments.get(name)
        self._moments[name] = value
        if index is None or before is None:
            return False
        # the moments of one parameter are looked at together, so each may take its gradient
        largest = float(self._largest[index]) ** _MOMENTS[what]
        return value > SLACK ** _MOMENTS[what] * max(before, largest, 1e-30)

    def _align(self, group: TensorGroup) -> None:
        for info in group.infos:
            self._index.setdefault(info.name, len(self._index))
        more = len(self._index) - len(self._largest)
        self._largest = np.concatenate([self._largest, np.zeros(more)])
        self._rows = np.array([self._index[info.name] for info in group.infos], np.intp)
        self._layout = group.record.layout
