"""One rule at work: what it evaluated, which of its findings are news, and how it ended."""

from __future__ import annotations

import copy
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal
from weakref import WeakKeyDictionary, WeakSet

from ..errors import nearest
from ..model.collection import BUILT_IN, SPECS
from ..model.finding import SEVERITIES, Finding
from ..model.record import Layout
from ..model.steps import Mode
from ..profile.windows import ProfileWindow
from .rule import NotApplicable, Rule, Scope, Watched
from .step_view import StepView

#: Collections that only some models have; of the others each training should have something.
OF_SOME = frozenset(spec.name for spec in SPECS.values() if spec.models == "some")
#: Collections that a model of trees has.
OF_TREES = frozenset(spec.name for spec in SPECS.values() if spec.models.startswith("trees"))
#: What parts the reason why a rule judged nothing from what there was, which is one for all rules.
SEEN = "; seen were "
#: How many names are kept to suggest from.
MOST_NAMES = 10_000


class ObservedInputs:
    """Steps of each mode, their collections, and names of tensors.

    Args:
        names: Tensors that are known beforehand.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = dict.fromkeys(names)
        self._steps: dict[str, tuple[int, int, int]] = {}
        self._collections: dict[str, Counter[str]] = {}
        self._workers: dict[str, None] = {}
        self._in_parts: set[str] = set()
        self._layouts: dict[str, WeakSet[Layout]] = {}
        self._last: dict[str, Layout] = {}

    def add(self, step: StepView) -> None:
        """Count one step."""
        mode, number = step.mode.value, step.number
        count, first, _ = self._steps.get(mode, (0, number, number))
        self._steps[mode] = (count + 1, first, number)
        for record in step.records:
            layout = record.layout
            if self._last.get(mode) is layout:  # as at most steps
                continue
            self._last[mode] = layout
            known = self._layouts.setdefault(mode, WeakSet())
            if layout not in known:
                known.add(layout)
                self._workers[record.worker] = None
                self._add_layout(mode, layout)
                self._in_parts |= step.in_parts

    def count(self, mode: Mode, num_steps: int, last: int) -> None:
        """Count steps like one before; ``last`` is the number of the last of a mode so far."""
        count, first, _ = self._steps.get(mode.value, (0, last, last))
        self._steps[mode.value] = count + num_steps, first, last

    def num_steps(self, mode: str | None) -> int:
        """Return how many steps there were of a mode, or of all."""
        return sum(count for each, (count, *_) in self._steps.items() if mode in (None, each))

    def why_nothing(self, watched: Watched) -> str:
        """Return why a rule evaluated no step at all."""
        if not self._steps:
            return "the run has no steps; was the hook attached, and did training take a step?"
        if absent := self.absent(watched):
            return absent
        scope, needs = watched.scope, watched.rule.needs
        wanted = []
        if scope.mode:
            wanted.append(f"mode {scope.mode}")
        if scope.start_step or scope.end_step is not None:
            end = "" if scope.end_step is None else scope.end_step
            wanted.append(f"steps {scope.start_step}:{end}")
        if scope.workers:
            wanted.append(f"workers {', '.join(scope.workers)}")
        if needs:
            wanted.append(f"a tensor of {' or '.join(needs)}")
        text = f"no step had {', '.join(wanted)}{SEEN}{self._summary()}"
        unknown = [need for need in needs if need not in BUILT_IN]
        text += self.left_out(watched)
        return (
            text
            + "".join(nearest(need, sorted(self._known())) for need in unknown)
            + self.hint(watched)
        )

    def absent(self, watched: Watched) -> NotApplicable | None:
        """Return what a rule needs, if only some trainings have it and this one has none."""
        needs = tuple(watched.rule.needs)
        collections = self._known()
        if not (self._steps and needs and collections.isdisjoint(needs)):
            return None
        of_networks = (
            "boosting" in collections and OF_TREES.isdisjoint(needs) and {*BUILT_IN} >= {*needs}
        )
        if of_networks or OF_SOME.issuperset(needs):
            return NotApplicable(f"no {' or '.join(needs)} in this model")
        if len(self._workers) == 1 and getattr(watched.rule, "joint", False):
            return NotApplicable("it compares workers, and one was seen")
        return None

    def left_out(self, watched: Watched) -> str:
        """Return what of a rule's needs was not judged because parts were missing, or ``""``."""
        found = sorted(self._in_parts.intersection(watched.rule.needs or self._in_parts))
        if not found:
            return ""
        return (
            f"; not judged: {' and '.join(found)} of which other workers hold parts"
            "; stepwatch check RUN judges the whole"
        )

    def hint(self, watched: Watched) -> str:
        """Return the names closest to regular expressions that may be misspelled, or ``""``."""
        regexes = [watched.scope.include_regex, *getattr(watched.rule, "tensor_regex", ())]
        return "".join(nearest(regex, self._names) for regex in regexes if regex)

    def _add_layout(self, mode: str, layout: Layout) -> None:
        counts = self._collections.setdefault(mode, Counter())
        for collection, rows in layout.rows_of.items():
            counts[collection] = max(counts[collection], len(rows))
        if len(self._names) < MOST_NAMES:
            self._names.update(dict.fromkeys(tensor.name for tensor in layout.tensors))

    def _known(self) -> set[str]:
        """Return the collections of which a tensor was observed."""
        return {name for counts in self._collections.values() for name in counts}

    def _summary(self) -> str:
        parts = []
        for mode, (count, first, last) in self._steps.items():
            counts = self._collections.get(mode, Counter())
            held = ", ".join(f"{name} ({number})" for name, number in counts.items())
            steps = f"step {first}" if count == 1 else f"steps, {first} to {last},"
            parts.append(f"{count} {mode} {steps} with {held or 'nothing'}")
        of_whom = f"; workers {', '.join(self._workers)}" if len(self._workers) > 1 else ""
        return "; ".join(parts) + of_whom


