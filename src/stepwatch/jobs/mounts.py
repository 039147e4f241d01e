"""A folder that a process, and what it starts, finds in a second place, and nobody else does.

Linux lets a process have mounts of its own: root at once, others in a user namespace of their own,
in which they stay who they are.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_MOUNTS, _USERS = 0x0002_0000, 0x1000_0000  # CLONE_NEWNS, CLONE_NEWUSER
_BIND, _SLAVE = 0x1000 | 0x4000, 0x8_0000 | 0x4000  # MS_BIND, MS_SLAVE, each with MS_REC


def show(folder: Path, at: Path) -> Callable[[], None]:
    """Return what a new process calls to find a folder in a second place.

    Args:
        folder: What is shown.
        at: An empty folder. Where it cannot be done the process says so in one line, and goes on.
    """
    libc = ctypes.CDLL(None, use_errno=True)  # now, not after a fork

    def do() -> None:
        user, group = os.getuid(), os.getgid()
        try:
            if libc.unshare(_MOUNTS):
                _check(libc.unshare(_MOUNTS | _USERS))
                _write("setgroups", "deny")
                _write("uid_map", f"{user} {user} 1")
                _write("gid_map", f"{group} {group} 1")
            _check(libc.mount(None, b"/", None, ctypes.c_ulong(_SLAVE), None))
            _check(libc.mount(bytes(folder), bytes(at), None, ctypes.c_ulong(_BIND), None))
        except OSError as error:
            os.write(
                2, f"stepwatch: {at} is not the job's folder here: {error.strerror}\n".encode()
            )

    return do


def _check(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(name: str, text: str) -> None:
    Path("/proc/self", name).write_text(text)
