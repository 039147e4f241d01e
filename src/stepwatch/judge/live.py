"""Rules in the training process: they judge a step before it is stored."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy.ma  # noqa: F401  np.median imports it when first called: not in a step of training

from ..capture.companion import MakeRemote, Report
from ..formats.findings import write_findings, write_statuses
from ..formats.manifest import FIRST_WORKER, are_several, read_manifest
from ..model.finding import Finding
from ..model.record import ScalarSteps, StepRecord
from ..store import Store
from ..trial.profile import Profile
from .engine import RuleStatus, Watch
from .joint import JointWatch, is_joint
from .parameters import Spec, parse_rules
from .root_cause import chains
from .rule import required_captures
from .step_view import StepView

#: While the run goes on the statuses of the rules are stored this often, seconds; less often where
#: the store is slow.
STATUSES_S = 5.0
_SLOW_TIMES = 50


class LiveWatch:
    """Judges the training from within; give it to a hook as a listener.

    Findings and the statuses of the rules are stored in the run, from its first step on. Of several
    workers each judges its own steps, and the first also what rules compare of all of them.

    Args:
        rules: Specs or rules; see ``judge.parameters.parse_rules``.
        on_finding: Called with each finding, on the background thread.

    Raises:
        ConfigError: An invalid spec.

    Example:
        ``TorchHook(model, run="runs/first", listeners=[LiveWatch("loss_spike")])``
    """

    def __init__(
        self,
        rules: str | Sequence[Spec],
        on_finding: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        #: The rules.
        self.watched = parse_rules(rules)
        #: What must be saved for them, as ``--save`` takes it.
        self.evidence = required_captures(self.watched)
        self._watch = Watch(self.watched)
        self._joint: JointWatch | None = None
        self._left_to_first: frozenset[str] = frozenset()
        specs = [rules] if isinstance(rules, str) else list(rules)
        self._specs = [one for one in specs if isinstance(one, (str, Mapping))]
        self._are_specs = len(self._specs) == len(specs)
        self._send: Report = lambda _: None
        self._statuses: list[RuleStatus] | None = None
        self._on_finding = on_finding
        self._patterns: Mapping[str, Sequence[str]] = {}
        self._store: Store | None = None
        self._profile: Profile | None = None
        self._worker, self._others = "", False
        self._has_news, self._stored_at = False, -math.inf
        self.findings: list[Finding] = []

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Take in where the run is stored, and whether others train with this worker."""
        self._store, self._worker, self._patterns = store, worker, patterns
        self._others = are_several(store)
        if worker == FIRST_WORKER:  # of what all machines and workers do, one judges
            self._profile = Profile(store)
        if self._others:
            self._divide_rules()

    def _divide_rules(self) -> None:
        """Keep the rules that judge this worker by itself; the first worker has the others, too."""
        assert self._store is not None
        joint = [one for one in self.watched if is_joint(one)]
        manifest = read_manifest(self._store)
        if not joint or (manifest is not None and manifest.run_format != "native"):
            return
        self._watch = Watch([one for one in self.watched if not is_joint(one)])
        if self._worker == FIRST_WORKER:
            self._joint = JointWatch(joint, self._store, self._worker, self._patterns)
        else:
            self._left_to_first = frozenset(one.name for one in joint)

    def on_step(self, record: StepRecord) -> None:
        """Judge a step."""
        if self._joint is not None:
            self._joint.begins(record)
        self._report(self._watch.evaluate(StepView([record], self._patterns, others=self._others)))
        self._has_news = True

    def on_scalars(self, steps: ScalarSteps) -> None:
        """Judge steps of a few finite numbers."""
        if self._joint is not None:
            for record in steps.records():
                self.on_step(record)
            return
        self._report(self._watch.evaluate_scalars(steps, self._patterns, others=self._others))
        self._has_news = True

    def tick(self) -> None:
        """Judge by the clock, and store how the rules stand."""
        self._report(self._watch.tick(profile=self._profile))
        if self._joint is not None:
            self._report(self._joint.tick())
        if self._has_news and time.monotonic() >= self._stored_at:
            self._store_statuses()

    def _store_statuses(self) -> None:
        if self._store is None:
            return
        began = time.monotonic()
        self._has_news = False
        try:
            write_statuses(self._store, self._worker, map(asdict, self.statuses()))
        finally:
            ended = time.monotonic()
            self._stored_at = ended + max(STATUSES_S, _SLOW_TIMES * (ended - began))

    def end_episodes(self) -> None:
        """The training goes on from an earlier state: what holds from here on is news."""
        self._watch.end_episodes()
        if self._joint is not None:
            self._joint.end_episodes()
        self._send("end_episodes")

    def finish(self) -> None:
        """Report what the rules find in the whole run, and store their statuses."""
        with ExitStack() as work:  # the last first, each whatever could not be stored before
            work.callback(self._store_statuses)
            work.callback(self._finish, self._watch)
            if self._joint is not None:
                work.callback(self._finish, self._joint)
            if self._profile is not None:  # the others may still write to it
                self._report(self._watch.scan(self._profile, ended=not self._others))

    def _finish(self, rules: Watch | JointWatch) -> None:
        self._report(rules.finish())

    def statuses(self) -> list[RuleStatus]:
        """Return the status of each rule."""
        if self._statuses is not None:
            return self._statuses
        joint = [] if self._joint is None else self._joint.statuses()
        known = {status.rule: status for status in (*self._watch.statuses(), *joint)}
        left = {name: _left_to_first(name) for name in self._left_to_first}
        return [(known | left)[one.name] for one in self.watched]

    # Where the rules judge in a companion

    def remote(self, send: Report) -> MakeRemote:
        """Return what makes the rules anew in another process; see ``capture.link.Divided``.

        Raises:
            NotImplementedError: Some are given as objects.
        """
        if not self._are_specs:
            raise NotImplementedError
        self._send = send
        earlier = [finding.to_json() for finding in self.findings]
        return partial(RemoteWatch, self._specs, earlier)

    def receive(self, message: Mapping[str, Any]) -> None:
        """Take in what the rules in the companion found, and in the end their statuses."""
        self._announce([Finding.from_json(line) for line in message.get("findings", ())])
        if "statuses" in message:
            self._statuses = [RuleStatus(**fields) for fields in message["statuses"]]
        if "lost" in message:
            self._watch.stop()
            if self._joint is not None:
                self._joint.stop()

    def _announce(self, findings: Sequence[Finding]) -> None:
        self.findings.extend(findings)
        for chain in chains(findings):  # what began it is reported before what followed
            for finding in chain.findings:
                self._on_finding(finding)

    def _report(self, findings: Sequence[Finding]) -> None:
        if not findings:
            return
        self._announce(findings)
        if self._store is not None:
            lines = [finding.to_json() for finding in self.findings]
            write_findings(self._store, self._worker, lines)


def _left_to_first(rule: str) -> RuleStatus:
    why = f"it compares workers, which {FIRST_WORKER} does for all of them"
    return RuleStatus(rule, "NotEvaluated", 0, 0, why, idle=True)


class RemoteWatch(LiveWatch):
    """The rules of a ``LiveWatch``, in the companion of its process.

    Args:
        specs: The rules.
        earlier: What was found before, by a companion that ended.
        report: Passes findings and statuses to the ``LiveWatch``.
    """

    def __init__(
        self,
        specs: Sequence[str | Mapping[str, object]],
        earlier: Sequence[str],
        report: Report,
    ) -> None:
        super().__init__(specs)
        self.findings += map(Finding.from_json, earlier)
        self._pass_on = report

    def receive(self, message: object) -> None:
        """Do what the training process asks for."""
        if message == "end_episodes":
            self.end_episodes()

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self._pass_on({"statuses": [asdict(status) for status in self.statuses()]})

    def _announce(self, findings: Sequence[Finding]) -> None:
        self.findings.extend(findings)
        self._pass_on({"findings": [finding.to_json() for finding in findings]})
