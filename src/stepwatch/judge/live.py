"""Rules in the training process: they judge a step before it is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from ..capture.companion import MakeRemote, Report
from ..formats.findings import write_findings, write_statuses
from ..formats.manifest import are_several
from ..model.finding import Finding
from ..model.record import StepRecord
from ..store import Store
from ..trial.profile import Profile
from .engine import RuleStatus, Watch
from .parameters import Spec, parse_rules
from .root_cause import chains
from .rule import required_captures
from .step_view import StepView

_FIRST = "worker_0"


class LiveWatch:
    """Judges the training from within; give it to a hook as a listener.

    Findings and, at the end, the statuses of the rules are stored in the run.

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
        self.findings: list[Finding] = []

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Take in where the run is stored, and whether others train with this worker."""
        self._store, self._worker, self._patterns = store, worker, patterns
        self._others = are_several(store)
        if worker == _FIRST:  # of what all machines and workers do, one judges
            self._profile = Profile(store)

    def on_step(self, record: StepRecord) -> None:
        """Judge a step."""
        self._report(self._watch.evaluate(StepView([record], self._patterns, others=self._others)))

    def tick(self) -> None:
        """Judge by the clock."""
        self._report(self._watch.tick(time.time_ns(), profile=self._profile))

    def end_episodes(self) -> None:
        """The training goes on from an earlier state: what holds from here on is news."""
        self._watch.end_episodes()
        self._send("end_episodes")

    def finish(self) -> None:
        """Report what the rules find in the whole run, and store their statuses."""
        if self._profile is not None:  # the others may still write to it
            self._report(self._watch.scan(self._profile, ended=not self._others))
        self._report(self._watch.finish())
        if self._store is not None:
            write_statuses(self._store, self._worker, map(asdict, self.statuses()))

    def statuses(self) -> list[RuleStatus]:
        """Return the status of each rule."""
        return self._watch.statuses() if self._statuses is None else self._statuses

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
        super().finish()
        self._pass_on({"statuses": [asdict(status) for status in self.statuses()]})

    def _announce(self, findings: Sequence[Finding]) -> None:
        self.findings.extend(findings)
        self._pass_on({"findings": [finding.to_json() for finding in findings]})
