"""Runs many small jobs, each in a process forked from this one.

Torch is imported once, here; a fork has it for nothing and leaves nothing behind. For that this
process must never have started a thread of torch.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

Job = TypeVar("Job")


@dataclass
class _Child:
    index: int
    pid: int
    pipe: int
    started: float
    said: bytes = b""


def run_all(
    jobs: Sequence[Job],
    work: Callable[[Job], object],
    *,
    at_once: int,
    limit_s: float,
) -> Iterator[tuple[Job, object, str]]:
    """Yield each job with what it returned, in the order in which they end.

    Args:
        jobs: What is to be done.
        work: Does one; what it returns must be of JSON's types.
        at_once: How many processes there are.
        limit_s: A job that takes longer is killed.

    Yields:
        The job, its result (``None`` if it failed), and why it failed (empty if not).
    """
    waiting = deque(enumerate(jobs))
    children: dict[int, _Child] = {}
    try:
        while waiting or children:
            while waiting and len(children) < at_once:
                index, job = waiting.popleft()
                child = _start(index, job, work)
                children[child.pipe] = child
            for child in _ended(children, limit_s):
                del children[child.pipe]
                result, failure = _result(child)
                yield jobs[child.index], result, failure
    finally:
        for child in children.values():
            _kill(child)


def _start(index: int, job: Job, work: Callable[[Job], object]) -> _Child:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Child(index, pid, reading, time.monotonic())
    try:
        os.setpgid(0, 0)  # so that what it forks itself is killed with it
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
        try:
            answer = {"result": work(job)}
        except Exception:  # noqa: BLE001 - told to the parent, whatever it is
            answer = {"failure": traceback.format_exc(limit=-4)}
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
    finally:
        os._exit(0)


def _ended(children: dict[int, _Child], limit_s: float) -> list[_Child]:
    """Read what is there, and return the children that said all they had to say."""
    ended = []
    ready, _, _ = select.select(list(children), [], [], 0.5)
    for pipe in ready:
        part = os.read(pipe, 1 << 20)
        children[pipe].said += part
        if not part:
            ended.append(children[pipe])
    for child in children.values():
        if time.monotonic() - child.started > limit_s:
            child.said = json.dumps({"failure": f"took more than {limit_s:g} s"}).encode()
            ended.append(child)
    return list({child.pid: child for child in ended}.values())


def _result(child: _Child) -> tuple[object, str]:
    _kill(child)
    if not child.said:
        return None, "the process died"
    answer = json.loads(child.said)
    return answer.get("result"), str(answer.get("failure", ""))


def _kill(child: _Child) -> None:
    with suppress(ProcessLookupError):  # it ended by itself
        os.killpg(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    os.close(child.pipe)
