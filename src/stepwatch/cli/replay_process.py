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

from ..config.variables import set_launched
from ..errors import StepUnavailable
from ..trial.alternatives import AS_RECORDED, Alternative, Replayed, apply
from .replay import leave_answer, run_again
from .replays import Task

_POLL_S = 0.005


def main(folder: Path, answers: int) -> None:
    """Run a replay for each line of standard input, and answer each with a line.

    Args:
        folder: Where the task lies, and what a replay has shown.
        answers: The file descriptor that lines are written to.
    """
    # Written by the process that started this one.
    task, name, shows_output = pickle.loads((folder / "task").read_bytes())
    hooks = import_module(f"stepwatch.hooks.torch.replay.{name}")  # with torch, for all forks
    import_module("torch._dynamo")  # which each hook would import

    out = os.fdopen(answers, "w", buffering=1)
    for line in sys.stdin:
        asked = json.loads(line)
        change = Alternative(**{**asked["change"], "rows": tuple(asked["change"]["rows"])})
        answer, stop = folder / "answer", folder / "stop"
        answer.unlink(missing_ok=True)
        stop.unlink(missing_ok=True)
        pid = os.fork()
        if not pid:
            if asked["launched"]:
                set_launched(*asked["launched"])
            _run_in_fork(task, change, answer, hooks, shows_output=shows_output)
        error = _wait(pid, task.limit_s, stop)
        if not error and not answer.exists():
            error = "the process that ran the script died"
        evaluated = folder / "evaluated"
        if evaluated.exists():  # what is evaluated is known once the script was run as it was
            evaluations = pickle.loads(evaluated.read_bytes())
            task = replace(task, recording=replace(task.recording, evaluations=evaluations))
            evaluated.unlink()
        print(json.dumps({"error": error}), file=out, flush=True)


def _wait(pid: int, limit_s: float, stop: Path) -> str:
    began = time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return f"killed by signal {status & 127}" if status & 127 else ""
        is_late = time.monotonic() - began > limit_s
        if is_late or stop.exists():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"it took more than {limit_s:g} s" if is_late else "another process has failed"
        time.sleep(_POLL_S)


def _run_in_fork(
    task: Task, change: Alternative, answer: Path, hooks: Any, *, shows_output: bool
) -> None:
    """Run the script in this process, a fork, and end it."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0,) if shows_output else (0, 1, 2):
            os.dup2(nowhere, stream)
        if not shows_output:
            warnings.simplefilter("ignore")
        try:
            leave_answer(answer, _replay(task, change, hooks, answer.with_name("evaluated")))
        except Exception as error:  # noqa: BLE001  whatever it is, this replay has shown nothing
            leave_answer(answer, Replayed(error=f"{type(error).__name__}: {error}"))
        for file in (sys.stdout, sys.stderr):
            file.flush()
    finally:
        # Not by way of what the script has left to do at exit: it would wait for other processes.
        os._exit(0)


def _replay(task: Task, change: Alternative, hooks: Any, evaluated: Path) -> Replayed:
    recording = apply(task.recording, task.forwards, change)
    if recording is None:
        return Replayed(facts={"changed": False})
    try:
        hook = hooks.make(recording, task, change)
        _, how = run_again(task.manifest, hook)
    except StepUnavailable as error:
        return Replayed(error=str(error))
    if change.kind == AS_RECORDED and task.num_evaluations:
        evaluated.write_bytes(pickle.dumps(hook.evaluated))
    return Replayed(hook.records, hook.evaluations, {**hook.facts, "ended": how})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
