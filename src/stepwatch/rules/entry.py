"""One rule at work: what it was shown, what became news of what it found, and how it ended."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from weakref import WeakKeyDictionary

from ..finding import Finding
from ..record import Layout
from .profile.window import ProfileWindow
from .rule import NothingToJudge
from .scope import Scope, Watched
from .seen import Seen
from .step_view import StepView

Status = Literal["InProgress", "NoIssuesFound", "IssuesFound", "NotEvaluated", "Error", "Stopped"]

_log = logging.getLogger("stepwatch")
_NO_PROFILE = (
    "nothing of a profile was seen; stepwatch run --profile makes one, which worker_0 judges"
)


@dataclass(frozen=True, slots=True)
class RuleStatus:
    """What became of a rule so far.

    Args:
        rule: Its name.
        status: ``InProgress`` until the last step was seen. ``NotEvaluated`` says that it never
            got what it needs, which is not the same as ``NoIssuesFound``.
        evaluations: How many steps it was shown.
        findings: How many findings it had; an episode counts once.
        details: Why, or what was found first.
        idle: It was not evaluated, and that is as it should be: the model or the training has
            nothing that it is about.
    """

    rule: str
    status: Status
    evaluations: int
    findings: int
    details: str
    idle: bool = False


class Entry:
    """One rule at work: what it was shown, what it found, and how it ended."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        per_model = getattr(watched.rule, "per_model", False)
        self._unused = copy.deepcopy(watched.rule) if per_model else None
        self._judged_before = False
        self.evaluations = 0
        self.findings = 0
        self.stopped = False
        self._suppressed = 0
        self._first = ""
        self._error = ""
        self._unevaluated: str | None = None
        self._ended = False
        self._last_step = -1
        self._last_met: dict[tuple[str, str], int] = {}
        self._fed: WeakKeyDictionary[Layout, bool] = WeakKeyDictionary()

    @property
    def running(self) -> bool:
        """Whether it is still shown steps."""
        return not (self._ended or self.stopped or self._error)

    @property
    def scans(self) -> bool:
        """Whether it judges the profile of a run, and not its steps."""
        return hasattr(self.watched.rule, "scan")

    def look(self, step: StepView) -> list[Finding]:
        view = None if self.scans else self.watched.scope.view(step)
        if view is None or not self._has_evidence(view):
            return []
        self.evaluations += 1
        self._last_step = view.number
        found = self._guarded(lambda: list(self.watched.rule.check(view)))
        return self._news(found, view) if found else []

    def scan(self, window: ProfileWindow) -> list[Finding]:
        self.evaluations += 1
        self._last_step = window.step
        scan = self.watched.rule.scan  # type: ignore[attr-defined]  # it is there if ``scans``
        found = self._guarded(lambda: list(scan(window)))
        # an episode is counted in windows: a step may take a millisecond or an hour
        return self._news(found, at=window.start_ns // window.length_ns) if found else []

    def start_anew(self) -> None:
        """Another model is trained: let a rule forget the one before."""
        if self._unused is not None and self.running:
            rule = self.watched.rule
            self._judged_before |= self.evaluations > 0 and rule.unevaluated() is None
            self.watched = replace(self.watched, rule=copy.deepcopy(self._unused))

    def tick(self, now_ns: int, last_steps: Mapping[str, int]) -> list[Finding]:
        look = getattr(self.watched.rule, "tick", None)
        found = self._guarded(lambda: list(look(now_ns, last_steps))) if look else None
        return self._news(found) if found else []

    def end_episodes(self) -> None:
        """Report what is met next as news, whenever it was met last."""
        self._last_met.clear()

    def finish(self) -> list[Finding]:
        if not self.running:
            return []
        rule = self.watched.rule
        # a rule need not inherit from Rule, and then may lack these two
        say = getattr(rule, "finish", None)
        found = self._guarded(lambda: list(say())) if say else None
        self._ended = True
        why = getattr(rule, "unevaluated", None)
        if why and not self._judged_before:
            self._guarded(lambda: self._set_unevaluated(why()))
        return self._news(found) if found else []

    def status(self, seen: Seen) -> RuleStatus:
        status, details = self._status(seen)
        why = self._unevaluated if self.evaluations else seen.absent(self.watched)
        idle = status == "NotEvaluated" and isinstance(why, NothingToJudge)
        name, evaluations = self.watched.name, self.evaluations
        return RuleStatus(name, status, evaluations, self.findings, details, idle)

    def _status(self, seen: Seen) -> tuple[Status, str]:
        if self._error:
            return "Error", self._error
        if self.stopped:
            return "Stopped", f"last step {self._last_step}" if self.evaluations else "no step seen"
        if not self._ended:
            return "InProgress", self._found()
        if self.findings:
            return "IssuesFound", self._found()
        if not self.evaluations:
            return "NotEvaluated", _NO_PROFILE if self.scans else seen.why_nothing(self.watched)
        least = self.watched.scope.min_evaluations
        if self.evaluations < least:
            few = f"{self.evaluations} evaluations are fewer than min_evaluations={least}"
            return "NotEvaluated", few
        left_out = seen.left_out(self.watched)
        if self._unevaluated:
            return "NotEvaluated", f"{self._unevaluated}{left_out}{seen.hint(self.watched)}"
        summary = getattr(self.watched.rule, "summary", str)()
        more = f"; {summary}" if summary else ""
        return "NoIssuesFound", f"{self.evaluations} evaluations{left_out}{more}"

    def _found(self) -> str:
        if not self.findings:
            return ""
        more = f" (and {self.findings - 1} more findings)" if self.findings > 1 else ""
        again = f" (met at {self._suppressed} further looks)" if self._suppressed else ""
        return f"{self._first}{more}{again}"

    def _has_evidence(self, view: StepView) -> bool:
        needs = self.watched.rule.needs
        return not needs or any(self._feeds(view, index) for index in range(len(view.records)))

    def _feeds(self, view: StepView, index: int) -> bool:
        record = view.records[index]
        answer = self._fed.get(record.layout)
        if answer is None:
            needs = self.watched.rule.needs
            answer = any(group.record is record for group in view.groups(*needs))
            self._fed[record.layout] = answer
        return answer

    def _news(
        self, found: list[Finding], view: StepView | None = None, at: int | None = None
    ) -> list[Finding]:
        news = []
        scope = self.watched.scope
        for finding in found:
            if not self._is_news(finding, finding.step if at is None else at, scope):
                self._suppressed += 1
                continue
            told = replace(
                finding,
                rule=self.watched.name,
                severity=scope.severity or finding.severity,
            )
            if view is not None:
                worker = view.workers[0] if len(view.records) == 1 else ""
                told = told.at(mode=view.mode.value, mode_step=view.mode_step, worker=worker)
            self.findings += 1
            self._first = self._first or told.message
            news.append(told)
            if scope.on_fire == "stop":
                self._ended = True
                break
        return news

    def _is_news(self, finding: Finding, at: int, scope: Scope) -> bool:
        key = (finding.condition or finding.tensor, finding.worker)
        last = self._last_met.get(key)
        self._last_met[key] = at
        return last is None or at - last > scope.cooldown_steps

    def _set_unevaluated(self, why: str | None) -> list[Finding]:
        self._unevaluated = why
        return []

    def _guarded(self, act: Callable[[], list[Finding]]) -> list[Finding] | None:
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - a rule is anybody's code, others must go on
            first_line = (str(error).splitlines() or [""])[0]
            self._error = f"{type(error).__name__}: {first_line}"
            # its own traceback, once: the rule is not shown another step
            _log.error("rule %s ended by %s", self.watched.name, self._error, exc_info=error)
            return None
