"""Whether the process that writes a run still runs, and which addresses and ports are of here.

A process number alone is not enough: numbers are used again, after a reboot too, and each
container counts its own.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from ipaddress import ip_address
from pathlib import Path


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def identity(pid: int | str = "self") -> str:
    """Return ``boot namespace start`` of a running process; ``""`` where it is unknown.

    Args:
        pid: Its number; this process by default.
    """
    try:
        boot, namespace = _boot_and_namespace(os.getpid())
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    state, start = status[0], status[19]
    return "" if state in "ZX" else f"{boot} {namespace} {start}"


@cache
def _boot_and_namespace(own_pid: int) -> tuple[str, str]:
    """Return what is the same for as long as this process runs; a forked child has its own.

    Raises:
        OSError: It is unknown.
    """
    del own_pid
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return boot, os.readlink("/proc/self/ns/pid")


def may_run(host: str, pid: int, recorded: str) -> bool:
    """Return whether a process may still run; ``True`` if we cannot know.

    Args:
        host: The machine it ran on.
        pid: Its number there.
        recorded: Its ``identity`` when it started.
    """
    if host != socket.gethostname() or pid <= 0 or os.name == "nt":
        return True
    theirs = recorded.split(" ")
    try:
        boot, namespace = _boot_and_namespace(os.getpid())
    except OSError:
        return _exists(pid)
    if len(theirs) != 3:
        return _exists(pid)
    if theirs[0] != boot:
        return False  # the machine was started again since
    return theirs[1] != namespace or identity(pid) == recorded


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def free_port() -> int:
    """Return a port of this machine at which nobody listens, for processes to meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
