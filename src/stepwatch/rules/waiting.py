"""Rules on time: steps that wait for data, and a worker that all others wait for."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..finding import Finding
from .checks import Floats, number
from .rule import Findings, Rule
from .scalars import few_steps
from .scope import above, at_least, within
from .step_view import StepView

#: A window is judged at every so many TRAIN steps.
EVERY = 10


class DataStall(Rule):
    """Steps that spend much of their time waiting for the next batch.

    Waiting often takes most of the time (Mohan et al.: Analyzing and mitigating data stalls in
    DNN training, 2021). Both times are summed over a window of TRAIN steps.

    Args:
        max_share: The share of the time that may be waited, between 0 and 1.
        min_wait_ms: Mean wait in milliseconds below which nobody would notice. At least 0.
        window: TRAIN steps.
        warmup: TRAIN steps before the first, while workers of the loader start.
    """

    name = "data_stall"
    needs = ("loop",)

    def __init__(
        self,
        max_share: float = 0.3,
        min_wait_ms: float = 5.0,
        window: int = 50,
        warmup: int = 10,
    ) -> None:
        within("max_share", max_share, 0, 1)
        at_least("min_wait_ms", min_wait_ms, 0)
        at_least("window", window, 1)
        at_least("warmup", warmup, 0)
        self.max_share, self.min_wait_ms = max_share, min_wait_ms
        self.window, self.warmup = window, warmup
        self._times: dict[str, deque[tuple[float, float]]] = {}
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for worker in step.workers:
            wait = step.scalar("loop/data_wait_seconds", worker)
            seconds = step.scalar("loop/step_seconds", worker)
            if not (wait >= 0 and seconds > 0):
                continue
            self._steps += 1
            if self._steps <= self.warmup:
                continue
            times = self._times.setdefault(worker, deque(maxlen=self.window))
            times.append((wait, seconds))
            if len(times) == self.window and self._steps % EVERY == 0:
                yield from self._judge(step, worker, np.array(times))

    def unevaluated(self) -> str | None:
        if not self._steps:
            return "no wait for a DataLoader was seen"
        return few_steps(self._steps, self.warmup + self.window)

    def _judge(self, step: StepView, worker: str, times: Floats) -> Findings:
        waited, total = times.sum(axis=0).tolist()
        # one long wait, such as that for a new epoch, is not each step's
        typical_ms = 1000 * float(np.median(times[:, 0]))
        share = waited / total
        if share > self.max_share and typical_ms > self.min_wait_ms:
            yield Finding(
                self.name,
                step.number,
                "loop/data_wait_seconds",
                f"{share:.0%} of the time of the last {self.window} TRAIN steps up to step"
                f" {step.number} was waited for data (> {self.max_share:.0%}),"
                f" {number(typical_ms)} ms in a step",
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

    Args:
        max_share: So much slower than the others, as a fraction of a step,
        min_behind_ms: and by so many milliseconds, below which nobody would notice. At least 0.
        window: TRAIN steps, over which medians are taken.
    """

    name = "straggler"
    needs = ("loop",)

    def __init__(
        self, max_share: float = 0.1, min_behind_ms: float = 10.0, window: int = 50
    ) -> None:
        above("max_share", max_share, 0)
        at_least("min_behind_ms", min_behind_ms, 0)
        at_least("window", window, 1)
        self.max_share, self.min_behind_ms, self.window = max_share, min_behind_ms, window
        self._times: dict[str, deque[tuple[float, float, float]]] = {}
        self._steps = 0
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains or len(step.workers) < 2:
            return
        for worker in step.workers:
            seconds = step.scalar("loop/step_seconds", worker)
            wait = step.scalar("loop/data_wait_seconds", worker)
            forward = step.scalar("loop/forward_seconds", worker)
            if seconds > 0:
                times = self._times.setdefault(worker, deque(maxlen=self.window))
                times.append(
                    (seconds, wait if wait >= 0 else 0.0, forward if forward >= 0 else 0.0)
                )
        self._steps += 1
        if self._steps % EVERY:
            return
        full = {
            worker: np.median(np.array(times), axis=0)
            for worker, times in self._times.items()
            if len(times) == self.window and worker in step.workers
        }
        if len(full) > 1:
            self._judged = True
            yield from self._judge(step, full)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return (
            f"no {self.window} TRAIN steps of several workers were seen together"
            "; stepwatch check RUN judges all workers"
        )

    def _judge(self, step: StepView, medians: dict[str, Floats]) -> Findings:
        for worker, own in medians.items():
            others = np.median([m for other, m in medians.items() if other != worker], axis=0)
            behind = float(np.maximum(own - others, 0.0).max())
            share = behind / float(others[0])
            if share > self.max_share and 1000 * behind > self.min_behind_ms:
                yield Finding(
                    self.name,
                    step.number,
                    "loop/step_seconds",
                    f"{worker} takes {number(1000 * behind)} ms longer for a step than the others"
                    f" ({share:.0%} of {number(1000 * float(others[0]))} ms, median of"
                    f" {self.window} TRAIN steps up to step {step.number})",
                    worker=worker,
                    value=share,
                    threshold=self.max_share,
                    condition="straggler",
                    remedy="look at this machine: its data, its other processes, its temperature",
                )
