"""Does about findings what a policy says, and notes how it went.

Nothing here can stop or delay a training but an action that was asked to: what takes time has a
thread of its own, what is done to the training is asked of its control, and whatever raises ends
in a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic

from ..capture.control import Already
from ..errors import ConfigError, StepwatchError
from ..formats.actions import Outcome
from ..record import StepRecord
from ..steps import Mode
from ..store import Store
from . import Change, Control, Finding, Guard, Place, Rest, Tell
from .action_log import ActionLog
from .lane import BACKOFF_S, Lane
from .policy import Entry
from .tally import Tally

# How long the end of a training waits for what is still to be done.
CLOSE_TIMEOUT_S = 10.0
_ELSEWHERE = "it needs the training itself, in its own process; give it to: stepwatch run"


class Reactions:
    """Does what a policy says; give it to a hook as a listener, after the ``LiveWatch``.

    Args:
        entries: The policy, see ``policy.parse_actions``.
        say: Shows a line.
        hides: Whether a finding need not be shown.
        restarted: Called once all steps were looked at that lie before a restored state.
        backoff_s: How long to wait before each further attempt of what failed, seconds.

    Example:
        >>> from stepwatch.actions.policy import parse_actions
        >>> reactions = Reactions(parse_actions("checkpoint"), print)
        >>> reactions.found(Finding("loss_spike", 7, "", "9 is far above 1"))  # doctest: +ELLIPSIS
        step 7 loss_spike: 9 is far above 1
        checkpoint failed: it needs the training itself, in its own process; ...
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        say: Callable[[str], None],
        *,
        restarted: Callable[[], None] = lambda: None,
        hides: Callable[[Finding], bool] = lambda _: False,
        backoff_s: Sequence[float] = BACKOFF_S,
    ) -> None:
        self._tallies = [Tally(entry) for entry in entries]
        self._lanes = {id(entry.action): Lane(backoff_s) for entry in entries}
        self._say, self._restarted = say, restarted
        self._place = Place("", say, hides)
        self._audit: ActionLog | None = None
        self._control: Control | None = None
        self._restarted_at = -1

    def attach(self, control: Control) -> None:
        """Learn what may be done to the training, which begins."""
        self._control = control
        for tally in self._tallies:
            action = tally.entry.action
            try:
                if isinstance(action, Guard):
                    action.guard(control, partial(self._skips, tally))
                elif isinstance(action, Change):
                    action.prepare(control)
            except Exception as error:  # noqa: BLE001  the training goes on without the action
                self._say(f"{tally.entry.name} cannot be done here: {error}")

    # As a listener

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Learn where the run lies, and what was done about its findings before."""
        del patterns
        self._place = replace(self._place, run=store.url)
        self._audit = ActionLog(store, worker)
        for tally in self._tallies:
            tally.recall(self._audit.before)

    def look(self, record: StepRecord) -> None:
        """A step was looked at by all rules."""
        if self._control is None:
            return
        self._control.judged(record.step)
        restored_at = self._control.restored_at
        if restored_at > self._restarted_at and record.step >= restored_at:
            self._restarted_at = restored_at
            self._restarted()

    def finish(self) -> None:
        """Wait a while for what is still to be done; then it is noted as failed."""
        lanes = self._lanes.values()
        give_up_at = monotonic() + CLOSE_TIMEOUT_S
        for lane in lanes:
            lane.begin_close()
        for lane in lanes:
            lane.close(max(0.0, give_up_at - monotonic()))
        if self._audit is not None:
            self._audit.close()

    # As what is called with findings

    def found(self, finding: Finding) -> None:
        """Do what is to be done about a finding."""
        for tally in self._tallies:
            if tally.entry.wants(finding) and not tally.is_known(finding):
                self._react(tally, finding)

    def _react(self, tally: Tally, finding: Finding) -> None:
        action = tally.entry.action
        if not self._is_admitted(tally, finding):
            return
        told = partial(self._told, tally, finding)
        if isinstance(action, Tell):
            act = partial(action.act, finding, self._place)
            if action.at_once:
                told(_tried(act))
            else:
                self._lanes[id(action)].submit(act, told)
        elif self._control is None:
            told(ConfigError(_ELSEWHERE))
        elif isinstance(action, Change):
            self._control.ask(partial(action.change, finding), told)

    def _is_admitted(self, tally: Tally, finding: Finding) -> bool:
        """Return whether it is done, and note it if not."""
        entry = tally.entry
        limit = tally.limit(finding.step)
        if limit:
            self._note(entry, finding, "limited", limit)
        elif entry.terms.dry_run:
            self._say(f"{entry.name} would be done about: {finding.headline()}")
            self._note(entry, finding, "dry-run")
        else:
            return True
        return False

    def _told(
        self, tally: Tally, finding: Finding, result: str | Rest | Exception, is_last: bool = True
    ) -> None:
        """Note how it went; what is left of it is done in the background."""
        entry = tally.entry
        if isinstance(result, Already) or (isinstance(result, Exception) and is_last):
            tally.give_back()
        if isinstance(result, str):
            if isinstance(entry.action, Change):
                self._say(f"{entry.name}: {result}")
            self._note(entry, finding, "done", result)
        elif not isinstance(result, Exception):
            told = partial(self._told, tally, finding)
            self._lanes[id(entry.action)].submit(result, told)
        elif is_last:
            why = f"{type(result).__name__}: {result}"
            why = str(result) if isinstance(result, StepwatchError) else why
            self._say(f"{entry.name} failed: {why}")
            self._note(entry, finding, "failed", error=why)
        else:
            self._note(entry, finding, "retried", error=f"{type(result).__name__}: {result}")

    def _skips(self, tally: Tally, step: int, why: str, measured: float) -> bool:
        """Return whether a bad batch is skipped; called on the training's thread."""
        finding = Finding(
            tally.entry.name,
            step,
            "",
            f"{why}; the optimizer's step is left out",
            mode=Mode.TRAIN.value,
            value=measured,
            severity="error",
        )
        if not self._is_admitted(tally, finding):
            return False
        self._say(f"step {step} {tally.entry.name}: {finding.message}")
        self._note(tally.entry, finding, "done", why)
        return True

    def _note(
        self, entry: Entry, finding: Finding, outcome: Outcome, detail: str = "", error: str = ""
    ) -> None:
        if self._audit is not None:
            self._audit.note(entry, finding, outcome, detail, error)


def _tried(act: Callable[[], str]) -> str | Exception:
    try:
        return act()
    except Exception as error:  # noqa: BLE001  it is anybody's code
        return error
