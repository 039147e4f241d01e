"""Serves the dashboard from this process."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import secrets
import socket
from dataclasses import dataclass

import pyarrow as pa

from ..errors import ConfigError, StoreError
from ..plugins.registry import require
from ..runtime.process import is_loopback
from .runs import absolute_location

# The system closes a connection whose peer takes nothing for so long.
_PATIENCE_MS = 20_000
_MOST_CONNECTIONS = 400


@dataclass(frozen=True)
class Server:
    """A socket that listens, and the runs that are served on it.

    Args:
        location: A folder or URL that runs lie beneath, or that is one.
        listener: The socket.
        host: The address that was asked for.
        token: What must be known; empty for nothing.
    """

    location: str
    listener: socket.socket
    host: str
    token: str

    @property
    def url(self) -> str:
        """The address to open, with the token if there is one."""
        host = "localhost" if self.host in ("127.0.0.1", "::1") else self.host
        host = socket.gethostname() if _is_any(host) else host
        host = f"[{host}]" if ":" in host else host
        port = self.listener.getsockname()[1]
        return f"http://{host}:{port}/" + (f"?token={self.token}" if self.token else "")

    def run(self) -> None:
        """Answer until the process is interrupted."""
        uvicorn = require("uvicorn", extra="dashboard")
        require("starlette", extra="dashboard")
        from .app import make_app

        _return_memory()
        names = {"localhost", self.host, socket.gethostname()}
        config = uvicorn.Config(
            make_app(self.location, names=sorted(names), token=self.token),
            http="h11",  # the faster parser, if it is installed, takes headers without end
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        try:
            uvicorn.Server(config).run(sockets=[self.listener])
        except asyncio.CancelledError:  # Ctrl-C in the moment before it serves
            raise KeyboardInterrupt from None


# As malloc.h of the C library of GNU has them.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE_BYTES = 2**18


def _return_memory() -> None:
    """Have memory given back as it is freed: to read a long run takes much of it for a moment.

    Arrow's own allocator keeps it, as does the C library in an area for each thread.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_ARENA_MAX, 2)


def listen(location: str, *, host: str, port: int, token: str | None = None) -> Server:
    """Take a port; browsers may ask from now on and are answered once ``run`` is called.

    Args:
        location: A folder or URL.
        host: The address.
        port: Which one; 0 for any that is free.
        token: What must be known to see anything; ``None`` for one that is made, ``""`` for
            nothing, which only loopback may have.

    Raises:
        ConfigError: The token has other characters than an address may have.
        StoreError: The address cannot be listened on.
        MissingDependency: The server is not installed.
    """
    require("uvicorn", extra="dashboard")
    if token is not None and not re.fullmatch(r"[\w.~-]*", token, re.ASCII):
        raise ConfigError("a token may have letters, digits and the signs - . _ ~ only")
    if token == "" and not is_loopback(host):
        raise ConfigError(f"whoever reaches {host} could look; leave out --no-token")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows it for TCP, and sends answers without delay.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # each connection has it from here
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _PATIENCE_MS)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise StoreError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "choose another with --port, or any with --port 0"
        ) from None
    if token is None:
        token = secrets.token_urlsafe(16)
    return Server(absolute_location(location), listener, host, token)


def _is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")
