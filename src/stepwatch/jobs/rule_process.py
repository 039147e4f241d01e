"""The process of one rule of a job.

Run by ``python -m stepwatch.jobs.rule_process HOME JOB INDEX RESUMES``.

It follows the run until it ends, notes the status of the rule, and carries out the actions about
its findings. If it dies, the runner notes that, and all else goes on. ``RESUMES`` is how often
the run had been resumed when the training was started: what was before is not judged.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

from ..actions.policy import PolicyEntry, parse_actions
from ..actions.reactions import Reactions
from ..capture.control import Control, OnSettled, Request
from ..errors import ConfigError, RunNotFound, StepwatchError
from ..formats.findings import write_findings, write_statuses
from ..judge.engine import RuleStatus, Watch, watch
from ..judge.rule import Watched
from ..model.finding import Finding
from ..rules.compat import compat_message
from ..store.local import LocalStore
from ..trial import Trial
from .artifacts import num_resumes
from .job_rules import build_rule
from .paths import JobPaths
from .records import Records

_POLL_S = 0.2
_BEFORE_THE_END = ("Starting", "Restarting", "Downloading", "Training", "Stopping")
_NO_DATA = "the job saved nothing, so there was nothing to judge"


class JobControl(Control):
    """What a rule may do to jobs: stop the one that it judges, or one whose name has a prefix."""

    def __init__(self, records: Records, job: str, prefix: str = "") -> None:
        super().__init__()
        self._records, self._job, self._prefix = records, job, prefix

    def request(self, request: Request, settle: OnSettled) -> None:
        """Have something done at once: it is only noted here."""
        try:
            settle(request(self))
        except Exception as error:  # noqa: BLE001  the rule goes on
            settle(error)

    def stop(self, reason: str) -> None:
        self._records.record_stop_request(self._target_job(), reason)

    def fail(self, error: Exception) -> None:
        self._records.record_stop_request(self._target_job(), str(error))

    def _target_job(self) -> str:
        if self._job.startswith(self._prefix):
            return self._job
        under_way = [name for name, _ in self._records.under_way()]
        meant = [name for name in under_way if name.startswith(self._prefix)]
        if len(meant) != 1:
            raise ConfigError(
                f"{len(meant)} jobs under way begin with {self._prefix!r}; only one can be meant"
            )
        return meant[0]


class RuleProcess:
    """One rule at work on its job, by its position among the rules."""

    def __init__(self, records: Records, job: str, number: int) -> None:
        self._records, self._job, self._number = records, job, number
        self._paths = JobPaths(records.home, job)
        spec = records.get(job).spec
        self._is_stored = bool(spec.judges)
        self._rule, self._run = spec.rules[number], spec.judges or str(self._paths.tensors)
        # Beside a run that was judged before, by another job.
        self._who = f"{job if self._is_stored else 'job'}-rule-{number}"
        self._failed: list[str] = []

    def judge(self, known_resumes: int) -> None:
        """Judge the run, to the end; see ``num_resumes`` for how often it was resumed before."""
        try:
            rule = build_rule(self._rule, self._paths, self._run)
        except StepwatchError as error:
            print(error, flush=True)
            self._note("Error", f"{type(error).__name__}: {error}")
            return
        trial = self._open(known_resumes)
        if trial is None:
            why = f"there is no run at {self._run}" if self._is_stored else _NO_DATA
            self._note("NotEvaluated", why)
        else:
            self._watch(trial, rule)

    def _watch(self, trial: Trial, rule: Watched) -> None:
        engine, reactions = Watch([rule]), self._reactions(trial)
        found = list[Finding]()
        for finding in watch(trial, engine):
            print(finding.headline(), flush=True)
            found.append(finding)
            write_findings(trial.store, self._who, [one.to_json() for one in found])
            if len(found) == 1:
                self._note("IssuesFound", self._details(rule, finding))
            reactions.found(finding)
        reactions.finish()
        status = engine.statuses()[0]
        write_statuses(trial.store, self._who, [asdict(status)])
        self._store(trial, rule, found, status)
        has_issues = status.status == "IssuesFound"
        self._note(status.status, self._details(rule, found[0]) if has_issues else status.details)

    def _details(self, rule: Watched, first: Finding) -> str:
        """Return the details of a rule that found something, with the actions that failed."""
        if isinstance(self._rule.rule, str):
            text = first.headline()
        else:
            name = self._rule.rule.get("rule_to_invoke", rule.name)
            text = f"{compat_message(name, first.step)}: {first.message}"
        return "; ".join([text, *self._failed])

    def _store(
        self, trial: Trial, rule: Watched, found: Sequence[Finding], status: RuleStatus
    ) -> None:
        folder = self._paths.rule_output(self._rule.name)
        output = LocalStore(folder)
        output.put("findings.jsonl", "".join(f"{one.to_json()}\n" for one in found).encode())
        output.put("status.json", json.dumps(asdict(status), indent=1).encode())
        if write := getattr(rule.rule, "write", None):  # a report
            write(trial, folder)

    def _open(self, known_resumes: int) -> Trial | None:
        """Wait for the run; return ``None`` if the training ended without one."""
        while True:
            at = self._records.get(self._job).secondary
            over = self._is_stored or at not in _BEFORE_THE_END
            if num_resumes(self._run) > (-2 if over else known_resumes):
                try:
                    return Trial(self._run)
                except RunNotFound:
                    if over:
                        return None
            time.sleep(_POLL_S)

    def _note(self, status: str, details: str) -> None:
        self._records.judge(self._job, self._number, status, details)

    def _reactions(self, trial: Trial) -> Reactions:
        reactions = Reactions(self._policy(), self._log)
        reactions.start(trial.store, f"job-{uuid4().hex[:8]}", {})
        reactions.attach(JobControl(self._records, self._job, self._rule.stops))
        return reactions

    def _policy(self) -> list[PolicyEntry]:
        """Return the actions about findings; one that is invalid is no reason not to judge."""
        able: list[str] = []
        for text in self._rule.actions:
            try:
                parse_actions(text)
            except ConfigError as error:
                self._log(f"{text} failed: {error}")
            else:
                able.append(text)
        return parse_actions(able)

    def _log(self, line: str) -> None:
        print(line, flush=True)
        if line.partition(" ")[2].startswith("failed: "):
            self._failed.append(line)


if __name__ == "__main__":
    HOME, JOB, INDEX, RESUMES = sys.argv[1:]
    RuleProcess(Records(Path(HOME)), JOB, int(INDEX)).judge(int(RESUMES))
