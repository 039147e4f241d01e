"""Rules on time: training that stands still, waits for data, or for one worker."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule, few_steps
from ..judge.step_view import StepView
from ..model.finding import Finding
from ..numerics.measures import Floats, listed, number
from .history import Series

_SECOND = 10**9
#: A threshold below so many times the longest wait so far kills what only pauses.
_SAFE = 3


class StalledTrainingRule(Rule):
    """No step for too long while the run goes on.

    The only rule that judges by the clock: while a run goes on, and never in replay.
    A step counts from when it arrives, so that the clocks of two machines need not agree. Where
    other workers went on without some, it names these.
    """

    name = "stalled_training"
    sign = "waiting"

    threshold: int = parameter(1800, "So many seconds without a step are too long.", above=0)
    count_startup: bool = parameter(
        False, "Wait for the first step, too; by default the clock starts with it."
    )
    stop_training_on_fire: bool = parameter(
        False, "Stands in the finding's evidence, for an action."
    )
    training_job_name_prefix: str | None = parameter(
        None, "Stands in the finding's evidence, for an action."
    )

    def begin(self) -> None:
        self._last: tuple[int, str] | None = None
        self._fresh = self._ticked = False
        self._since_ns: int | None = None
        self._longest_s = 0.0

    def check(self, step: StepView) -> Findings:
        self._last = (
            step.number,
            f"{step.mode} step {step.mode_step} of " + (", ".join(step.workers)),
        )
        self._fresh = True
        return iter(())

    def tick(self, now_ns: int, last_steps: Mapping[str, int]) -> Findings:
        self._ticked = True
        if self._fresh or (self._since_ns is None and self.count_startup):
            if self._fresh and self._since_ns is not None:
                self._longest_s = max(self._longest_s, (now_ns - self._since_ns) / _SECOND)
            self._since_ns, self._fresh = now_ns, False
        if self._since_ns is None:
            return
        waited = (now_ns - self._since_ns) / _SECOND
        if waited > self.threshold:
            yield self._finding(waited, last_steps)

    def unevaluated(self) -> str | None:
        if self._ticked:
            return None
        return "only a run that goes on can stall: stepwatch run, or stepwatch watch"

    def _finding(self, waited: float, last_steps: Mapping[str, int]) -> Finding:
        number_of_step, last = self._last or (-1, "none")
        near = self.threshold < _SAFE * self._longest_s
        behind = [worker for worker, step in last_steps.items() if step <= number_of_step]
        first = max(last_steps, key=last_steps.__getitem__, default="")
        parted = behind and first not in behind
        return self.finding(
            number_of_step,
            "",
            f"no step for {waited:.0f} s (> {self.threshold} s); the last: {last}"
            + (
                f"; {listed(behind)} stopped there, {first} is at step {last_steps[first]}"
                if parted
                else ""
            )
            + (
                f"; there was a wait of {number(self._longest_s)} s before: a threshold of"
                f" {_SAFE} times that tells a stall from a pause"
                if near
                else ""
            ),
            worker=behind[0] if parted and len(behind) == 1 else "",
            value=waited,
            threshold=float(self.threshold),
            severity="error",
            condition=f"stalled after {number_of_step}",
            remedy="look for a collective that one process never joined, a data loader that waits,"
            " or a full disk",
            evidence={
                "stop_training": self.stop_training_on_fire,
                "training_job_name_prefix": self.training_job_name_prefix,
            },
        )


#: A window is judged at every so many TRAIN steps.
EVERY = 10


class DataStall(Rule):
    """Steps that spend much of their time waiting for the next batch.

    Waiting often takes most of the time (Mohan et al.: Analyzing and mitigating data stalls in
    DNN training, 2021). Both times are summed over a window of TRAIN steps.
    """

    name = "data_stall"
    needs = ("loop",)
    training_only = True
    sign = "waiting"

    max_share: float = parameter(0.3, "The share of the time that may be waited.", between=(0, 1))
    min_wait_ms: float = parameter(
        5.0, "Mean wait in milliseconds below which nobody would notice.", at_least=0
    )
    window: int = parameter(50, "TRAIN steps.", at_least=1)
    warmup: int = parameter(
        10, "TRAIN steps before the first, while workers of the loader start.", at_least=0
    )

    def begin(self) -> None:
        self._times: Series[str, tuple[float, float]] = Series(self.window)

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            wait = step.scalar("loop/data_wait_seconds", worker)
            seconds = step.scalar("loop/step_seconds", worker)
            if not (wait >= 0 and seconds > 0):
                continue
            self._steps += 1
            if self._steps <= self.warmup:
                continue
            times = self._times.add(worker, (wait, seconds))
            if len(times) == self.window and self._steps % EVERY == 0:
                yield from self._evaluate(step, worker, np.array(times))

    def unevaluated(self) -> str | None:
        if not self._steps:
            return "no wait for a DataLoader was seen"
        return few_steps(self._steps, self.warmup + self.window)

    def _evaluate(self, step: StepView, worker: str, times: Floats) -> Findings:
        waited, total = times.sum(axis=0).tolist()
        # one long wait, such as that for a new epoch, is not each step's
        typical_ms = 1000 * float(np.median(times[:, 0]))
        share = waited / total
        if share > self.max_share and typical_ms > self.min_wait_ms:
            yield self.finding(
                step,
                "loop/data_wait_seconds",
                f"input-bound: {share:.0%} of step time ({number(typical_ms)} ms) waits for the"
                f" DataLoader, in the {self.window} TRAIN steps up to step {step.train_step}"
                f" (> {self.max_share:.0%})",
                worker=worker,
                value=share,
                threshold=self.max_share,
                condition="data_stall",
                remedy="raise num_workers and prefetch_factor of the DataLoader, keep its workers"
                " with persistent_workers, or prepare the data beforehand",
                evidence={"wait_ms": typical_ms},
            )


class Straggler(Rule):
    """A worker whose steps take longer than those of the others.

    Where workers wait for each other in each step, all steps are as long as the slowest; then
    its wait for data tells it, or its time until gradients are computed, in which nobody waits for
    another yet. The share is that by which a worker's own time is above the median
    of the others', relative to the length of a step (Lin et al.: Understanding stragglers in
    large model training using what-if analysis, 2025).
    """

    name = "straggler"
    lacks = (
        "no {window} TRAIN steps of several workers were seen together"
        "; stepwatch check RUN judges all workers"
    )
    needs = ("loop",)
    training_only = True
    joint = True
    sign = "waiting"

    max_share: float = parameter(
        0.1, "So much slower than the others, as a fraction of a step.", above=0
    )
    min_behind_ms: float = parameter(
        10.0, "And by so many milliseconds, below which nobody would notice.", at_least=0
    )
    window: int = parameter(50, "TRAIN steps, over which medians are taken.", at_least=1)

    def begin(self) -> None:
        self._times: Series[str, tuple[float, float, float]] = Series(self.window)

    def check(self, step: StepView) -> Findings:
        if len(step.workers) < 2:
            return
        for worker in step.workers:
            seconds = step.scalar("loop/step_seconds", worker)
            wait = step.scalar("loop/data_wait_seconds", worker)
            forward = step.scalar("loop/forward_seconds", worker)
            if seconds > 0:
                known = wait if wait >= 0 else 0.0, forward if forward >= 0 else 0.0
                self._times.add(worker, (seconds, *known))
        self._steps += 1
        if self._steps % EVERY:
            return
        full = {
            worker: np.median(np.array(times), axis=0)
            for worker, times in self._times.items()
            if len(times) == self.window and worker in step.workers
        }
        if len(full) > 1:
            self._evaluated = True
            yield from self._evaluate(step, full)

    def unevaluated(self) -> str | None:
        if not self._steps:
            return NotApplicable(
                "no step of several workers was seen; stepwatch check RUN judges all workers"
            )
        return super().unevaluated()

    def _evaluate(self, step: StepView, medians: dict[str, Floats]) -> Findings:
        for worker, own in medians.items():
            others = np.median([m for other, m in medians.items() if other != worker], axis=0)
            behind = float(np.maximum(own - others, 0.0).max())
            share = behind / float(others[0])
            if share > self.max_share and 1000 * behind > self.min_behind_ms:
                yield self.finding(
                    step,
                    "loop/step_seconds",
                    f"{worker} takes {number(1000 * behind)} ms longer for a step than the others"
                    f" ({share:.0%} of {number(1000 * float(others[0]))} ms, median of"
                    f" {self.window} TRAIN steps up to step {step.train_step})",
                    worker=worker,
                    value=share,
                    threshold=self.max_share,
                    condition="straggler",
                    remedy="look at this machine: its data, its other processes, its temperature",
                )
