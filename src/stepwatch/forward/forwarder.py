"""Passes what is found, and a few numbers, into the trackers that a script has open.

The rule on which this is harmless: nothing is done on the thread of the training but to look into
``sys.modules`` before its first step, and where the script itself ends its run of a tracker. All
else is done by a thread of each tracker, at findings, every few seconds, and at the end; what
raises there is shown once for each tracker, and goes no further.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError, StepwatchError
from ..judge.headline import Headline
from ..model.finding import SEVERITIES, Finding
from ..model.record import Layout, StepRecord
from ..model.steps import Mode
from ..numerics.statistics import NAN, NEGINF, POSINF, SUM_SQ, quantity
from ..plugins import registry
from ..plugins.specs import arguments, read_spec, split_list, split_specs
from ..runtime.background import Background
from ..store import Store
from ..store.local import local_path
from .tracker import RunSummary, Tracker

GROUP = "stepwatch.trackers"
#: So often numbers are passed on, seconds.
SCALARS_S = 10.0
#: So many findings of a run are passed on; the rest is counted.
MOST_FINDINGS = 50
# How long the end of a training, or of a run of a tracker, waits for the trackers in all, seconds.
_CLOSE_TIMEOUT_S, _FLUSH_TIMEOUT_S = 10.0, 5.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What is passed on; the same for every tracker.

    Args:
        severity: The least severity of findings.
        every_s: How often numbers are passed on, seconds; 0 for never.

    Raises:
        ConfigError: An invalid value.
    """

    severity: str = "info"
    every_s: float = SCALARS_S

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ConfigError(
                f"severity must be one of {', '.join(SEVERITIES)}, got {self.severity!r}"
            )
        if not self.every_s >= 0:
            raise ConfigError(f"every_s must be at least 0, got {self.every_s}")


@dataclass(frozen=True, slots=True)
class Target:
    """A tracker that is asked whether it is open.

    Args:
        name: Its name.
        tracker: The tracker.
        terms: What is passed on.
        is_named: Whether it was asked for by its name.
    """

    name: str
    tracker: Tracker
    terms: Terms = field(default_factory=Terms)
    is_named: bool = True


def parse_targets(texts: str | Sequence[str]) -> list[Target]:
    """Return what is asked for.

    Args:
        texts: Specs, separated by ``;``, or several names by commas. ``auto`` is every tracker
            that needs no parameter, ``none`` is no tracker.

    Raises:
        ConfigError: An unknown tracker or parameter, or a value that does not fit.

    Example:
        >>> [target.name for target in parse_targets("wandb, mlflow; prometheus:file=a.prom")]
        ['wandb', 'mlflow', 'prometheus']
        >>> parse_targets("none")
        []
    """
    found: dict[str, Target] = {}
    for spec in _specs([texts] if isinstance(texts, str) else texts):
        if spec == "auto":
            for name in registry.names(GROUP):
                kind = _kind(name)
                if kind.by_default:
                    found.setdefault(name, Target(name, kind(), is_named=False))
        elif spec != "none":
            name, parameters = read_spec(spec, kind="tracker", example=_EXAMPLE)
            kind = _kind(name)
            own, terms = arguments(name, kind, Terms, parameters, noun="tracker")
            found[name] = Target(name, kind(**own), Terms(**terms))
    return list(found.values())


_EXAMPLE = "wandb:severity=warning"


def _specs(texts: Sequence[str]) -> Iterator[str]:
    for spec in (one for text in texts for one in split_specs(text)):
        yield from split_list(spec) if ":" not in spec else [spec]


def _kind(name: str) -> type[Tracker]:
    kind = registry.load(GROUP, name)
    if not (isinstance(kind, type) and issubclass(kind, Tracker)):
        raise ConfigError(f"the tracker {name!r} is no class of stepwatch.forward: {kind!r}")
    return kind


