"""Rules that compare workers, judged while they train, in the process of the first.

They are given the same steps, in the same order, as by ``stepwatch check``; what could not be read
before the training ended is left to that. It is done some milliseconds at a time, and takes a small
share of the time: with hundreds of workers findings come later, and training is no slower.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..errors import StepwatchError, StoreError
from ..formats.manifest import read_manifest
from ..model.collection import BUILT_IN
from ..model.finding import Finding
from ..model.record import StepRecord
from ..store import Store
from ..trial.joint_steps import JointSteps
from .engine import RuleStatus, Watch
from .rule import Watched
from .step_view import StepView

#: The most that a tick takes, and that waiting for the last steps does, seconds.
TICK_S, LAST_S = 0.05, 0.2
#: Of a processor it takes no more than about this share.
MOST_SHARE = 0.02
#: How long it waits after the store refused, seconds.
REFUSED_S = 30.0
_CHECK = "stepwatch check RUN judges all steps of all workers"
_log = logging.getLogger("stepwatch")


def is_joint(watched: Watched) -> bool:
    """Return whether a rule compares what several workers recorded of one step."""
    return bool(getattr(watched.rule, "joint", False))


class JointWatch:
    """Evaluates the steps of all workers of a run by rules that compare workers.

    Args:
        rules: The rules; each is joint.
        store: Where the run lies, in the native format.
        worker: Whose process this is.
        patterns: The patterns of the run's own collections, by collection name.
        clock: Seconds, monotonic; for tests.
        cpu_clock: Seconds of the processor's time that the thread took; for tests.
    """

    def __init__(
        self,
        rules: Sequence[Watched],
        store: Store,
        worker: str,
        patterns: Mapping[str, Sequence[str]],
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._rules, self._patterns = rules, patterns
        self._watch = Watch(rules)
        self._store, self._worker = store, worker
        self._clock, self._cpu_clock = clock, cpu_clock
        self._first: StepRecord | None = None
        self._steps: JointSteps | None = None
        self._last_step = -1
        self._rests_until = 0.0
        self._is_over, self._failure = False, ""

    def begins(self, record: StepRecord) -> None:
        """Take in a step of this worker: with its first one the run begins, or is resumed."""
        if self._first is None:
            self._first = record

    def tick(self) -> list[Finding]:
        """Evaluate what is there, for a moment; return what is news."""
        if self._first is None or self._is_over or self._clock() < self._rests_until:
            return []
        worked_s = self._cpu_clock()
        found = self._evaluate(TICK_S)
        now = self._clock()
        # A part may take longer, and where processors are few a thread waits more than it works.
        worked_s = min(self._cpu_clock() - worked_s, TICK_S)
        self._rests_until = max(self._rests_until, now + worked_s / MOST_SHARE)
        return found

    def finish(self) -> list[Finding]:
        """Evaluate what the others have stored by now; nobody is waited for."""
        can_read = self._first is not None and not self._is_over
        found = self._evaluate(LAST_S, now=True) if can_read else []
        self._is_over = True
        return found + self._watch.finish()

    def end_episodes(self) -> None:
        """The training goes on from an earlier state: what holds from here on is news."""
        self._watch.end_episodes()

    def stop(self) -> None:
        """End the watch before the run ended."""
        self._is_over = True
        self._watch.stop()

    def statuses(self) -> list[RuleStatus]:
        """Return the status of each rule, with how far the workers were compared."""
        return [self._explained(status) for status in self._watch.statuses()]

    def _explained(self, status: RuleStatus) -> RuleStatus:
        if status.status == "InProgress" and self._last_step < 0:
            return replace(status, judged=False)
        if status.status not in ("NoIssuesFound", "NotEvaluated"):
            return status
        if self._failure:
            why = f"the other workers could not be read ({self._failure}); {_CHECK}"
            return replace(status, status="NotEvaluated", details=why)
        if self._last_step < 0:
            why = f"no step of all workers was there to be compared before the end; {_CHECK}"
            return replace(status, status="NotEvaluated", details=why, idle=True)
        if status.status == "NotEvaluated":
            return status
        details = f"{status.details}, up to step {self._last_step}; {_CHECK}"
        return replace(status, details=details)

    def _evaluate(self, seconds: float, *, now: bool = False) -> list[Finding]:
        found: list[Finding] = []
        try:
            steps = self._steps = self._steps or self._open()
            for records in steps.advance(seconds, now=now):
                self._failure = ""
                step = StepView(records, self._patterns)
                self._last_step = step.number
                found += self._watch.evaluate(step)
        except StoreError as error:  # as a distant one does for a moment
            self._failure, self._rests_until = str(error), self._clock() + REFUSED_S
        except StepwatchError as error:
            # The rules of this worker alone go on.
            self._is_over, self._failure = True, str(error)
            _log.warning("workers are compared no more: %s; %s", error, _CHECK)
        except BaseException as error:
            self._is_over, self._failure = True, repr(error)
            raise
        return found

    def _open(self) -> JointSteps:
        manifest = read_manifest(self._store)
        assert manifest is not None  # this worker wrote it
        assert self._first is not None
        return JointSteps(
            self._store, manifest, self._worker, self._first, self._wanted(), self._clock
        )

    def _wanted(self) -> set[str]:
        """Return the collections that the rules need; none if not all of them are known."""
        needs = [set(watched.rule.needs) for watched in self._rules]
        wanted = set().union(*needs)
        is_known = all(needs) and wanted <= {*BUILT_IN} and not self._patterns
        return wanted if is_known else set()
