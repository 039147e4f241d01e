"""The runs that browsers look at: opened when they are asked for, kept while they are used."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import RunNotFound, nearest
from ..formats.findings import read_findings, read_statuses
from ..store import open_store, scheme_of
from ..trial import Trial
from ..trial.found import runs_at

#: So many runs are open at a time; which was not asked for the longest goes first.
MOST_OPEN = 16
# A run is looked at no more often, and one that ended still less.
_FRESH_S, _FRESH_ENDED_S = 0.4, 5.0
_LISTED_S = 2.0
# What the answers of one run may take in memory.
_MOST_BYTES = 8_000_000


class OpenRun:
    """A run and the answers that were given of it as it is now.

    Only who holds ``lock`` may call a method.

    Args:
        url: Where it lies.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._trial: Trial | None = None
        self._looked = 0.0
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()
        #: Changes whenever there is something new.
        self.version = ""
        self.lock = asyncio.Lock()

    def trial(self) -> Trial:
        """Return the run as it is now, or was a moment ago."""
        now = time.monotonic()
        if self._trial is None:
            self._trial = Trial(open_store(self._url))
        elif now - self._looked > (_FRESH_ENDED_S if self._trial.ended else _FRESH_S):
            self._trial.refresh()
        else:
            return self._trial
        self._looked = now
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
    """The runs beneath a place, and nothing else.

    Args:
        place: A folder or URL.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._open: OrderedDict[str, OpenRun] = OrderedDict()
        self._urls: dict[str, str] = {}
        self._listed = float("-inf")

    def names(self) -> list[str]:
        """Return what the runs are called: their paths from the place."""
        if time.monotonic() - self._listed > _LISTED_S:
            own = PurePosixPath(self.place).name or self.place
            base = self.place.rstrip("/")
            self._urls = {
                path or own: f"{base}/{path}" if path else self.place
                for path in runs_at(self.place)
            }
            self._listed = time.monotonic()
        return list(self._urls)

    @property
    def is_one(self) -> bool:
        """Whether the place is a run itself, with none beneath it."""
        return list(self._urls.values()) == [self.place]

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
                raise RunNotFound(f"no run {name!r} in {self.place}{nearest(name, self._urls)}")
        run = self._open.pop(name, None) or OpenRun(self.url(name))
        self._open[name] = run
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return run


def place_of(location: str) -> str:
    """Return a place that means the same wherever it is asked for."""
    if scheme_of(location) == "file":
        location = url2pathname(urlsplit(location).path)
    return location if scheme_of(location) else str(Path(location).absolute())


def _version(trial: Trial) -> str:
    last = trial.step_numbers()[-1:].tolist()
    rules = read_findings(trial.store), read_statuses(trial.store)
    seen = (last, trial.state, trial.workers, rules, len(trial.reader.manifest.resumes))
    return hashlib.blake2b(repr(seen).encode(), digest_size=8).hexdigest()
