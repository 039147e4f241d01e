"""The process in which ``Replays`` runs recorded steps again and again, each time in a fork.

It is told over its standard input what is changed each time. Torch is imported once, and no thread
is started: a fork has it for nothing. What a replay has shown goes to a file of a folder that only
this user can read.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import time
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import StepUnavailable
from ..trial.alternatives import AS_RECORDED, Alternative, Replayed, apply
from .replay import leave_answer, run_again
from .replays import Task

_POLL_S = 0.005


def main(folder: Path) -> None:
    """Run a replay for each line of standard input, and answer each with a line."""
    # Written by the process that started this one.
    task, blames = pickle.loads((folder / "task").read_bytes())
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    from ..hooks.torch.replay import alternatives, blame  # with torch: once, for all forks

    import_module("torch._dynamo")  # which each hook would import

    hooks = blame if blames else alternatives
    for line in sys.stdin:
        asked = json.loads(line)
        change = Alternative(**{**asked, "rows": tuple(asked["rows"])})
        answer = folder / "answer"
        answer.unlink(missing_ok=True)
        pid = os.fork()
        if not pid:
            _run_in_fork(task, change, answer, hooks)
        error = _wait(pid, task.limit_s)
        if not error and not answer.exists():
            error = "the process that ran the script died"
        evaluated = folder / "evaluated"
        if evaluated.exists():  # what is evaluated is known once the script was run as it was
            evaluations = pickle.loads(evaluated.read_bytes())
            task = replace(task, recording=replace(task.recording, evaluations=evaluations))
            evaluated.unlink()
        print(json.dumps({"error": error}), file=out, flush=True)


def _wait(pid: int, limit_s: float) -> str:
    began = time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return f"killed by signal {status & 127}" if status & 127 else ""
        if time.monotonic() - began > limit_s:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"it took more than {limit_s:g} s"
        time.sleep(_POLL_S)


def _run_in_fork(task: Task, change: Alternative, answer: Path, hooks: Any) -> None:
    """Run the script in this process, a fork, and end it."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            leave_answer(answer, _replay(task, change, hooks, answer.with_name("evaluated")))
        except Exception as error:  # noqa: BLE001  whatever it is, this replay has shown nothing
            leave_answer(answer, Replayed(error=f"{type(error).__name__}: {error}"))
    finally:
        os._exit(0)


def _replay(task: Task, change: Alternative, hooks: Any, evaluated: Path) -> Replayed:
    warnings.simplefilter("ignore")
    recording = apply(task.recording, task.forwards, change)
    if recording is None:
        return Replayed(facts={"changed": False})
    try:
        hook = hooks.make(recording, task, change)
        run_again(task.manifest, hook)
    except StepUnavailable as error:
        return Replayed(error=str(error))
    if change.kind == AS_RECORDED and task.num_evaluations:
        evaluated.write_bytes(pickle.dumps(hook.evaluated))
    return Replayed(hook.records, hook.evaluations, hook.facts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
