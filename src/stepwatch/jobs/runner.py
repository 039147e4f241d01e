"""The process that carries out one job: ``python -m stepwatch.jobs.runner HOME JOB``.

It waits for its turn, starts the training and the rules, and notes what becomes of them. If it is
killed, Linux ends the processes that it started, and whoever next asks notes that the job failed.

Many may wait at once. So what only a job that is under way needs is imported when its turn comes.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path

from ..config import jobs_at_once
from ..errors import StepwatchError
from .processes import described, reap
from .records import Records

_QUEUE_POLL_S = 0.5


def run(records: Records, name: str) -> None:
    """Carry out a job, to the end; whatever is raised ends in the records."""
    records.add_process(name, described("runner", os.getpid()))
    try:
        if _wait_for_turn(records, name):
            from .execution import JobExecution

            JobExecution(records, name).run()
        else:
            records.end(name, "Stopped", "Stopped", "stopped before it began")
    except Exception as error:  # noqa: BLE001  the last resort: it must not be under way for ever
        traceback.print_exc()
        kind = "ClientError" if isinstance(error, StepwatchError) else "InternalError"
        records.end(name, "Failed", "Failed", f"{kind}: {type(error).__name__}: {error}")


def _wait_for_turn(records: Records, name: str) -> bool:
    """Return whether a job may begin; it may not if it is stopped before."""
    while not records.take_slot(name, jobs_at_once()):
        if records.requested(name)[0] is not None:
            return False
        reap(records)  # who died before may still hold a slot
        time.sleep(_QUEUE_POLL_S)
    return records.requested(name)[0] is None


if __name__ == "__main__":
    run(Records(Path(sys.argv[1])), sys.argv[2])
