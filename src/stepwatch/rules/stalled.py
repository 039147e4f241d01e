"""The rule on training that stands still."""

from __future__ import annotations

from collections.abc import Mapping

from ..finding import Finding
from .checks import listed, number
from .rule import Findings, Rule
from .scope import above
from .step_view import StepView

_SECOND = 10**9
#: A threshold below so many times the longest wait so far kills what only pauses.
_SAFE = 3


class StalledTrainingRule(Rule):
    """No step for too long while the run goes on.

    The only rule that looks at the clock: it judges while a run is watched, and never in replay.
    A step counts from when it is seen, so that the clocks of two machines need not agree. Where
    other workers went on without some, it names these.

    Args:
        threshold: So many seconds without a step are too long.
        count_startup: Wait for the first step, too; by default the clock starts with it.
        stop_training_on_fire: Ask, in the finding, for the training to be stopped.
        training_job_name_prefix: Of the job that is to be stopped.
    """

    name = "stalled_training"

    def __init__(
        self,
        threshold: int = 1800,
        count_startup: bool = False,
        stop_training_on_fire: bool = False,
        training_job_name_prefix: str | None = None,
    ) -> None:
        above("threshold", threshold, 0)
        self.threshold = threshold
        self.count_startup = count_startup
        self.stop_training_on_fire = stop_training_on_fire
        self.training_job_name_prefix = training_job_name_prefix
        self._last: tuple[int, str] | None = None
        self._fresh = self._ticked = False
        self._since_ns: int | None = None
        self._longest_s = 0.0

    def check(self, step: StepView) -> Findings:
        self._last = (
            step.number,
            f"step {step.number} ({step.mode} {step.mode_step}) of " + (", ".join(step.workers)),
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
        return Finding(
            self.name,
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
