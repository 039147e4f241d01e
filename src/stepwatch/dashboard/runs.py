"""The runs that browsers ask for: listed, opened on request, and kept while they are used.

The listing reads runs in turn, so that no answer waits for all of them. A feed reads a run once for
all browsers that listen; what waits for a browser is one version, the newest, so who reads slowly
misses versions and takes no memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import RunNotFound, StepwatchError, nearest
from ..formats.findings import read_findings, read_statuses
from ..judge.evaluate import load_verdict
from ..model.finding import plain
from ..store import open_store, scheme_of
from ..trial import Trial
from ..trial.run_listing import find_runs, summarize_run
from .columns import last_numbers, sparkline
from .settings import settings_of

# How often a run is read while somebody listens, and how often a silent connection is kept alive.
_POLL_S, _SILENT_S = 0.5, 15.0


class Feed:
    """The versions of one run as they come; ``poll`` returns that of now."""

    def __init__(self, poll: Callable[[], Awaitable[str]]) -> None:
        self._poll = poll
        self._waiting: set[asyncio.Queue[str]] = set()
        self._version = ""
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self) -> AsyncIterator[str]:
        """Yield server-sent events: the version at once, and whenever it changes."""
        queue: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
        self._waiting.add(queue)
        if self._task is None:
            self._version = ""
            self._task = asyncio.create_task(self._watch())
        elif self._version:
            queue.put_nowait(self._version)
        try:
            yield "retry: 2000\n\n"
            while True:
                try:
                    version = await asyncio.wait_for(queue.get(), _SILENT_S)
                    yield f"data: {version}\n\n"
                except asyncio.TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._waiting.discard(queue)
            if not self._waiting and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _watch(self) -> None:
        while True:
            version = await self._poll()
            if version != self._version:
                self._version = version
                for queue in self._waiting:
                    with suppress(asyncio.QueueEmpty):
                        queue.get_nowait()
                    queue.put_nowait(version)
            await asyncio.sleep(_POLL_S)


#: So many runs are open at a time; the least recently used is closed first.
MOST_OPEN = 16
# A run is read again no more often, and one that ended still less.
_FRESH_S, _FRESH_ENDED_S = 0.4, 5.0
_LISTED_S = 2.0
# What the answers of one run may take in memory.
_MOST_BYTES = 8_000_000


class OpenRun:
    """A run and the answers that were given of it as it is now.

    Only the holder of ``lock`` may call a method.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._trial: Trial | None = None
        self._refreshed_at = 0.0
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()
        #: Changes whenever there is something new.
        self.version = ""
        self.lock = asyncio.Lock()

    def trial(self) -> Trial:
        """Return the run as it is now, or was a moment ago."""
        now = time.monotonic()
        if self._trial is None:
            self._trial = Trial(open_store(self._url))
        elif now - self._refreshed_at > (_FRESH_ENDED_S if self._trial.ended else _FRESH_S):
            self._trial.refresh()
        else:
            return self._trial
        self._refreshed_at = now
        version = _version(self._trial)
        if version != self.version:
            self.version = version
            self._answers.clear()
        return self._trial

    def answer(self, key: Hashable, compute: Callable[[Trial], tuple[bytes, bool]]) -> bytes:
        """Return an answer, computed once for all who ask until the run changes.

        Args:
            key: What was asked.
            compute: Gives the answer, and whether it is the last word.
        """
        trial = self.trial()
        if key in self._answers:
            return self._answers[key]
        answer, is_final = compute(trial)
        if is_final:
            self._answers[key] = answer
        while sum(map(len, self._answers.values())) > _MOST_BYTES:
            self._answers.popitem(last=False)
        return answer