#: The number of the round that a step of boosting is.
ROUND = "boosting/round"
#: How often the script has set other weights between two TRAIN steps.
WEIGHTS_SET = "loop/weights_set"


class ModelChange:
    """What is trained, to notice when it is another model than before."""

    def __init__(self) -> None:
        # Of all steps so far: models that take turns, as those of a GAN do, are no others.
        self._names: set[str] = set()
        self._held: set[frozenset[str]] = set()
        self._layouts: tuple[Layout, ...] = ()
        self._round = -1.0
        self._times_set = 0.0

    def is_another(self, step: StepView) -> bool:
        """Return whether another model is trained, or another part of it, than at the last step.

        Nothing that has a gradient now had one before, or optimizers hold other parameters, and
        that for the first time; or the script has set all of its weights, as for another task or
        fold. In boosting it is another model once rounds are counted from the beginning.
        """
        if step.mode is not Mode.TRAIN:
            return False
        layouts = tuple([record.layout for record in step.records])
        if any(ROUND in layout.row_of for layout in layouts):
            for one in step.tensors("boosting"):
                if one.name == ROUND:
                    before, self._round = self._round, one.scalar
                    return before >= self._round
        if any(WEIGHTS_SET in layout.row_of for layout in layouts):
            times = max(one.scalar for one in step.tensors("loop") if one.name == WEIGHTS_SET)
            before, self._times_set = self._times_set, times
            if times > before:
                return True
        if layouts == self._layouts:
            return False
        names = frozenset(
            layout.tensors[row].name
            for layout in layouts
            for row in layout.rows_of.get("gradients", ())
        )
        weights = [
            layout.tensors[row] for layout in layouts for row in layout.rows_of.get("weights", ())
        ]
        held = frozenset(
            weight.name
            for weight in weights
            if (weight.trainable if weight.optimizer_groups is None else weight.optimizer_groups)
        )
        another = bool(names and self._names) and names.isdisjoint(self._names)
        another |= bool(weights and self._held) and held not in self._held
        self._layouts = layouts
        self._names |= names
        if weights:
            self._held.add(held)
        return another


