"""A server that answers everything alike; imported by name."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import trustme


@dataclass
class CannedServer:
    """Where it is, and the paths it was asked for."""

    endpoint: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def canned_server(
    status: int,
    body: str = "",
    authority: trustme.CA | None = None,
    before: Callable[[], object] = lambda: None,
) -> Iterator[CannedServer]:
    """Answer everything alike once ``before`` returns, encrypted if there is an authority."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            asked.append(self.path.partition("?")[0])
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            before()
            self.send_response(status)
            content = b"" if self.command == "HEAD" else body.encode()
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as listening:
        if authority is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            authority.issue_cert("127.0.0.1").configure_cert(context)
            listening.socket = context.wrap_socket(listening.socket, server_side=True)
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        scheme = "http" if authority is None else "https"
        try:
            yield CannedServer(f"{scheme}://127.0.0.1:{listening.server_address[1]}", asked)
        finally:
            listening.shutdown()
            thread.join()
