"""Several workers that write one run and several readers that follow it, each a process.

    python many_processes.py RUN PLAN

The plan is JSON; see ``main``. What each reader saw is printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from stepwatch.capture import Recorder
from stepwatch.errors import RunNotFound
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial
from tests.support import fork_server

SCRIPT = Path(__file__)


def follow_together(run, **plan):
    """Run a plan and return what each reader saw: a list of steps, each a list of rows."""
    done = fork_server.run(
        [sys.executable, SCRIPT, run, json.dumps(plan)],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def seen(trial, **options):
    """Return the steps of a run as ``[step, [[worker, value], ...]]``."""
    return [
        [records[0].step, [[record.worker, record.statistics[0].tolist()] for record in records]]
        for records in trial.records(**options)
    ]


def write(run, rank, size, *, steps, pace_s, dies_at=None, nan_at=None, first=0):
    """Write as a worker; once something up to step ``dies_at`` is stored, it is killed after it."""
    recorder = Recorder(run, rank=(rank, size))
    for step in range(first, steps):
        value = np.full(3, np.nan if step == nan_at else 1000 * rank + step)
        info = TensorInfo("w", "weights", "float64", (3,))
        recorder.open_step(Mode.TRAIN).add(info, value)
        recorder.end_step(Mode.TRAIN)
        time.sleep(pace_s)
        if step == dies_at:
            while not recorder.store.list(f"observations/{recorder.worker}/"):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
    recorder.close()


def read(run, answers, *, begins_at=None):
    """Follow as a reader, from the beginning or once a step is there, and answer what came."""
    while True:
        try:
            trial = Trial(run)
            break
        except RunNotFound:
            time.sleep(0.01)
    if begins_at is not None:
        trial.wait_for_steps([begins_at], timeout=60)
    found = seen(trial, follow=True)
    os.write(answers, f"{json.dumps([trial.state, found])}\n".encode())


def fork(function, *arguments, **options):
    """Run a function in a child; return its process number."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function(*arguments, **options)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())
            os._exit(status)
    return child


def main(run, workers, readers):
    """Let workers write and readers read; all workers but those that die must end well.

    Args:
        run: Where.
        workers: Options of ``write`` for each.
        readers: Options of ``read`` for each.
    """
    answers = []
    for options in readers:
        come, go = os.pipe()
        answers.append(come)
        fork(read, run, go, **options)
        os.close(go)
    size = len(workers)
    children = {
        fork(write, run, rank, size, **options): options for rank, options in enumerate(workers)
    }
    for child, options in children.items():
        status = os.waitpid(child, 0)[1]
        assert (status == 0) == (options.get("dies_at") is None), (options, status)
    print(json.dumps([json.loads(Path(f"/dev/fd/{come}").read_text()) for come in answers]))


if __name__ == "__main__":
    plan = json.loads(sys.argv[2])
    main(sys.argv[1], plan["workers"], plan["readers"])
