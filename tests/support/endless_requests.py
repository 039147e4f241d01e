"""Requests that do not end, as a stranger may send to any server that listens."""

from __future__ import annotations

import socket
from itertools import count
from urllib.parse import urlsplit

_MOST_BYTES = 64 << 20


def bytes_until_refused(url: str, *, headers: str) -> int:
    """Send a request whose headers do not end; return after how many bytes it is hung up on.

    Args:
        url: Where the server listens.
        headers: ``long`` for one header without end, ``many`` for headers without end.

    Raises:
        AssertionError: 64 MiB were taken.
    """
    parts, sent = urlsplit(url), 0
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        for number in count():
            end = b"\r\nX-%d: " % number if headers == "many" else b""
            try:
                connection.sendall(b"a" * 4096 + end)
            except OSError:
                return sent
            sent += 4096
            assert sent < _MOST_BYTES, f"{sent} bytes of {headers} headers were taken"
    return sent
