"""Google Cloud Storage as its manual of the XML interface has it, as far as it is used; no more.

It is ours: that GsStore agrees with it says that both read the manual alike. Imported by name.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_MARKS = "x-goog-meta-"
_ALWAYS = {
    "ETag": '"1"',
    "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
    "x-goog-generation": "1",
}
_ENTRY = (
    "<Contents><Key>{}</Key><Size>{}</Size><ETag>1</ETag>"
    "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
)
_BEGUN = (
    "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key>"
    "<UploadId>{}</UploadId></InitiateMultipartUploadResult>"
)
_COMPLETED = (
    "<CompleteMultipartUploadResult><Location>l</Location><Bucket>b</Bucket><Key>k</Key>"
    "<ETag>1</ETag></CompleteMultipartUploadResult>"
)


class GsStandIn(ThreadingHTTPServer):
    """One bucket of any name: objects with what was written beside them, and uploads in pieces.

    Args:
        page: How many keys are listed at a time.
    """

    def __init__(self, page: int) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.page = page
        self.objects: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """Keep quiet: who asked was killed."""


@contextmanager
def gs_stand_in(page: int = 1000) -> Iterator[GsStandIn]:
    """Serve an empty one."""
    with GsStandIn(page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Request(BaseHTTPRequestHandler):
    server: GsStandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_PUT(self) -> None:
        held, body = self.server, self._body()
        with held.lock:
            taken = self._key in held.objects
            if "uploadId" in self._query:
                held.uploads[self._query["uploadId"]][int(self._query["partNumber"])] = body
            elif taken and self.headers.get("x-goog-if-generation-match") == "0":
                self._refuse(412, "PreconditionFailed")
                return
            else:
                marks = {n: v for n, v in self.headers.items() if n.lower().startswith(_MARKS)}
                held.objects[self._key] = (body, marks)
        self._reply(200)

    def do_POST(self) -> None:
        held, body = self.server, self._body().decode()
        if "uploads" in self._query:
            upload = f"upload-{next(held.numbers)}"
            held.uploads[upload] = {}
            self._reply(200, _BEGUN.format(upload).encode())
            return
        order = [int(number) for number in re.findall(r"<PartNumber>(\d+)</PartNumber>", body)]
        with held.lock:
            pieces = held.uploads.pop(self._query["uploadId"])
            held.objects[self._key] = (b"".join(pieces[number] for number in order), {})
        self._reply(200, _COMPLETED.encode())

    def do_GET(self) -> None:
        found = self.server.objects.get(self._key)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if "list-type" in self._query:
            self._list()
        elif found is None:
            self._refuse(404, "NoSuchKey")
        elif asked is None:
            self._reply(200, *found)
        elif int(asked[1]) >= len(found[0]):
            self._refuse(416, "InvalidRange")
        else:
            body, marks = found
            start, end = int(asked[1]), min(int(asked[2] or len(body)), len(body) - 1)
            where = {"Content-Range": f"bytes {start}-{end}/{len(body)}"}
            self._reply(206, body[start : end + 1], marks | where)

    do_HEAD = do_GET  # noqa: N815

    def do_DELETE(self) -> None:
        if self.server.objects.pop(self._key, None) is None:
            self._refuse(404, "NoSuchKey")
        else:
            self._reply(204)

    def _list(self) -> None:
        asked, held = self._query, self.server
        begin = max(asked.get("continuation-token", ""), asked.get("start-after", ""))
        with held.lock:
            sizes = {key: len(body) for key, (body, _) in held.objects.items()}
        prefix = asked.get("prefix", "")
        keys = sorted(key for key in sizes if key > begin and key.startswith(prefix))
        page = keys[: held.page]
        told = "".join(_ENTRY.format(escape(key), sizes[key]) for key in page)
        if len(keys) > len(page):
            told += f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
        self._reply(200, f"<ListBucketResult>{told}</ListBucketResult>".encode())

    @property
    def _key(self) -> str:
        """Return what follows the bucket."""
        return unquote(urlsplit(self.path).path).partition("/")[2].partition("/")[2]

    @property
    def _query(self) -> dict[str, str]:
        found = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[0] for name, values in found.items()}

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _refuse(self, status: int, code: str) -> None:
        self._reply(status, f"<Error><Code>{code}</Code></Error>".encode())

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        length = {"Content-Length": str(len(body))}
        for name, value in {**_ALWAYS, **length, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
