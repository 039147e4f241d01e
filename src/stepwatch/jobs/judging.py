"""The process of one rule of a job: ``python -m stepwatch.jobs.judging HOME JOB PLACE``.

It follows the run until it ends, notes how the rule stands, and does what the job says about its
findings. If it dies, the runner notes that, and everything else goes on.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

from ..actions.policy import parse_actions
from ..actions.reactions import Reactions
from ..capture.control import Control, Request, Settle
from ..errors import RunNotFound
from ..formats.findings import write_findings, write_statuses
from ..rules.watch import Watch, watch
from ..trial import Trial
from .job_record import JobRecord
from .place import Place
from .records import Records
from .spec import RuleSpec

_POLL_S = 0.2
_BEFORE_THE_END = ("Starting", "Downloading", "Training")
_NO_DATA = "the job saved nothing, so there was nothing to judge"


class JobControl(Control):
    """What a rule may do to the job that it judges: stop it.

    Args:
        records: Where that is asked for.
        job: Its name.
    """

    def __init__(self, records: Records, job: str) -> None:
        super().__init__()
        self._records, self._job = records, job

    def ask(self, request: Request, settle: Settle) -> None:
        """Have something done at once: it is only noted here."""
        try:
            settle(request(self))
        except Exception as error:  # noqa: BLE001  the rule goes on
            settle(error)

    def stop(self, reason: str) -> None:
        self._records.ask_stop(self._job, reason)

    def fail(self, error: Exception) -> None:
        self._records.ask_stop(self._job, str(error))


def judge(home: Path, job: str, place: int) -> None:
    """Let one rule of a job judge its run, to the end.

    Args:
        home: Where the records are.
        job: Its name.
        place: Of the rule in the job's list.
    """
    records = Records(home)
    record = records.get(job)
    rule = record.spec.rules[place]
    trial = _open(records, record, Place(home, job))
    if trial is None:
        records.judge(job, place, "NotEvaluated", _NO_DATA)
        return
    engine = Watch([rule.rule])
    reactions = _reactions(rule, records, job, trial)
    who, lines = f"job-rule-{place}", []
    for finding in watch(trial, engine):
        print(finding.headline(), flush=True)
        lines.append(finding.to_json())
        write_findings(trial.store, who, lines)
        if len(lines) == 1:
            records.judge(job, place, "IssuesFound", finding.headline())
        reactions.found(finding)
    reactions.finish()
    status = engine.statuses()[0]
    write_statuses(trial.store, who, [asdict(status)])
    records.judge(job, place, status.status, status.details)


def _open(records: Records, record: JobRecord, place: Place) -> Trial | None:
    """Wait for the run; return ``None`` if the training ended without one."""
    while True:
        over = records.get(record.spec.name).secondary not in _BEFORE_THE_END
        try:
            return Trial(place.tensors)
        except RunNotFound:
            if over:
                return None
        time.sleep(_POLL_S)


def _reactions(rule: RuleSpec, records: Records, job: str, trial: Trial) -> Reactions:
    reactions = Reactions(parse_actions(rule.actions), lambda line: print(line, flush=True))
    reactions.start(trial.store, f"job-{uuid4().hex[:8]}", {})
    reactions.attach(JobControl(records, job))
    return reactions


if __name__ == "__main__":
    judge(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