#: As SageMaker's clients know them; people read a ``RuleOutcome``.
Status = Literal["InProgress", "NoIssuesFound", "IssuesFound", "NotEvaluated", "Error", "Stopped"]
#: What became of a rule, in the words that people read.
RuleOutcome = Literal["passed", "found", "lacked data", "does not apply", "failed"]

_log = logging.getLogger("stepwatch")
_NO_PROFILE = (
    "nothing of a profile was seen; stepwatch run --profile makes one, which worker_0 judges"
)


@dataclass(frozen=True, slots=True)
class RuleStatus:
    """What became of a rule so far.

    Args:
        rule: Its name.
        status: ``InProgress`` until the last step. ``NotEvaluated`` where it never got what it
            needs, which is not the same as ``NoIssuesFound``.
        evaluations: How many steps it evaluated.
        findings: How many findings it had; an episode counts once.
        details: Why, or what was found first.
        idle: It judged nothing, and that is as it should be: the model or the training has
            nothing that it is about.
        judged: Whether it reached a judgement so far, where it is ``InProgress``.
    """

    rule: str
    status: Status
    evaluations: int
    findings: int
    details: str
    idle: bool = False
    judged: bool = True

    @property
    def outcome(self) -> RuleOutcome:
        """What became of it; of a rule that goes on, what would if the run ended now."""
        if self.status == "Error":
            return "failed"
        if self.findings:
            return "found"
        if self.status == "NoIssuesFound" or (self.status == "InProgress" and self.judged):
            return "passed"
        return "does not apply" if self.idle else "lacked data"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


