"""Processes of a job: each leads a group of its own, and outlives its runner.

If a runner is gone, whoever next reads the records starts another one, which adopts what still
runs. Beside each process another one waits, to note its exit code: see ``exit_note``.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from ..config import environment
from ..errors import ConfigError, StoreError
from ..runtime.process import identity, may_run
from ..store.local import private_opener
from . import exit_note
from .paths import JobPaths
from .records import ProcessRecord, Records

#: The role of the process that carries out a job; its successors have a number as well.
RUNNER = "runner"

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def program(name: str) -> str:
    """Return the path of a program, from whatever folder it is then started.

    Raises:
        ConfigError: There is none.
    """
    found = shutil.which(name)
    if found is None:
        raise ConfigError(f"there is no program {name!r}; give the path of a Python")
    return os.path.abspath(found)  # and no further: a link may be what makes an environment


def start(
    command: Sequence[str],
    log: Path,
    variables: Mapping[str, str],
    *,
    folder: Path | None = None,
    prepare: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program that outlives this process, and whose outputs go to a file.

    Args:
        command: The program and its arguments.
        log: Added to.
        variables: Its whole environment.
        folder: In which it begins; by default that of this process.
        prepare: Called in the new process, before the program begins; only on Linux.
    """
    with open(log, "ab", opener=private_opener) as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(variables),
            cwd=folder,
            start_new_session=True,
            preexec_fn=prepare if sys.platform == "linux" else None,
        )


class JobProcess:
    """A process that trains or judges, whichever runner started it.

    Args:
        record: What is noted of it.
        exit_file: Where its exit code is noted.
        started: The process where this one is its parent.
    """

    def __init__(
        self, record: ProcessRecord, exit_file: Path, started: subprocess.Popen[bytes] | None = None
    ) -> None:
        self.record, self._exit_file, self._started = record, exit_file, started

    @classmethod
    def start(
        cls, role: str, command: Sequence[str], log: Path, variables: Mapping[str, str], **how: Any
    ) -> JobProcess:
        """Start it; see the function ``start``."""
        exit_file = exit_file_of(log)
        exit_file.unlink(missing_ok=True)
        noting = [sys.executable, "-I", "-S", exit_note.__file__, str(exit_file), *command]
        started = start(noting, log, variables, **how)
        return cls(described(role, started.pid), exit_file, started)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; ``None`` while it runs.

        One that nobody could note, as where the machine was switched off, is that of SIGKILL.
        """
        if self._started is not None:
            is_over = self._started.poll() is not None
        else:
            is_over = not is_alive(self.record)
        return self._noted() if is_over else None

    def signal(self, number: int) -> None:
        """Send a signal to it and all that it started."""
        if self._started is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._started.pid, number)
        else:
            signal_group(self.record, number)

    def end(self) -> None:
        """Kill it and all that it started, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        while self.poll() is None:
            time.sleep(_POLL_S)

    def _noted(self) -> int:
        try:
            return int(self._exit_file.read_text())
        except (OSError, ValueError):
            code = self._started.returncode if self._started is not None else 0
            return (code if code <= 128 else 128 - code) or -signal.SIGKILL


def exit_file_of(log: Path) -> Path:
    """Return where the exit code is noted of a process, by its log."""
    return log.with_suffix(".exit")


_POLL_S = 0.02


def described(role: str, pid: int) -> ProcessRecord:
    """Return what is noted of a process of this machine."""
    return ProcessRecord(role, socket.gethostname(), pid, identity(pid))


def is_alive(process: ProcessRecord) -> bool:
    """Return whether a process may still run; ``True`` if we cannot know."""
    return may_run(process.host, process.pid, process.identity)


def end_group(process: ProcessRecord) -> None:
    """Kill a process and all that it started, also where it is gone itself and they are not."""
    signal_group(process, signal.SIGKILL)


def signal_group(process: ProcessRecord, number: int) -> None:
    """Send a signal to a process of this machine and all that it started.

    The number of a process is not given to another while a group of that number is left.
    """
    boot_and_namespace = process.identity.rpartition(" ")[0]
    is_here = process.host == socket.gethostname() and bool(boot_and_namespace)
    if not is_here or identity().rpartition(" ")[0] != boot_and_namespace:
        return
    if identity(process.pid) in ("", process.identity):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def dying_with_parent() -> Callable[[], None]:
    """Return what has Linux end the process that calls it when that which started it ends."""
    libc = ctypes.CDLL(None)  # now, not after a fork
    return lambda: libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def start_runner(records: Records, name: str, role: str = RUNNER) -> subprocess.Popen[bytes]:
    """Start the process that carries out a job which is noted."""
    command = [sys.executable, "-m", "stepwatch.jobs.runner", str(records.home), name, role]
    return start(command, JobPaths(records.home, name).runner_log, environment())


# How long a runner may take from being started to being noted, seconds.
_BEGINNING_S = 60.0
#: How often a job may lose its runner before it is given up.
MOST_RUNNERS = 5
_starting = Lock()


def reap(records: Records, job: str = "") -> None:
    """Have each job whose runner died carried on by another one; or only one job, by its name.

    A job that lost too many, or never had one, is ended, and noted as failed. Where that cannot be
    noted, because the disk is full, the next call does it.
    """
    with suppress(StoreError):
        for name, changed_ns in records.under_way(job):
            _carry_on(records, name, changed_ns)


def _carry_on(records: Records, name: str, changed_ns: int) -> None:
    processes = records.processes(name)
    runners = runners_of(processes)
    if runners and is_alive(runners[-1]):
        return
    if not runners and time.time_ns() - changed_ns < _BEGINNING_S * 1e9:
        return
    if not 0 < len(runners) < MOST_RUNNERS:
        for process in processes:
            end_group(process)
        _record_end(records, name)
        return
    with _starting:  # several threads may see that it is gone
        if len(runners_of(records.processes(name))) != len(runners):
            return
        role = f"{RUNNER}-{len(runners) + 1}"
        started = start_runner(records, name, role)
        if not records.add_new_process(name, described(role, started.pid)):
            started.kill()  # another process was faster


def runners_of(processes: Sequence[ProcessRecord]) -> list[ProcessRecord]:
    """Return the runners that a job has had, among its processes; the one that counts is last."""
    found = [one for one in processes if one.role.startswith(RUNNER)]
    return sorted(found, key=lambda one: int(one.role.partition("-")[2] or 1))


def _record_end(records: Records, name: str) -> None:
    why = "InternalError: the process that ran the job died"
    if records.end(name, "Failed", "Failed", why):
        for index, rule in enumerate(records.get(name).rules):
            if rule.status in ("InProgress", "Stopping"):
                records.judge(name, index, "Stopped", "the process that ran the job died")
