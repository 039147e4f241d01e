"""Gives the answers of ``api`` to browsers.

Reading a run blocks, so it happens in a thread of the server's pool, one at a time for each run.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..errors import ConfigError, RunNotFound, StepwatchError
from ..model.finding import plain
from ..plots.theme import scheme_style
from ..trial import Trial
from . import api
from .runs import Feed, Listing, OpenRun, OpenRuns
from .security import AccessGuard

_STATIC = Path(__file__).with_name("static")
# What is invalid, and what is not there; that a run is damaged is an answer.
_STATUS: tuple[tuple[type[StepwatchError], int], ...] = ((ConfigError, 400), (RunNotFound, 404))
_ANSWERS: dict[str, Callable[[Trial, api.Query], object]] = {
    "run": api.overview,
    "tensors": api.tensors,
    "tensor": api.tensor,
    "rules": api.rules,
    "scalars": api.scalars,
    "series": api.series,
    "matrix": api.matrix,
    "layers": api.layers,
    "machine": api.machine,
    "last": api.last_words,
    "spread": api.spread,
    "value": api.value,
}


def make_app(location: str, *, names: Sequence[str] = ("localhost",), token: str = "") -> Starlette:
    """Return the application that shows the runs at a location.

    Args:
        location: A folder or URL.
        names: The names of this machine; see ``AccessGuard``.
        token: What must be known to see anything; empty for nothing.
    """
    runs = OpenRuns(location)
    answers = _Answers(runs)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        warming = asyncio.create_task(answers.warm())
        yield
        warming.cancel()

    page = {
        path.relative_to(_STATIC).as_posix(): _static_file(path)
        for path in sorted(_STATIC.rglob("*"))
        if path.is_file()
    }
    early = (_STATIC / "early.js").read_text("utf-8")
    routes = [
        Route("/", _kept(_first_page(early).encode(), "text/html")),
        Route("/style.css", _kept(_style().encode(), "text/css")),
        Route("/api/runs", answers.runs),
        Route("/api/compare", answers.compare),
        Route("/api/trace", answers.trace),
        Route("/api/{what}", answers.of_run),
        Route("/events", answers.events),
        *(Route(f"/static/{name}", answer) for name, answer in page.items()),
    ]
    gate = Middleware(AccessGuard, names=names, token=token, inline=[early])
    handlers: Any = {StepwatchError: _error_response}
    return Starlette(
        routes=routes, middleware=[gate], exception_handlers=handlers, lifespan=lifespan
    )


class _Answers:
    """Answers the requests of all browsers."""

    def __init__(self, runs: OpenRuns) -> None:
        self._runs = runs
        self._listing = Listing(runs)
        self._feeds: dict[str, Feed] = {}

    async def warm(self) -> None:
        """Read what is asked for first, of a single run, before a browser asks."""
        names = await run_in_threadpool(self._runs.names)
        if not self._runs.is_one:
            return
        for what, query in _FIRST:
            try:
                await self._answer(names[0], what, query)
            except StepwatchError:
                return  # whoever opens the run is told

    async def runs(self, request: Request) -> Response:
        """Return the runs, with what could be read of them by now."""
        return _json(request, _encoded(await run_in_threadpool(self._listing.rows))[0])

    async def of_run(self, request: Request) -> Response:
        """Return an answer about one run."""
        what = request.path_params["what"]
        if what not in _ANSWERS:
            raise ConfigError(f"nothing is known of {what!r}; ask for {', '.join(_ANSWERS)}")
        query = dict(request.query_params)
        return _json(request, await self._answer(query.pop("run", ""), what, query))

    async def trace(self, request: Request) -> Response:
        """Return a trace of a run as it lies there, for Perfetto."""
        key = request.query_params.get("key", "")
        run = await self._get(request.query_params.get("run", ""))
        async with run.lock:
            data = await run_in_threadpool(_trace, run, key)
        name = key.rpartition("/")[2]
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def compare(self, request: Request) -> Response:
        """Return what tells two runs apart."""
        query = dict(request.query_params)
        here, there = await self._get(query.get("a", "")), await self._get(query.get("b", ""))
        if here is there:
            raise ConfigError("a run is equal to itself; choose two")
        # Always in one order, so that two who ask do not wait for each other.
        first, second = sorted((here, there), key=id)
        async with first.lock, second.lock:
            found = await run_in_threadpool(
                lambda: _encoded(api.divergence(here.trial(), there.trial(), query))[0]
            )
        return _json(request, found)

    async def events(self, request: Request) -> Response:
        """Tell whenever a run changes."""
        name = request.query_params.get("run", "")
        run = await self._get(name)
        feed = self._feeds.setdefault(name, Feed(partial(_poll, run)))
        return StreamingResponse(
            feed.subscribe(), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def _answer(self, name: str, what: str, query: api.Query) -> bytes:
        run = await self._get(name)
        key = what, tuple(sorted(query.items()))
        async with run.lock:
            return await run_in_threadpool(
                run.answer, key, lambda trial: _encoded(_ANSWERS[what](trial, query))
            )

    async def _get(self, name: str) -> OpenRun:
        return await run_in_threadpool(self._runs.get, name)


#: What the page of a run asks for first.
_FIRST: tuple[tuple[str, dict[str, str]], ...] = (
    ("run", {}),
    ("scalars", {"points": "600"}),
)


async def _poll(run: OpenRun) -> str:
    async with run.lock:
        try:
            await run_in_threadpool(run.trial)
        except StepwatchError:
            return "unreadable"
    return run.version


def _trace(run: OpenRun, key: str) -> bytes:
    trial = run.trial()
    if key not in trial.profile.traces:
        raise ConfigError(f"no trace {key!r} in this run")
    return trial.store.get(key)


def _encoded(answer: object) -> tuple[bytes, bool]:
    """Return an answer as JSON, and whether it is final for the run as it is."""
    read = answer.get("read", 1.0) if isinstance(answer, dict) else 1.0
    text = json.dumps(plain(answer), allow_nan=False, separators=(",", ":"))
    return text.encode(), read >= 1.0


def _json(request: Request, body: bytes) -> Response:
    return _Compressed(body, "application/json").answer(request)


# Smaller answers would not become shorter by it.
_LEAST_BYTES = 500


class _Compressed:
    """An answer that is compressed when it is first asked for, and not sent to who has it."""

    def __init__(self, body: bytes, kind: str) -> None:
        self._body, self._kind = body, kind
        self._tag = f'"{hashlib.blake2b(body, digest_size=9).hexdigest()}"'

    def answer(self, request: Request) -> Response:
        headers = {"etag": self._tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        takes = "gzip" in request.headers.get("accept-encoding", "")
        if takes and len(self._body) > _LEAST_BYTES:
            headers["content-encoding"] = "gzip"
            return Response(self._small, media_type=self._kind, headers=headers)
        return Response(self._body, media_type=self._kind, headers=headers)

    @cached_property
    def _small(self) -> bytes:
        return gzip.compress(self._body, 6, mtime=0)


def _error_response(request: Request, error: Exception) -> Response:
    del request
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 200)
    return Response(json.dumps({"error": str(error)}), status, media_type="application/json")


def _static_file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler with a small file in memory: a page asks for twenty at its start."""
    return _kept(path.read_bytes(), mimetypes.guess_type(path.name)[0] or "text/plain")


def _first_page(early: str) -> str:
    """Return the page with the script in it that asks for the headline at once."""
    page = (_STATIC / "index.html").read_text("utf-8")
    return page.replace('<script src="static/early.js"></script>', f"<script>{early}</script>")


def _style() -> str:
    """Return all styles of the page: it shows nothing before it has them."""
    parts = (_STATIC / name for name in ("uplot/uPlot.min.css", "app.css"))
    return "\n".join([scheme_style(), *(path.read_text("utf-8") for path in parts)])


def _kept(data: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler of what never changes while the server runs."""
    kept = _Compressed(data, kind)

    async def answer(request: Request) -> Response:
        return kept.answer(request)

    return answer