class RuleRunner:
    """One rule at work: what it evaluated, what it found, and how it ended."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        per_model = getattr(watched.rule, "per_model", False)
        self._training_only: bool = getattr(watched.rule, "training_only", False)
        #: Whether it judges the profile of a run, and not its steps.
        self.scans = hasattr(watched.rule, "scan")
        scope = watched.scope
        # Whether all of a step is in scope, if it is one of its range and mode.
        self._takes_whole = not (scope.workers or scope.include_regex or scope.exclude_regex)
        self._first_step = scope.start_step
        self._end_step: float = math.inf if scope.end_step is None else scope.end_step
        self._unused = copy.deepcopy(watched.rule) if per_model else None
        self._evaluated_before = False
        self._num_models = 1
        self.evaluations = 0
        self.findings = 0
        self.stopped = False
        self._suppressed = 0
        self._first = ""
        self._error = ""
        self._unevaluated: str | None = None
        self._ended = False
        self._last_step = -1
        # When each condition was met last: as an episode is counted in each mode, and the global
        # step; and how severe it was.
        self._last_observed: dict[tuple[str, str], tuple[Counter[Mode | None], int, int]] = {}
        # How many steps of each mode it evaluated: an episode is counted in those.
        self._in_mode: Counter[Mode] = Counter()
        self._fed: WeakKeyDictionary[Layout, bool] = WeakKeyDictionary()

    @property
    def running(self) -> bool:
        """Whether it still evaluates steps."""
        return not (self._ended or self.stopped or self._error)

    def may_evaluate(self, step: StepView) -> bool:
        """Return whether it evaluates this step, or another of its mode and layout."""
        if self.scans or not step.is_of(self.watched.scope.mode):
            return False
        view = step if self._takes_whole else self.watched.scope.view(step)
        return view is None or self._has_evidence(view)

    def only_counts(self, step: StepView) -> bool:
        """Return whether a step that it may evaluate, and others alike, hold nothing for it."""
        if not self._takes_whole:
            return False
        if self._training_only and not step.trains:
            return True
        concerns = getattr(self.watched.rule, "concerns", None)
        return concerns is not None and not concerns(step)

    def count(self, step: StepView) -> None:
        """Evaluate a step of which ``only_counts`` says that it holds nothing for it."""
        if self._first_step <= step.number < self._end_step:
            self.evaluations += 1
            self._in_mode[step.mode] += 1
            self._last_step = step.number

    def evaluate(self, step: StepView, *, may_evaluate: bool = False) -> list[Finding]:
        """Evaluate a step.

        Args:
            step: The step.
            may_evaluate: What the method of that name returned for it; false where not asked.

        Returns:
            What is news.
        """
        if step.number < self._first_step:
            self._look(step)
            return []
        if may_evaluate and self._takes_whole:
            if step.number >= self._end_step:
                return []
            view = step
        else:
            part = None if self.scans else self.watched.scope.view(step)
            if part is None or not self._has_evidence(part):
                return []
            view = part
        self.evaluations += 1
        self._in_mode[view.mode] += 1
        self._last_step = view.number
        if self._training_only and not view.trains:
            return []
        try:
            if isinstance(self.watched.rule, Rule):
                self.watched.rule.begin_step(view.at)
            found = list(self.watched.rule.check(view))
        except Exception as error:  # noqa: BLE001 - a rule is anybody's code, others must go on
            self._fail(error)
            return []
        return self._news(found, view) if found else found

    def _look(self, step: StepView) -> None:
        """Show the rule a step that comes before those that it judges."""
        look = getattr(self.watched.rule, "look", None)
        try:
            if look is not None:
                if isinstance(self.watched.rule, Rule):
                    self.watched.rule.begin_step(step.at)
                look(step)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error)

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
            self._evaluated_before |= self.evaluations > 0 and rule.unevaluated() is None
            self.watched = replace(self.watched, rule=copy.deepcopy(self._unused))
            self._num_models += 1
            self.watched.rule.num_models = self._num_models

    def tick(self, now_ns: int, last_steps: Mapping[str, int]) -> list[Finding]:
        tick = getattr(self.watched.rule, "tick", None)
        found = self._guarded(lambda: list(tick(now_ns, last_steps))) if tick else None
        return self._news(found) if found else []

    def end_episodes(self) -> None:
        """Report what holds next as news, whenever it held last."""
        self._last_observed.clear()

    def finish(self) -> list[Finding]:
        if not self.running:
            return []
        rule = self.watched.rule
        # a rule need not inherit from Rule, and then may lack these two
        finish = getattr(rule, "finish", None)
        if isinstance(rule, Rule):
            rule.begin_step(None)
        found = self._guarded(lambda: list(finish())) if finish else None
        self._ended = True
        why = getattr(rule, "unevaluated", None)
        if why and not self._evaluated_before:
            self._guarded(lambda: self._set_unevaluated(why()))
        return self._news(found) if found else []

    def status(self, observed: ObservedInputs) -> RuleStatus:
        """Return what became of the rule; of one that goes on, as if the run ended now."""
        why = self._unevaluated if self._ended else self._unevaluated_so_far()
        status, details = self._status(observed, why)
        why = why if self.evaluations else observed.absent(self.watched)
        idle = status == "NotEvaluated" and isinstance(why, NotApplicable)
        judged = status != "NotEvaluated"
        if not (self._ended or self.stopped or self._error):
            status = "InProgress"
        name, evaluations = self.watched.name, self.evaluations
        return RuleStatus(name, status, evaluations, self.findings, details, idle, judged)

    def _unevaluated_so_far(self) -> str | None:
        why = getattr(self.watched.rule, "unevaluated", None)
        if why is None or self._evaluated_before or not self.evaluations:
            return None
        try:
            return why()  # type: ignore[no-any-return]
        except Exception:  # noqa: BLE001 - what it fails by at the end is told then
            return None

    def _status(self, observed: ObservedInputs, unevaluated: str | None) -> tuple[Status, str]:
        if self._error:
            return "Error", self._error
        if self.stopped:
            return "Stopped", f"last step {self._last_step}" if self.evaluations else "no step seen"
        if self.findings:
            return "IssuesFound", self._found()
        if not self.evaluations:
            return "NotEvaluated", _NO_PROFILE if self.scans else observed.why_nothing(self.watched)
        least = self.watched.scope.min_evaluations
        if self.evaluations < least:
            few = f"{self.evaluations} evaluations are fewer than min_evaluations={least}"
            return "NotEvaluated", few
        left_out = observed.left_out(self.watched)
        if unevaluated:
            return "NotEvaluated", f"{unevaluated}{left_out}{observed.hint(self.watched)}"
        summary = getattr(self.watched.rule, "summary", str)()
        more = f"; {summary}" if summary else ""
        # Most steps may have held nothing for it, as by a budget.
        steps = observed.num_steps(self.watched.scope.mode)
        few = f" in {steps} steps" if 2 * self.evaluations < steps and not self.scans else ""
        return "NoIssuesFound", f"{self.evaluations} evaluations{few}{left_out}{more}"

    def _found(self) -> str:
        if not self.findings:
            return ""
        more = f" (and {self.findings - 1} more findings)" if self.findings > 1 else ""
        again = f" (found again {_times(self._suppressed)})" if self._suppressed else ""
        return f"{self._first}{more}{again}"

    def _has_evidence(self, view: StepView) -> bool:
        needs = self.watched.rule.needs
        return not needs or any(self._feeds(view, index) for index in range(len(view.records)))

    def _feeds(self, view: StepView, index: int) -> bool:
        record = view.records[index]
        feeds = self._fed.get(record.layout)
        if feeds is None:
            needs = self.watched.rule.needs
            feeds = any(group.record is record for group in view.groups(*needs))
            self._fed[record.layout] = feeds
        return feeds

    def _news(
        self, found: list[Finding], view: StepView | None = None, at: int | None = None
    ) -> list[Finding]:
        news = []
        scope = self.watched.scope
        for finding in found:
            if not self._is_news(finding, view.mode if view else None, at, scope):
                self._suppressed += 1
                continue
            severity = scope.severity or finding.severity
            reported = replace(finding, rule=self.watched.name, severity=severity)
            if view is not None:
                worker = view.workers[0] if len(view.records) == 1 else ""
                reported = reported.at(
                    mode=view.mode.value, mode_step=view.mode_step, worker=worker
                )
            self.findings += 1
            self._first = self._first or reported.message
            news.append(reported)
            if scope.on_fire == "stop":
                self._ended = True
                break
        return news

    def _is_news(self, finding: Finding, mode: Mode | None, at: int | None, scope: Scope) -> bool:
        key = (finding.condition or finding.tensor, finding.worker)
        last, last_step, worst = self._last_observed.get(key, (None, -1, -1))
        severity = SEVERITIES.index(finding.severity)
        # All modes: what held in evaluations in between was not away from training.
        now: Counter[Mode | None] = Counter(self._in_mode)
        now[None] = max(self._in_mode.values(), default=0) if at is None else at
        self._last_observed[key] = now, finding.step, max(severity, worst)
        if last is None or severity > worst:
            return True
        was_away = finding.onset is None or finding.onset > last_step
        return was_away and now[mode] - last[mode] > scope.cooldown_steps

    def _set_unevaluated(self, why: str | None) -> list[Finding]:
        self._unevaluated = why
        return []

    def _guarded(self, act: Callable[[], list[Finding]]) -> list[Finding] | None:
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - a rule is anybody's code, others must go on
            self._fail(error)
            return None

    def _fail(self, error: Exception) -> None:
        first_line = (str(error).splitlines() or [""])[0]
        self._error = f"{type(error).__name__}: {first_line}"
        # its own traceback, once: the rule gets no further step
        _log.error("rule %s ended by %s", self.watched.name, self._error, exc_info=error)
