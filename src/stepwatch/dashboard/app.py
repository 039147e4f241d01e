"""Gives the answers of ``api`` to browsers.

Reading a run blocks, so it happens in a thread of the server's pool, one at a time for each run.
"""

from __future__ import annotations

import asyncio
import json
import mimetypes
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import ConfigError, RunNotFound, StepwatchError
from ..model.finding import plain
from ..plots.theme import scheme_style, template
from ..plugins.registry import require
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
    "figure": api.figure,
}


def make_app(location: str, *, names: Sequence[str] = ("localhost",), token: str = "") -> Starlette:
    """Return the application that shows the runs at a location.

    Args:
        location: A folder or URL.
        names: The names of this machine; see ``AccessGuard``.
        token: What must be known to see anything; empty for nothing.
    """
    with suppress(ImportError):
        # By one thread: pyarrow imports it when it needs it; Plotly trips over one half imported.
        import_module("pandas")
    runs = OpenRuns(location)
    answers = _Answers(runs)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        warming = asyncio.create_task(answers.warm())
        yield
        warming.cancel()

    page = {path.name: _static_file(path) for path in sorted(_STATIC.iterdir())}
    routes = [
        Route("/", page["index.html"]),
        Route("/theme.css", _theme_style),
        Route("/theme.json", _theme),
        Route("/plotly.js", partial(_file, _plotly())),
        Route("/api/runs", answers.runs),
        Route("/api/compare", answers.compare),
        Route("/api/{what}", answers.of_run),
        Route("/events", answers.events),
        *(Route(f"/static/{name}", answer) for name, answer in page.items()),
    ]
    gate = Middleware(AccessGuard, names=names, token=token)
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
        del request
        return _json(await run_in_threadpool(self._listing.rows))

    async def of_run(self, request: Request) -> Response:
        """Return an answer about one run."""
        what = request.path_params["what"]
        if what not in _ANSWERS:
            raise ConfigError(f"nothing is known of {what!r}; ask for {', '.join(_ANSWERS)}")
        query = dict(request.query_params)
        return _json(await self._answer(query.pop("run", ""), what, query))

    async def compare(self, request: Request) -> Response:
        """Return what tells two runs apart."""
        query = dict(request.query_params)
        here, there = await self._get(query.get("a", "")), await self._get(query.get("b", ""))
        if here is there:
            raise ConfigError("a run is equal to itself; choose two")
        # Always in one order, so that two who ask do not wait for each other.
        first, second = sorted((here, there), key=id)
        async with first.lock, second.lock:
            return _json(await run_in_threadpool(api.compare_runs, here, there, query))

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
    ("figure", {"figure": "numbers", "collection": "losses", "points": "600"}),
)


async def _poll(run: OpenRun) -> str:
    async with run.lock:
        try:
            await run_in_threadpool(run.trial)
        except StepwatchError:
            return "unreadable"
    return run.version


def _encoded(answer: object) -> tuple[bytes, bool]:
    """Return an answer as JSON, and whether it is final for the run as it is."""
    if not hasattr(answer, "to_json"):
        return json.dumps(plain(answer), allow_nan=False).encode(), True
    figure: Any = answer
    figure.layout.template = None  # the page has those of both schemes
    meta = figure.layout.meta or {}
    return figure.to_json().encode(), meta.get("read", 1.0) >= 1.0


def _json(body: object) -> Response:
    data = body if isinstance(body, bytes) else _encoded(body)[0]
    return Response(data, media_type="application/json", headers={"cache-control": "no-store"})


def _error_response(request: Request, error: Exception) -> Response:
    del request
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 200)
    return Response(json.dumps({"error": str(error)}), status, media_type="application/json")


def _static_file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler with a small file in memory: a page asks for fifteen at its start."""
    data, kind = path.read_bytes(), mimetypes.guess_type(path.name)[0]

    async def answer(request: Request) -> Response:
        del request
        return Response(data, media_type=kind)

    return answer


async def _file(path: Path, request: Request) -> Response:
    del request
    return FileResponse(path)


async def _theme_style(request: Request) -> Response:
    del request
    return Response(scheme_style(), media_type="text/css")


async def _theme(request: Request) -> Response:
    """Return the templates of both schemes, and the styles that Plotly's script need not bring."""
    del request
    return _json(await run_in_threadpool(_themes))


@cache
def _themes() -> bytes:
    # It brings a style for maps, which we never draw, unless an element of this name is there.
    styles = re.findall(r'getElementById\("([0-9a-f]{64})"\)', _plotly().read_text("utf-8"))
    templates = {scheme: template(scheme).to_plotly_json() for scheme in ("light", "dark")}
    return _encoded({**templates, "styles": styles})[0]


def _plotly() -> Path:
    """Return where Plotly's script lies."""
    require("plotly.graph_objects", extra="dashboard")
    return Path(str(resources.files("plotly") / "package_data" / "plotly.min.js"))
