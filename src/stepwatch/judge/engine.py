"""The engine: gives steps to rules and turns what they yield into findings and statuses.

Nothing here depends on the time of day (but for what a rule yields at a ``tick``), on threads or on
where the steps come from: the same steps in the same order give the same findings, live and in
replay. A rule that raises ends with status Error; it never takes another rule, let alone the
training, with it.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..model.finding import Finding
from ..model.record import Layout, ScalarSteps
from ..model.steps import Mode
from ..profile.windows import ProfileSource, WindowSplitter
from .parameters import Spec, parse_rules
from .rule import SCAN_INTERVAL_US
from .rule_runner import ModelChange, ObservedInputs, RuleRunner
from .rule_runner import RuleStatus as RuleStatus
from .step_view import StepView

if TYPE_CHECKING:
    from ..trial import Trial

# The rules that evaluate steps of a layout and mode, and those for which they only count.
_Shortlist = tuple[list[RuleRunner], list[RuleRunner]]
_UNKNOWN: Mapping[str, int] = {}
_NO_PATTERNS: Mapping[str, Sequence[str]] = {}
#: How often a profile is read.
_SCAN_NS = 5 * 10**9
#: From such a TRAIN step on, a step of which losses and learning rates are all that is known is
#: passed over if it ends so soon, nanoseconds, after the last one that was evaluated: rules then
#: take about one percent of the time however short steps are, and less in a long training, where it
#: is that share of what went by since the first step, up to the last number. So is one with
#: metrics, if the step before it had the same: what is logged at few steps is evaluated. By the
#: times that are stored, so that a replay passes over the same steps. None is passed over whose
#: loss is further above the last ones that were evaluated, so many, than these are apart.
SHORT_AFTER, SHORT_NS, LAST_LOSSES = 300, 40_000_000, 16
_SHORT_SHARE, _LONGEST_NS = 0.002, 100_000_000
_OF_LOSSES = frozenset({"losses", "learning_rates"})
_LOGGED = _OF_LOSSES | {"metrics", "scalars"}


def _is_same(one: Layout | None, other: Layout) -> bool:
    return one is other or (one is not None and one.tensors == other.tensors)


class Watch:
    """Evaluates each step by every rule, and reports each episode once.

    A condition that goes on holding is one episode, and one finding. It is news again once it
    did not hold for more than ``cooldown_steps`` steps, or is more severe than before.

    Args:
        rules: Specs or rules; see ``parse_rules``.
        patterns: The patterns of the run's own collections, for steps that bring none.
        names: Names of tensors that the run is known to hold, to suggest what was meant when a
            rule found none.

    Raises:
        ConfigError: An invalid spec.
    """

    def __init__(
        self,
        rules: str | Sequence[Spec],
        *,
        patterns: Mapping[str, Sequence[str]] | None = None,
        names: Iterable[str] = (),
    ) -> None:
        self._patterns = patterns or {}
        self._observed = ObservedInputs(names)
        self._entries = [RuleRunner(watched) for watched in parse_rules(rules)]
        self._by_layout: WeakKeyDictionary[Layout, dict[Mode, _Shortlist]] = WeakKeyDictionary()
        self._last: tuple[Layout, Mode, _Shortlist] | None = None
        self._finished = False
        self._trained = ModelChange()
        self._last_step = -1
        self._evaluated_ns = self._began_ns = 0
        self._losses: deque[float] = deque(maxlen=LAST_LOSSES)  # the largest of each step
        self._high_loss = math.inf
        self._layout_before: Layout | None = None
        self._cutter: WindowSplitter | None = None
        self._scanned_ns = 0
        # Of a clock that nobody sets: one that jumps is no pause of the training.
        self._booted_ns = time.time_ns() - time.monotonic_ns()

    def evaluate(self, step: StepView) -> list[Finding]:
        """Evaluate one step by the rules; steps must come in order.

        If one comes again, the run was resumed there: rules that remember a model begin anew, and
        what holds from there on is news.

        Returns:
            What is news, in the order of the rules.
        """
        self._observed.add(step)
        return [] if self._passes_over(step) else self._judge(step)

    def _judge(self, step: StepView) -> list[Finding]:
        if self._patterns and not step.patterns:
            step = StepView(step.records, self._patterns, others=step.others)
        self._began_ns = self._began_ns or step.time_ns
        goes_back = step.number <= self._last_step
        self._last_step = step.number
        if self._trained.is_another(step) or goes_back:
            for entry in self._entries:
                entry.start_anew()
        if goes_back:
            self.end_episodes()
        if len(step.records) > 1:
            return [
                finding
                for entry in self._entries
                if entry.running
                for finding in entry.evaluate(step)
            ]
        findings: list[Finding] = []
        evaluate, only_count = self._shortlist(step)
        for entry in evaluate:
            if entry.running:
                findings += entry.evaluate(step, may_evaluate=True)
        for entry in only_count:
            if entry.running:
                entry.count(step)
        return findings

    def evaluate_scalars(
        self,
        steps: ScalarSteps,
        patterns: Mapping[str, Sequence[str]] = _NO_PATTERNS,
        *,
        others: bool = False,
    ) -> list[Finding]:
        """Evaluate steps of a few finite numbers as one by one, in a fraction of the time.

        Args:
            steps: After those that were evaluated.
            patterns: Of the run's own collections; by default those that this was made with.
            others: Whether other workers train with this one.
        """
        times, within = steps.numbers[:, 2].tolist(), steps.numbers[:, 1].tolist()
        rows, ended_ns = [], self._evaluated_ns
        first = self._has_only_numbers(steps.layout)
        rest = self._has_only_numbers(steps.layout)  # each comes after one of the same layout
        of_losses = steps.layout.rows_of.get("losses", ())
        losses = steps.values[:, of_losses].max(1, initial=-math.inf).tolist()
        for row, (time_ns, mode_step) in enumerate(zip(times, within, strict=True)):
            may_pass = steps.mode is Mode.TRAIN and (rest if row else first)
            is_short = may_pass and self._is_short(mode_step, time_ns, ended_ns)
            if not (is_short and losses[row] <= self._high_loss):
                rows.append(row)
                ended_ns = time_ns
                if steps.mode is Mode.TRAIN:
                    self._note_loss(losses[row])
        findings: list[Finding] = []
        for record in steps.at(rows).records():
            step = StepView([record], patterns, others=others)
            self._observed.add(step)
            self._evaluated_ns = step.time_ns
            findings += self._judge(step)
        self._last_step = int(steps.numbers[-1, 0])
        self._observed.count(steps.mode, len(times) - len(rows), self._last_step)
        return findings

    def _passes_over(self, step: StepView) -> bool:
        """Return whether a step is passed over; see ``SHORT_NS``."""
        ended_ns, self._evaluated_ns = self._evaluated_ns, step.time_ns
        may_pass = self._has_only_numbers(step.records[0].layout)
        if step.mode is not Mode.TRAIN or len(step.records) > 1:
            return False
        record = step.records[0]
        is_short = self._is_short(step.mode_step, record.time_ns, ended_ns)
        loss = max((one.scalar for one in step.tensors("losses")), default=-math.inf)
        is_usual = is_short and step.number > self._last_step and loss <= self._high_loss
        if not (may_pass and is_usual) or step.has_non_finite(record):
            self._note_loss(loss)
            return False
        self._evaluated_ns, self._last_step = ended_ns, step.number
        return True

    def _note_loss(self, loss: float) -> None:
        """Note the largest loss of a TRAIN step that is evaluated, if it has one."""
        if math.isfinite(loss):
            self._losses.append(loss)
            high = max(self._losses)
            self._high_loss = high + (high - min(self._losses))

    def _is_short(self, mode_step: int, time_ns: int, evaluated_ns: int) -> bool:
        """Return whether a TRAIN step ends so soon after the last one that was evaluated."""
        long_ns = min(_SHORT_SHARE * (time_ns - self._began_ns), _LONGEST_NS)
        return mode_step >= SHORT_AFTER and 0 < time_ns - evaluated_ns < max(SHORT_NS, long_ns)

    def _has_only_numbers(self, layout: Layout) -> bool:
        """Return whether the next step, which has this layout, may be passed over; see there."""
        before, self._layout_before = self._layout_before, layout
        kinds = layout.rows_of.keys()
        return kinds <= _OF_LOSSES or (kinds <= _LOGGED and _is_same(before, layout))

    def _shortlist(self, step: StepView) -> _Shortlist:
        """Return the rules that may evaluate a step: most steps have the layout of many others."""
        layout, mode = step.records[0].layout, step.mode
        last = self._last
        if last is not None and last[0] is layout and last[1] is mode:
            return last[2]
        by_mode = self._by_layout.get(layout)
        if by_mode is None:
            by_mode = self._by_layout[layout] = {}
        shortlist = by_mode.get(mode)
        if shortlist is None:
            entries = [entry for entry in self._entries if entry.may_evaluate(step)]
            only_count = [entry for entry in entries if entry.only_counts(step)]
            evaluate = [entry for entry in entries if entry not in only_count]
            shortlist = by_mode[mode] = evaluate, only_count
        self._last = layout, mode, shortlist
        return shortlist

    def tick(
        self,
        now_ns: int | None = None,
        last_steps: Mapping[str, int] = _UNKNOWN,
        profile: ProfileSource | None = None,
    ) -> list[Finding]:
        """Let the rules judge by the clock, some times a second while the run goes on.

        Args:
            now_ns: The time of day, nanoseconds since the Unix epoch; by default that at which
                the watch began, and what went by since.
            last_steps: The last step that each worker wrote, where that is known.
            profile: Read once in a few seconds.
        """
        now_ns = self._booted_ns + time.monotonic_ns() if now_ns is None else now_ns
        running = [entry for entry in self._entries if entry.running]
        findings = [finding for entry in running for finding in entry.tick(now_ns, last_steps)]
        if profile is not None and now_ns - self._scanned_ns >= _SCAN_NS:
            self._scanned_ns = now_ns
            findings += self.scan(profile, ended=False)
        return findings

    def scan(self, profile: ProfileSource, *, ended: bool) -> list[Finding]:
        """Evaluate what is new in a profile by the rules on profiles.

        Args:
            profile: As it is now; the same one at each call.
            ended: Whether nothing more will be written.

        Returns:
            What is news, window after window, in the order of the rules.
        """
        entries = [entry for entry in self._entries if entry.scans]
        if not entries:
            return []
        if self._cutter is None:
            intervals = [getattr(one.watched.rule, "scan_interval_us", 0) for one in entries]
            known = [interval for interval in intervals if interval]
            self._cutter = WindowSplitter(1000 * min([SCAN_INTERVAL_US, *known]))
        return [
            finding
            for window in self._cutter.windows(profile, ended=ended)
            for entry in entries
            if entry.running
            for finding in entry.scan(window)
        ]

    def end_episodes(self) -> None:
        """The training goes on from an earlier state: what holds from here on is news."""
        for entry in self._entries:
            entry.end_episodes()

    def finish(self) -> list[Finding]:
        """Return what the rules find in the whole run, after its last step; once only."""
        if self._finished:
            return []
        self._finished = True
        return [finding for entry in self._entries for finding in entry.finish()]

    def stop(self) -> None:
        """End the watch before the run ended; rules that still ran become Stopped."""
        for entry in self._entries:
            entry.stopped = entry.running
        self._finished = True

    def statuses(self) -> list[RuleStatus]:
        """Return the status of each rule, in their order."""
        return [entry.status(self._observed) for entry in self._entries]


def watch(
    trial: Trial, rules: str | Sequence[Spec] | Watch, *, follow: bool = True
) -> Iterator[Finding]:
    """Yield what rules find in a run, as it goes on.

    Args:
        trial: The run.
        rules: Specs or rules, or a ``Watch`` whose statuses are wanted afterwards.
        follow: Wait for further steps until the run has ended.
    """
    engine = rules if isinstance(rules, Watch) else Watch(rules)
    patterns = trial.patterns
    for records in trial.records(follow=follow, waiting=True):
        if records:
            yield from engine.evaluate(StepView(records, patterns))
        else:
            yield from engine.tick(last_steps=trial.last_steps, profile=trial.profile)
    yield from engine.scan(trial.profile, ended=True)
    yield from engine.finish()