class _Channel:
    """A tracker, the run of it that is open, and the thread that talks to it.

    Args:
        target: The tracker and its terms.
        print_line: Shows a line.
        ends: Called with the channel before the script ends its run.
    """

    def __init__(
        self, target: Target, print_line: Callable[[str], None], ends: Callable[[_Channel], None]
    ) -> None:
        self.target, self._print_line, self._ends = target, print_line, ends
        self.run: Any = None
        self._ended: Any = None
        self._undo: Callable[[], None] | None = None
        self._thread: Background[Callable[[], object]] | None = None
        self._due_at = time.monotonic() + target.terms.every_s
        self._has_failed = False

    def look(self, url: str) -> None:
        """Take up the run that is open now, if it is another."""
        run = self.attempt(self.target.tracker.open_run)
        if run is None or run == self.run or run is self._ended:
            return
        self.run = run
        if self._thread is None:
            name = f"stepwatch-{self.target.name}"
            self._thread = Background(lambda call: call(), name=name)
        self.pass_on(self.target.tracker.begin, url)
        watch_end = partial(self.target.tracker.before_end, run, partial(self._ends, self))
        self._undo = self.attempt(watch_end)

    def pass_on(self, call: Callable[..., object], *arguments: object) -> None:
        """Have the tracker's thread call a method with the open run, if there is one."""
        if self.run is not None and self._thread is not None:
            work = partial(self.attempt, partial(call, self.run, *arguments))
            self._thread.offer(work)

    def is_due(self, now: float) -> bool:
        """Return whether it is time for numbers; if so, it is not again for a while."""
        every_s = self.target.terms.every_s
        if not every_s or self.run is None or now < self._due_at:
            return False
        self._due_at = now + every_s
        return True

    def wants(self, finding: Finding) -> bool:
        """Return whether it is severe enough."""
        severity = SEVERITIES.index(finding.severity)
        return severity >= SEVERITIES.index(self.target.terms.severity)

    def leave(self) -> None:
        """Wait until what was passed on is there; the run takes nothing more."""
        if self._thread is not None:
            self._thread.flush(_FLUSH_TIMEOUT_S)
        self._ended, self.run = self.run, None
        self._stop_watching()

    def close(self, timeout: float) -> None:
        """Wait so long for what was passed on."""
        self._stop_watching()
        if self._thread is not None and not self._thread.close(timeout).drained:
            self._say("it did not take all in time")
        elif self._thread is None and self.target.is_named:
            self._say("the script had no run of it open")
        self.attempt(self.target.tracker.close)

    def attempt(self, call: Callable[[], T]) -> T | None:
        """Return what a call returns; ``None`` where it raises, which is shown once."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001  it is somebody else's code and network
            what = str(error) if isinstance(error, StepwatchError) else repr(error)
            if not self._has_failed:
                self._has_failed = True
                self._say(what)
            return None

    def _say(self, what: str) -> None:
        self._print_line(f"not all was passed on to {self.target.name}: {what}")

    def _stop_watching(self) -> None:
        if self._undo is not None:
            self._undo()
            self._undo = None


T = TypeVar("T")


class Forwarder:
    """Passes on what is found; give it to a hook as a listener, after the ``LiveWatch``.

    Args:
        targets: Which trackers, see ``parse_targets``.
        print_line: Shows a line.
        judge: Returns how the run stands now.
        hides: Whether a finding only follows from others, and need not be shown.
        flush: Has the rules judge what was recorded until now.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        print_line: Callable[[str], None],
        *,
        judge: Callable[[], Headline],
        hides: Callable[[Finding], bool] = lambda _: False,
        flush: Callable[[], object] = lambda: None,
    ) -> None:
        self._channels = [_Channel(one, print_line, self._ends) for one in targets]
        self._judge, self._hides, self._flush = judge, hides, flush
        self._pid, self._url = os.getpid(), ""
        self._num_found = self._num_passed_on = 0
        self._pace = Pace()
        for channel in self._channels:
            channel.attempt(channel.target.tracker.prepare)

    # As a listener

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Look for what is open; called on the training's thread, where it was opened."""
        del worker, patterns
        self._url = local_path(store.url)
        self._look()

    def on_step(self, record: StepRecord) -> None:
        """Keep the numbers of a step."""
        if self._channels:
            self._pace.add(record)

    def remote(self, send: object) -> None:
        """All is done in the process of the training, where the trackers are."""

    def on_sample(self, record: StepRecord) -> None:
        """Keep the numbers of the last of some steps."""
        self.on_step(record)

    def tick(self) -> None:
        """Look for what is open, and pass on numbers if it is time."""
        self._look()
        now = time.monotonic()
        due = [channel for channel in self._channels if channel.is_due(now)]
        if due:
            self._pass_on_numbers(due)

    def finish(self) -> None:
        """The verdict comes later, see ``conclude``."""

    # As what is called with findings

    def found(self, finding: Finding) -> None:
        """Pass on a finding, unless it only follows from others, or there were too many."""
        self._look()  # what is open may be new
        self._num_found += 1
        wanting = [channel for channel in self._channels if channel.wants(finding)]
        if not wanting or self._num_passed_on >= MOST_FINDINGS or self._hides(finding):
            return
        self._num_passed_on += 1
        for channel in wanting:
            channel.pass_on(channel.target.tracker.finding, finding, self._num_found)

    # In the end

    def conclude(self, head: Headline) -> None:
        """Pass on how the run ended, and wait a while until that is there."""
        self._look()
        self._pass_on_numbers([one for one in self._channels if one.target.terms.every_s])
        self._pass_on_summary(self._channels, head)
        self.close()

    def close(self) -> None:
        """Pass on nothing more."""
        give_up_at = time.monotonic() + _CLOSE_TIMEOUT_S
        for channel in self._channels:
            channel.close(max(0.0, give_up_at - time.monotonic()))

    def _ends(self, channel: _Channel) -> None:
        """The script ends its run of a tracker: pass on what is known until now."""
        if os.getpid() == self._pid:
            channel.attempt(partial(self._leave, channel))

    def _leave(self, channel: _Channel) -> None:
        self._flush()
        self._pass_on_numbers([channel] if channel.target.terms.every_s else [])
        self._pass_on_summary([channel], self._judge())
        channel.leave()

    def _look(self) -> None:
        for channel in self._channels:
            channel.look(self._url)

    def _pass_on_numbers(self, channels: Sequence[_Channel]) -> None:
        values = self._pace.values()
        if values:
            for channel in channels:
                channel.pass_on(channel.target.tracker.scalars, self._pace.step, values)

    def _pass_on_summary(self, channels: Sequence[_Channel], head: Headline) -> None:
        summary = RunSummary.of(head, self._num_found, self._url)
        for channel in channels:
            channel.pass_on(channel.target.tracker.summary, summary)


