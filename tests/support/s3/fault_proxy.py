"""A way to a server on which things go wrong, as asked for: slow, cut, lost, refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

#: What may go wrong with a request.
REFUSED = "refused"  # answered with a status, and not passed on
CUT = "cut"  # the connection ends in the middle of what is sent
UNANSWERED = "unanswered"  # passed on and done, and the connection ends before the answer
TRUNCATED = "truncated"  # the connection ends in the middle of the answer


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    Args:
        kind: One of the above; empty for nothing but the delay.
        status: Of a refusal.
        retry_after_s: What a refusal says of when to come again; ``None`` for nothing.
        delay_s: Before anything is done.
    """

    kind: str = ""
    status: int = 503
    retry_after_s: int | None = None
    delay_s: float = 0.0


class FaultProxy:
    """Listens on loopback, from ``with`` to its end, and passes requests on.

    Args:
        endpoint: URL of the server.
        fault: Called with method and path of each request, in a thread of its own; returns what
            goes wrong with it, if anything.
    """

    def __init__(self, endpoint: str, fault: Callable[[str, str], Fault | None]) -> None:
        parts = urlsplit(endpoint)
        self._upstream = (parts.hostname, parts.port)
        self.fault = fault
        self.seen: list[tuple[str, str]] = []
        self._transports: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        host, port = self._address
        return f"http://{host}:{port}"

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        self._address = ("127.0.0.1", 0)
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        self._loop.close()

    def open(self) -> None:
        """Listen, at the same address as before."""
        self._server = self._run(asyncio.start_server(self._serve, *self._address))
        self._address = self._server.sockets[0].getsockname()

    def close(self) -> None:
        """Refuse connections, and end those that there are."""
        self._loop.call_soon_threadsafe(self._server.close)
        self._run(self._end_all())

    async def _end_all(self) -> None:
        for transport in self._transports:
            transport.abort()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._transports.add(writer.transport)
        try:
            while await self._pass_on(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._transports.discard(writer.transport)
            writer.transport.abort()  # what is not flushed is not to arrive

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; return whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, path = head.split(b" ", 2)[:2]
        size = int(_header(head, "content-length") or 0)
        self.seen.append((method.decode(), path.decode()))
        fault = self.fault(*self.seen[-1]) or Fault()
        await asyncio.sleep(fault.delay_s)
        if fault.kind == CUT:
            await reader.readexactly(size // 2)
            return False
        body = await reader.readexactly(size)
        if fault.kind == REFUSED:
            answer, content = _refusal(fault), b""
        else:
            answer, content = await self._ask(method, head + body)
        if fault.kind == UNANSWERED:
            return False
        if fault.kind == TRUNCATED:
            content = content[: len(content) // 2]
            answer = answer if content else answer[: len(answer) // 2]
        writer.write(answer + content)
        await writer.drain()
        return fault.kind != TRUNCATED

    async def _ask(self, method: bytes, request: bytes) -> tuple[bytes, bytes]:
        """Return head and body of the server's answer."""
        reader, writer = await asyncio.open_connection(*self._upstream)
        try:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            if method == b"HEAD":
                return answer, b""
            if _header(answer, "transfer-encoding") == "chunked":
                return answer, await _chunks(reader)
            return answer, await reader.readexactly(int(_header(answer, "content-length") or 0))
        finally:
            writer.close()


def _header(head: bytes, name: str) -> str:
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return ""


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """Return a body in chunks, as it came."""
    content = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        chunk = await reader.readexactly(int(size, 16) + 2)
        content += size + chunk
        if int(size, 16) == 0:
            return content


def _refusal(fault: Fault) -> bytes:
    again = "" if fault.retry_after_s is None else f"Retry-After: {fault.retry_after_s}\r\n"
    return f"HTTP/1.1 {fault.status} No\r\n{again}Content-Length: 0\r\n\r\n".encode()