class OpenRuns:
    """The runs beneath a location, and nothing else.

    Args:
        location: A folder or URL.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._open: OrderedDict[str, OpenRun] = OrderedDict()
        self._urls: dict[str, str] = {}
        self._listed = float("-inf")

    def names(self) -> list[str]:
        """Return what the runs are called: their paths from the location."""
        if time.monotonic() - self._listed > _LISTED_S:
            own = PurePosixPath(self.location).name or self.location
            base = self.location.rstrip("/")
            self._urls = {
                path or own: f"{base}/{path}" if path else self.location
                for path in find_runs(self.location)
            }
            self._listed = time.monotonic()
        return list(self._urls)

    @property
    def is_one(self) -> bool:
        """Whether the location is a run itself, with none beneath it."""
        return list(self._urls.values()) == [self.location]

    def url(self, name: str) -> str:
        """Return where a listed run lies."""
        return self._urls[name]

    def get(self, name: str) -> OpenRun:
        """Return a run by its name.

        Raises:
            RunNotFound: No run has this name; what is not listed is not opened.
        """
        if name not in self._urls and name not in self.names():
            self._listed = float("-inf")  # it may have begun just now
            if name not in self.names():
                raise RunNotFound(f"no run {name!r} in {self.location}{nearest(name, self._urls)}")
        run = self._open.pop(name, None) or OpenRun(self.url(name))
        self._open[name] = run
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return run


def absolute_location(location: str) -> str:
    """Return a location that means the same from any working directory."""
    if scheme_of(location) == "file":
        location = url2pathname(urlsplit(location).path)
    return location if scheme_of(location) else str(Path(location).absolute())


def _version(trial: Trial) -> str:
    last = trial.step_numbers()[-1:].tolist()
    rules = read_findings(trial.store), read_statuses(trial.store)
    state = (last, trial.state, trial.workers, rules, len(trial.reader.manifest.resumes))
    return hashlib.blake2b(repr(state).encode(), digest_size=8).hexdigest()


# For how long runs are read for one answer, and after how long a row is read again.
_PATIENCE_S = 0.3
_AGAIN_S = {"running": 1.0}
_AGAIN_ENDED_S = 20.0


@dataclass(frozen=True, slots=True)
class _CachedRow:
    """A row of the table, and when to read it again."""

    row: dict[str, object]
    again: float


class Listing:
    """How the runs stand."""

    def __init__(self, runs: OpenRuns) -> None:
        self._runs = runs
        self._cached: dict[str, _CachedRow] = {}
        self._running: dict[str, Trial] = {}
        self._lock = threading.Lock()

    def rows(self) -> dict[str, object]:
        """Return a row for each run, those not read yet with their name only."""
        with self._lock:
            names = self._runs.names()
            self._read(names)
            cached = {name: self._cached[name].row for name in names if name in self._cached}
        rows = [cached.get(name, {"name": name, "state": ""}) for name in names]
        return {
            "place": self._runs.location,
            "one": self._runs.is_one,
            "runs": rows,
            "pending": len(names) - len(cached),
        }

    def _read(self, names: list[str]) -> None:
        until = time.monotonic() + _PATIENCE_S
        due = {name: self._cached[name].again if name in self._cached else 0.0 for name in names}
        for name in sorted(names, key=lambda name: due[name]):
            now = time.monotonic()
            if now > until or due[name] > now:
                return
            row = self._row(name)
            wait = _AGAIN_S.get(str(row["state"]), _AGAIN_ENDED_S)
            self._cached[name] = _CachedRow(row, time.monotonic() + wait)

    def _row(self, name: str) -> dict[str, object]:
        try:
            trial = self._trial(name)
            found = asdict(summarize_run(trial))
            found["health"] = load_verdict(trial).headline.to_json()
            found["settings"] = settings_of(trial)
            called = trial.settings
            found |= {"tags": [*called.tags], "note": called.note, "project": called.project}
            found["metrics"], found["spark"] = _numbers(trial)
        except StepwatchError as error:
            return {"name": name, "state": "unreadable", "error": str(error)}
        return {"name": name, **{key: plain(value) for key, value in found.items()}}

    def _trial(self, name: str) -> Trial:
        """Return a run as it is now; one that goes on is kept, and only what is new is read."""
        trial = self._running.pop(name, None)
        if trial is None:
            trial = Trial(self._runs.url(name))
        else:
            trial.refresh()
        if not trial.ended:
            self._running[name] = trial
        return trial


def _numbers(trial: Trial) -> tuple[dict[str, float | None], list[float | None]]:
    """Return the last of each number that people follow, and how the first loss went."""
    losses = trial.tensor_names(collection="losses")
    is_small = len(trial.step_numbers()) <= _MOST_SPARK_STEPS
    return last_numbers(trial), sparkline(trial, losses[0]) if losses and is_small else []


# Of longer runs the whole curve is not read for a table.
_MOST_SPARK_STEPS = 200_000