class Pace:
    """The numbers of a run that are passed on: loss, gradient norm, steps a second."""

    def __init__(self) -> None:
        #: The last TRAIN step, as the training counts it.
        self.step = 0
        self._first: tuple[int, int] | None = None
        self._last = (0, 0)
        # without the full values of a step, which may be large
        self._rows: dict[str, tuple[Layout, npt.NDArray[np.float64]]] = {}

    def add(self, record: StepRecord) -> None:
        """Take in a step; nothing is computed yet."""
        if record.mode is not Mode.TRAIN:
            return
        self.step = record.mode_step
        self._last = record.mode_step, record.time_ns
        self._first = self._first or self._last
        for collection in ("losses", "gradients"):
            if collection in record.layout.rows_of:
                self._rows[collection] = record.layout, record.statistics

    def values(self) -> dict[str, float]:
        """Return what is known of the last steps; a gradient that is spread over processes is not.

        The norm of gradients that are not all finite is nan.
        """
        found: dict[str, float] = {}
        if "losses" in self._rows:
            layout, statistics = self._rows["losses"]
            found["loss"] = float(quantity(statistics[layout.rows_of["losses"][-1]], "mean"))
        if "gradients" in self._rows and not self._rows["gradients"][0].has_parts:
            layout, statistics = self._rows["gradients"]
            rows = statistics[layout.rows_of["gradients"]]
            is_finite = not rows[:, [NAN, POSINF, NEGINF]].any()
            squares = float(np.sum(rows[:, SUM_SQ]))
            found["gradient_norm"] = math.sqrt(squares) if is_finite else math.nan
        (step, time_ns), (first, first_ns) = self._last, self._first or self._last
        if time_ns > first_ns:
            found["steps_per_second"] = (step - first) / (time_ns - first_ns) * 1e9
        return found
