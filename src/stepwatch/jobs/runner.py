"""The process that carries out one job: ``python -m stepwatch.jobs.runner HOME JOB ROLE``.

It waits for its turn, starts the training and the rules, and notes what becomes of them. If it is
killed, they go on, and whoever next asks for the job starts another one, which adopts them.

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
from .processes import RUNNER, described, reap
from .records import ProcessRecord, Records

_QUEUE_POLL_S = 0.5
_BEFORE_ITS_TURN = ("Starting", "Restarting")
_NOTED_WITHIN_S = 30.0


def run(records: Records, name: str, role: str = RUNNER) -> None:
    """Carry out a job, to the end; whatever is raised ends in the records.

    Args:
        records: Where it is noted.
        name: The name of the job.
        role: As which this process runs; under another name than the first it takes over.
    """
    mine = described(role, os.getpid())
    if role == RUNNER:
        records.add_process(name, mine)
    elif not _is_chosen(records, name, mine):
        return
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


def _is_chosen(records: Records, name: str, mine: ProcessRecord) -> bool:
    """Return whether this process is to take over: whoever started it notes that."""
    give_up_at = time.monotonic() + _NOTED_WITHIN_S
    while time.monotonic() < give_up_at:
        noted = [one for one in records.processes(name) if one.role == mine.role]
        if noted:
            return noted == [mine]
        time.sleep(_QUEUE_POLL_S / 10)
    return False


def _wait_for_turn(records: Records, name: str) -> bool:
    """Return whether a job may begin, or has begun; it may not if it is stopped before."""
    if records.get(name).secondary not in _BEFORE_ITS_TURN:
        return True
    while not records.take_slot(name, jobs_at_once()):
        if records.requested(name)[0] is not None:
            return False
        reap(records)  # who died before may still hold a slot
        time.sleep(_QUEUE_POLL_S)
    return records.requested(name)[0] is None


if __name__ == "__main__":
    run(Records(Path(sys.argv[1])), *sys.argv[2:])
