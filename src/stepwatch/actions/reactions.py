"""Does about findings what a policy says, and notes how it went.

Nothing here can stop or delay a training but an action that was asked to: what takes time has a
thread of its own, what is done to the training is asked of its control, and whatever raises ends
in a note. The notes are the audit log of the run: what was done about which finding, by whom. An
action is done once about each finding, and not too often.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

from ..capture.control import AlreadyDone
from ..errors import ConfigError, StepwatchError
from ..formats.findings import ActionNote, Outcome, read_actions, write_actions
from ..model.record import ScalarSteps, StepRecord
from ..model.steps import Mode
from ..runtime.background import Background
from ..store import Store
from . import ActionContext, Change, Control, Finding, Guard, Notification, Remainder
from .policy import PolicyEntry

#: How long it is waited before the second, third and fourth attempt, seconds.
BACKOFF_S = (1.0, 5.0, 25.0)
_TICK_S = 0.25


#: Called after an attempt: with what was done, or raised; and whether it was the last attempt.
OnAttempt = Callable[["str | Exception", bool], None]


@dataclass(slots=True, eq=False)
class _Job:
    act: Callable[[], str]
    on_attempt: OnAttempt
    attempts: int = 0
    due: float = 0.0
    is_settled: bool = False


class RetryQueue:
    """A thread on which things are done; made when the first one is.

    Args:
        backoff_s: How long to wait before each further attempt, seconds.
    """

    def __init__(self, backoff_s: Sequence[float] = BACKOFF_S) -> None:
        self._backoff_s = tuple(backoff_s)
        self._background: Background[_Job] | None = None
        self._open: list[_Job] = []
        self._waiting: list[_Job] = []  # of the thread alone
        self._closing = False

    def submit(self, act: Callable[[], str], on_attempt: OnAttempt) -> None:
        """Have something done."""
        job = _Job(act, on_attempt)
        self._open = [*(one for one in self._open if not one.is_settled), job]
        if self._background is None:
            self._background = Background(
                self._attempt, tick=self._again, tick_s=_TICK_S, name="stepwatch-actions"
            )
        if not self._background.submit(job):
            self._settle(job, TimeoutError("it came too late, or too much was waiting"))

    def begin_close(self) -> None:
        """Wait no more between attempts."""
        self._closing = True

    def close(self, timeout: float) -> None:
        """Attempt at once what waits; give up what is not done in so many seconds."""
        self.begin_close()
        if self._background is None:
            return
        self._background.close(timeout)
        for job in self._open:
            if not job.is_settled:
                self._settle(job, TimeoutError("it was not done when the training had ended"))

    def _attempt(self, job: _Job) -> None:
        job.attempts += 1
        try:
            result: str | Exception = job.act()
        except Exception as error:  # noqa: BLE001  it is anybody's code and network
            result = error
        if isinstance(result, str) or job.attempts > len(self._backoff_s):
            self._settle(job, result)
        elif not job.is_settled:  # else it was given up meanwhile
            job.due = monotonic() + self._backoff_s[job.attempts - 1]
            self._waiting.append(job)
            job.on_attempt(result, False)

    def _again(self) -> None:
        for job in list(self._waiting):
            while job in self._waiting and (self._closing or job.due <= monotonic()):
                self._waiting.remove(job)
                self._attempt(job)

    @staticmethod
    def _settle(job: _Job, result: str | Exception) -> None:
        if not job.is_settled:
            job.is_settled = True
            job.on_attempt(result, True)


# How long the end of a training waits for the last of it to be stored.
_CLOSE_TIMEOUT_S = 5.0


class ActionLog:
    """Notes what is done, from any thread and without waiting; a thread of its own stores it.

    Args:
        store: Where the run lies.
        who: The watcher that does it.
    """

    def __init__(self, store: Store, who: str) -> None:
        self._store, self._who = store, who
        #: What was noted by others, such as an earlier watcher of the run.
        self.before = read_actions(store)
        self._notes: list[ActionNote] = []
        self._lock = threading.RLock()  # a signal handler may note, or close, in the middle
        self._background: Background[int] | None = None
        self._stored = 0

    def note(
        self,
        entry: PolicyEntry,
        finding: Finding,
        outcome: Outcome,
        detail: str = "",
        error: str = "",
    ) -> None:
        """Note how it went."""
        note = ActionNote(
            time_ns=time.time_ns(),
            finding_id=finding.finding_id,
            rule=finding.rule,
            step=finding.step,
            action=entry.name,
            entry=entry.entry_id,
            outcome=outcome,
            detail=detail,
            error=error,
        )
        with self._lock:
            self._notes.append(note)
            if self._background is None:
                self._background = Background(self._write, name="stepwatch-log")
            self._background.submit(len(self._notes))

    def close(self) -> None:
        """Store what is left, if the store takes it in time."""
        if self._background is not None:
            self._background.close(_CLOSE_TIMEOUT_S)

    def _write(self, count: int) -> None:
        if count > self._stored:  # else what came after it was stored with it
            notes = list(self._notes)
            write_actions(self._store, self._who, notes)
            self._stored = len(notes)


class RateLimit:
    """Admits findings to an action.

    Args:
        entry: The action and its terms.
    """

    def __init__(self, entry: PolicyEntry) -> None:
        self.entry = entry
        self._known: set[str] = set()
        self._count = 0
        self._last: int | None = None
        self._lock = threading.RLock()  # batches are judged on another thread than steps

    def recall(self, notes: Iterable[ActionNote]) -> None:
        """Count what was done before, maybe by another process, about findings of the run."""
        for note in notes:
            if note.entry == self.entry.entry_id and note.outcome == "done":
                self._known.add(note.finding_id)
                self._count += 1
                self._last = max(note.step, self._last or 0)

    def is_known(self, finding: Finding) -> bool:
        """Return whether this finding came before, and remember it."""
        with self._lock:
            known = finding.finding_id in self._known
            self._known.add(finding.finding_id)
            return known

    def limit(self, step: int) -> str:
        """Count one at this step, unless a limit is reached; return which, empty for none."""
        at_most, cooldown = self.entry.at_most, self.entry.terms.cooldown_steps
        with self._lock:
            if at_most is not None and self._count >= at_most:
                return f"at_most={at_most} was reached"
            # What compares workers comes later than what each finds by itself.
            if self._last is not None and abs(step - self._last) < cooldown:
                return f"fewer than cooldown_steps={cooldown} steps after step {self._last}"
            self._count += 1
            self._last = step
            return ""

    def give_back(self) -> None:
        """Uncount one about which nothing was done after all."""
        with self._lock:
            self._count -= 1


# How long the end of a training waits for what is still to be done.
CLOSE_TIMEOUT_S = 10.0
_ELSEWHERE = "it needs the training itself, in its own process; give it to: stepwatch run"


class Reactions:
    """Does what a policy says; give it to a hook as a listener, after the ``LiveWatch``.

    Args:
        entries: The policy, see ``policy.parse_actions``.
        print_line: Shows a line.
        hides: Whether a finding need not be shown.
        restarted: Called once all steps before a restored state were evaluated.
        backoff_s: How long to wait before each further attempt of what failed, seconds.

    Example:
        >>> from stepwatch.actions.policy import parse_actions
        >>> reactions = Reactions(parse_actions("checkpoint"), print)
        >>> reactions.found(Finding("loss_spike", 7, "", "9 is far above 1"))  # doctest: +ELLIPSIS
        Loss spike, step 7 (loss_spike)
            9 is far above 1
        checkpoint failed: it needs the training itself, in its own process; ...
    """

    def __init__(
        self,
        entries: Sequence[PolicyEntry],
        print_line: Callable[[str], None],
        *,
        restarted: Callable[[], None] = lambda: None,
        hides: Callable[[Finding], bool] = lambda _: False,
        backoff_s: Sequence[float] = BACKOFF_S,
    ) -> None:
        self._limits = [RateLimit(entry) for entry in entries]
        self._queues = {id(entry.action): RetryQueue(backoff_s) for entry in entries}
        self._print_line, self._restarted = print_line, restarted
        self._context = ActionContext("", print_line, hides)
        self._audit: ActionLog | None = None
        self._control: Control | None = None
        self._restarted_at = -1
        #: Whether anything may be done to the training.
        self.changes_training = any(isinstance(entry.action, Change) for entry in entries)

    def attach(self, control: Control) -> None:
        """Prepare what may be done to the training, which begins."""
        self._control = control
        for rate in self._limits:
            action = rate.entry.action
            try:
                if isinstance(action, Guard):
                    action.guard(control, partial(self._skips, rate))
                elif isinstance(action, Change):
                    action.prepare(control)
            except Exception as error:  # noqa: BLE001  the training goes on without the action
                self._print_line(f"{rate.entry.name} cannot be done here: {error}")

    # As a listener

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Begin the audit log of a run, and count what was done about its findings before."""
        del patterns
        self._context = replace(self._context, run=store.url)
        self._audit = ActionLog(store, worker)
        for rate in self._limits:
            rate.recall(self._audit.before)

    def on_step(self, record: StepRecord) -> None:
        """Handle a step that all rules have evaluated."""
        if self._control is not None:
            self._control.judged(record.step)
            if record.step >= self._control.restored_at:
                self._note_restored(self._control.restored_at)

    def on_scalars(self, steps: ScalarSteps) -> None:
        """Handle steps in a row that all rules have evaluated."""
        self.on_step(steps.last())

    def remote(self, send: object) -> None:
        """All is done in the process of the training."""

    def on_judged(self, step: int) -> None:
        """Handle that all rules have evaluated the steps up to this one, in a companion.

        What a companion is asked for it does before it evaluates the steps that come after.
        """
        if self._control is not None:
            self._control.judged(step)
            self._note_restored(self._control.restored_at)

    def _note_restored(self, step: int) -> None:
        if step > self._restarted_at:
            self._restarted_at = step
            self._restarted()

    def finish(self) -> None:
        """Wait a while for what is still to be done; note the rest as failed."""
        queues = self._queues.values()
        give_up_at = monotonic() + CLOSE_TIMEOUT_S
        for queue in queues:
            queue.begin_close()
        for queue in queues:
            queue.close(max(0.0, give_up_at - monotonic()))
        if self._audit is not None:
            self._audit.close()

    # As what is called with findings

    def found(self, finding: Finding) -> None:
        """Do what is to be done about a finding."""
        for rate in self._limits:
            if rate.entry.wants(finding) and not rate.is_known(finding):
                self._react(rate, finding)

    def _react(self, rate: RateLimit, finding: Finding) -> None:
        action = rate.entry.action
        if not self._is_admitted(rate, finding):
            return
        on_attempt = partial(self._on_attempt, rate, finding)
        if isinstance(action, Notification):
            act = partial(action.act, finding, self._context)
            if action.at_once:
                on_attempt(_tried(act))
            else:
                self._queues[id(action)].submit(act, on_attempt)
        elif self._control is None:
            on_attempt(ConfigError(_ELSEWHERE))
        elif isinstance(action, Change):
            self._control.request(partial(action.change, finding), on_attempt)

    def _is_admitted(self, rate: RateLimit, finding: Finding) -> bool:
        """Return whether it is done, and note it if not."""
        entry = rate.entry
        limit = rate.limit(finding.step)
        if limit:
            self._note(entry, finding, "limited", limit)
        elif entry.terms.dry_run:
            self._print_line(f"{entry.name} would be done about: {finding.headline()}")
            self._note(entry, finding, "dry-run")
        else:
            return True
        return False

    def _on_attempt(
        self,
        rate: RateLimit,
        finding: Finding,
        result: str | Remainder | Exception,
        is_last: bool = True,
    ) -> None:
        """Note how it went; what is left of it is done in the background."""
        entry = rate.entry
        if isinstance(result, AlreadyDone) or (isinstance(result, Exception) and is_last):
            rate.give_back()
        if isinstance(result, str):
            if isinstance(entry.action, Change):
                self._print_line(f"{entry.name}: {result}")
            self._note(entry, finding, "done", result)
        elif not isinstance(result, Exception):
            on_attempt = partial(self._on_attempt, rate, finding)
            self._queues[id(entry.action)].submit(result, on_attempt)
        elif is_last:
            why = f"{type(result).__name__}: {result}"
            why = str(result) if isinstance(result, StepwatchError) else why
            self._print_line(f"{entry.name} failed: {why}")
            self._note(entry, finding, "failed", error=why)
        else:
            self._note(entry, finding, "retried", error=f"{type(result).__name__}: {result}")

    def _skips(self, rate: RateLimit, step: int, why: str, measured: float) -> bool:
        """Return whether a bad batch is skipped; called on the training's thread."""
        finding = Finding(
            rate.entry.name,
            step,
            "",
            f"{why}; the optimizer's step is left out",
            mode=Mode.TRAIN.value,
            value=measured,
            severity="error",
        )
        if not self._is_admitted(rate, finding):
            return False
        self._print_line(f"step {step} {rate.entry.name}: {finding.message}")
        self._note(rate.entry, finding, "done", why)
        return True

    def _note(
        self, entry: PolicyEntry, finding: Finding, outcome: Outcome, detail: str = "", **error: str
    ) -> None:
        if self._audit is not None:
            self._audit.note(entry, finding, outcome, detail, **error)


def _tried(act: Callable[[], str]) -> str | Exception:
    try:
        return act()
    except Exception as error:  # noqa: BLE001  it is anybody's code
        return error
