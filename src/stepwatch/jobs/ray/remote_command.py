"""A command that runs on a node of a Ray cluster, as if it ran here.

``python -m stepwatch.jobs.ray.remote_command RESOURCES COMMAND …``: the command gets the variables
and the folder of this process, writes to its outputs, is told to end when it is, and ends it with
its own exit status. If this process is killed, Ray ends the command. Files must be where they are
here.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...config import environment
from ...runtime.process import free_port
from ..processes import dying_with_parent
from .cluster import connect, resources

_POLL_S = 0.1
# What Ray says to each process on a node about the processors that are its own.
_GIVEN_BY_RAY = ("CUDA_VISIBLE_DEVICES",)


class OnNode:
    """A command on the node where this lives."""

    def address(self) -> tuple[str, int]:
        """Return the address of the node, and a port of it at which nobody listens."""
        return socket.gethostbyname(socket.gethostname()), free_port()

    def run(
        self, command: Sequence[str], variables: Mapping[str, str], folder: str
    ) -> Iterator[bytes | int]:
        """Yield what the command writes, and its exit status."""
        given = {name: environment()[name] for name in _GIVEN_BY_RAY if name in environment()}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**variables, **given},
            cwd=folder,
            start_new_session=True,
            preexec_fn=dying_with_parent() if sys.platform == "linux" else None,
        )
        written: Any = self._process.stdout
        while piece := written.read1(1 << 16):
            yield piece
        yield self._process.wait()

    def send_signal(self, number: int) -> None:
        """Send a signal to the command and what it started."""
        os.killpg(self._process.pid, number)


def main(resources_of_it: str, command: Sequence[str]) -> int:
    """Run a command on a node; return its exit status, negative for a signal."""
    ray = connect()
    node = ray.remote(max_concurrency=2)(OnNode).options(**resources(resources_of_it)).remote()
    variables = {**environment(), **_rendezvous(ray, node, environment())}
    outputs = node.run.options(num_returns="streaming").remote(command, variables, os.getcwd())
    signal.signal(signal.SIGTERM, lambda number, _: node.send_signal.remote(number))
    status = 1
    for reference in outputs:
        piece = ray.get(reference)
        if isinstance(piece, bytes):
            sys.stdout.buffer.write(piece)
            sys.stdout.flush()
        else:
            status = piece
    return status


def _rendezvous(ray: Any, node: Any, variables: Mapping[str, str]) -> dict[str, str]:
    """Return where processes that train together meet: on the node of the first one."""
    if "MASTER_PORT" not in variables:
        return {}
    note = Path(variables["SM_INPUT_CONFIG_DIR"], f"master-{variables['MASTER_PORT']}")
    if variables["RANK"] == "0":
        host, port = ray.get(node.address.remote())
        unfinished = note.with_suffix(".unfinished")
        unfinished.write_text(f"{host} {port}")
        unfinished.rename(note)
    while not note.exists():
        time.sleep(_POLL_S)
    host, port = note.read_text().split()
    return {"MASTER_ADDR": host, "MASTER_PORT": port}


if __name__ == "__main__":
    STATUS = main(sys.argv[1], sys.argv[2:])
    if STATUS < 0:
        with suppress(OSError):  # the handler of SIGKILL cannot be set
            signal.signal(-STATUS, signal.SIG_DFL)
        os.kill(os.getpid(), -STATUS)
    sys.exit(STATUS)
