"""Processes of a job: each leads a group of its own, and none outlives its runner.

If a runner is gone, whoever next reads the records ends what is left and notes that the job failed.
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

from ..errors import ConfigError, StoreError
from ..runtime.process import identity, may_run
from .records import ProcessRecord, Records

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
    outlives: bool = False,
    prepare: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program whose outputs go to a file.

    Args:
        command: The program and its arguments.
        log: Added to.
        variables: Its whole environment.
        folder: In which it begins; by default that of this process.
        outlives: Whether it goes on when this process ends; else Linux ends it then.
        prepare: Called in the new process, before the program begins; only on Linux.
    """
    die_with_parent = dying_with_parent()

    def begin() -> None:  # in the child, which has this one thread
        if prepare is not None:
            prepare()
        die_with_parent()  # last: a change of namespaces undoes it

    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(variables),
            cwd=folder,
            start_new_session=True,
            preexec_fn=None if outlives or sys.platform != "linux" else begin,
        )


def described(role: str, pid: int) -> ProcessRecord:
    """Return what is noted of a process of this machine."""
    return ProcessRecord(role, socket.gethostname(), pid, identity(pid))


def is_alive(process: ProcessRecord) -> bool:
    """Return whether a process may still run; ``True`` if we cannot know."""
    return may_run(process.host, process.pid, process.identity)


def end_group(process: ProcessRecord) -> None:
    """Kill a process and all that it started, also where it is gone itself and they are not.

    The number of a process is not given to another while a group of that number is left.
    """
    boot_and_namespace = process.identity.rpartition(" ")[0]
    is_here = process.host == socket.gethostname() and bool(boot_and_namespace)
    if not is_here or identity().rpartition(" ")[0] != boot_and_namespace:
        return
    if identity(process.pid) in ("", process.identity):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def dying_with_parent() -> Callable[[], None]:
    """Return what has Linux end the process that calls it when that which started it ends."""
    libc = ctypes.CDLL(None)  # now, not after a fork
    return lambda: libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


# How long a runner may take from being started to being noted, seconds.
_BEGINNING_S = 60.0


def reap(records: Records) -> None:
    """End what is left of each job whose runner died, and note that it failed.

    Where that cannot be noted, because the disk is full, the next call does it.
    """
    with suppress(StoreError):
        _reap_one(records)


def _reap_one(records: Records) -> None:
    for name, changed_ns in records.under_way():
        processes = records.processes(name)
        runner = next((one for one in processes if one.role == "runner"), None)
        if runner is None:
            is_gone = time.time_ns() - changed_ns > _BEGINNING_S * 1e9
        else:
            is_gone = not is_alive(runner)
        if is_gone:
            for process in processes:
                end_group(process)
            _record_end(records, name)


def _record_end(records: Records, name: str) -> None:
    why = "InternalError: the process that ran the job died"
    if records.end(name, "Failed", "Failed", why):
        for index, rule in enumerate(records.get(name).rules):
            if rule.status in ("InProgress", "Stopping"):
                records.judge(name, index, "Stopped", "the process that ran the job died")
