"""The profiler of a training: a listener whose work is done in the background.

At each moment a training is in one phase (``Phases``), so the phases of a step always sum to it.
Intervals are taken in the training thread and stored in the background (``Spans``); the devices
of the machine are read by a process of its own (``SamplerProcess``).
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

from ..config import parse_profiler_config
from ..config.profiler_config import ProfilerConfig, Range
from ..errors import ConfigError
from ..formats.profile.parts import CONFIG_KEY, PartsWriter, node_name
from ..formats.profile.reader import Machine, write_machine
from ..formats.profile.tables import SPANS, Clock, Span, spans_table
from ..model.record import StepRecord
from ..model.steps import Mode, StepCounter
from ..store import Store, scheme_of

_log = logging.getLogger("stepwatch")
# The folder of a script may hold files that are called like what Python itself imports.
_CODE = """\
import sys
del sys.path[0]
sys.path.append({root!r})
from stepwatch.profile.sampler import main
main({arguments!r})
"""
# What it gathered is stored by then.
_PATIENCE_S = 5.0


class SamplerProcess:
    """The process that reads the devices; it ends by itself when this process is gone.

    Args:
        store: Where the run lies.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, interval_ms: int) -> None:
        """Begin to read every ``interval_ms``; a failure is noted, and the training goes on."""
        if not interval_ms or scheme_of(self._store.url) == "memory" or not sys.executable:
            return  # what is in this process's memory no other can write
        if find_spec("psutil") is None:
            self._note("psutil is not installed; run: pip install 'stepwatch[profiler]'")
            return
        arguments = [self._store.url, f"--parent={os.getpid()}", f"--interval-ms={interval_ms}"]
        code = _CODE.format(root=str(Path(__file__).parents[2]), arguments=arguments)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the training
            )
        except OSError as error:
            self._note(f"the sampler did not start: {error}")

    def terminate(self) -> None:
        """Have the process store what it has and end, and do not wait for it."""
        if self._process is not None:
            with suppress(OSError):
                self._process.terminate()

    def stop(self) -> None:
        """Have the process store what it has and end, and wait for it."""
        self.terminate()
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _note(self, why: str) -> None:
        node, now = node_name(socket.gethostname()), time.time_ns()
        note = Machine(node, started_ns=now, ended_ns=now, notes=(f"no device is read: {why}",))
        write_machine(self._store, note)
        _log.info("%s", note.notes[0])


#: A part is written about so often.
GATHER_S = 2.0
# What waits to be stored is bounded: the store may be gone for long.
_MOST_WAITING = 200_000


class Spans:
    """Takes intervals from any thread, and stores them where the run lies.

    Args:
        clock: Whose ticks the times of intervals are.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._waiting: deque[Span] = deque()
        self._writer: PartsWriter | None = None
        self._worker = ""
        self._due = 0
        #: Called before what waits is stored, to add what was gathered elsewhere.
        self.gatherers: list[Callable[[], None]] = []
        #: How many were dropped because too many waited, or could not be stored.
        self.dropped = 0
        #: Storing is given up after this many failures in a row.
        self.most_failures = 50
        self._failures = 0

    def open(self, store: Store, worker: str) -> None:
        """Learn where they go; until then they wait."""
        self._writer, self._worker = PartsWriter(store, SPANS, worker), worker
        self._due = self.clock.ticks()

    def add(self, span: Span) -> None:
        """Take an interval, whose start is a tick of the clock."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append(span)
        else:
            self.dropped += 1

    def tick(self) -> None:
        """Store what waits if the last time is long enough ago."""
        if self.clock.ticks() - self._due >= GATHER_S * 1e9:
            self.flush()

    def flush(self) -> None:
        """Store what waits. What cannot be stored is given up, and counted."""
        self._due = self.clock.ticks()
        self.clock.settle()
        for gather in self.gatherers:
            gather()
        spans = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if self._writer is None or not spans:
            return
        self.dropped += len(spans)
        if self._failures < self.most_failures:
            self._failures += 1
            self._writer.write(spans_table(self._worker, spans, self.clock.offset_ns))
            self._failures = 0
            self.dropped -= len(spans)


# Of a step that never ends the rest is one phase.
_MOST_TURNS = 10_000
# So many steps may wait until their phases are stored.
_MOST_STEPS = 20_000


class Phases:
    """Cuts the time of the training thread into phases, and those into steps.

    Args:
        spans: Who takes them.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        # When a step began and ended, its mode and number, and its turns; made spans of later.
        self._steps: deque[tuple[int, int, str, int, list[tuple[int, str]]]] = deque()
        spans.gatherers.append(self._gather)
        #: Numbers the steps; that of the recorder.
        self.counter = StepCounter()
        self._ticks = spans.clock.ticks
        #: Whether phases are recorded.
        self.on = False
        self._began: int | None = None
        #: From when on which phase lasts; not before the one that came before it.
        self._turns: list[tuple[int, str]] = []
        self._ended_step = -1

    def turn(self, phase: str, ago_ns: int = 0) -> None:
        """Note that another phase begins, or began ``ago_ns`` ago."""
        if not self.on or len(self._turns) >= _MOST_TURNS:
            return
        start = self._ticks() - ago_ns
        if self._began is None:
            self._began = start
        self._turns.append((start, phase))

    def waited(self, seconds: float) -> None:
        """Note that the next batch of data was waited for, up to now."""
        self.turn("data", ago_ns=int(seconds * 1e9))
        self.turn("other")

    def end(self, mode: Mode, step: int | None = None) -> None:
        """Make a step of the time since the last end; by default of the step that is open."""
        self._ended_step = self.counter.peek(mode)[0] if step is None else step
        self._end(mode, self._ended_step)

    def took(self, mode: Mode, step: int, *, is_thin: bool = False) -> None:
        """Note that a step was handed on; it ended now unless ``end`` was called for it.

        Args:
            mode: Its mode.
            step: Its number.
            is_thin: Its time is that of no step: none of its phases is known.
        """
        if self._ended_step < 0 or (mode is Mode.TRAIN and self._ended_step != step):
            if is_thin:
                self.skip()
            else:
                self._end(mode, step)

    def skip(self) -> None:
        """Make no step of the time since the last end."""
        self._begin(self._ticks())

    def pause(self) -> None:
        """Make no step of the time until the next phase begins."""
        self._began = None
        self._turns = []

    def _end(self, mode: Mode, step: int) -> None:
        now = self._ticks()
        if self.on and self._began is not None:
            if len(self._steps) < _MOST_STEPS:
                self._steps.append((self._began, now, mode.value, step, self._turns))
            else:
                self._spans.dropped += 1
        self._begin(now)

    def _begin(self, now: int) -> None:
        self._began = now
        self._turns = []

    def _gather(self) -> None:
        """Hand over the spans of the steps that ended; called where spans are stored."""
        while self._steps:
            began, ended, name, step, turns = self._steps.popleft()
            self._spans.add(Span(began, ended - began, "step", name, name, step))
            start, phase = began, "other"
            for turned, next_phase in (*turns, (ended, "")):
                stop = max(start, turned)
                if stop > start:
                    self._spans.add(Span(start, stop - start, "phase", phase, name, step))
                start, phase = stop, next_phase


# A configuration that changed is noticed within this time.
_READ_EVERY_S = 2.0
# A training that is over sooner is over before another process could read much.
_SAMPLE_AFTER_S = 1.0
# The same, and how often it reads, where nobody asked for it: they shall hardly pay for it.
_UNASKED_SAMPLE_AFTER_S = 20.0
_UNASKED_INTERVAL_MS = 1000


class Profiler:
    """Measures where the time of a training goes, and what its machine does meanwhile.

    A listener: give it to a hook. What is profiled may be changed while the training runs, by
    the file that it was given, or by a configuration that somebody puts into the run.

    Args:
        config: What is profiled; ``None`` for nothing.
        file: A profiler configuration of SageMaker Debugger, read again whenever it changes.
        sample_after_s: How long a training lasts before the devices of its machine are read.

    Example:
        ``TorchHook(model, run="runs/first", listeners=[Profiler()])``
    """

    def __init__(
        self,
        config: ProfilerConfig | None = ProfilerConfig(),  # noqa: B008  it is frozen
        file: str | None = None,
        *,
        sample_after_s: float = _SAMPLE_AFTER_S,
    ) -> None:
        self._sample_after_s = sample_after_s
        #: What is profiled now; ``None`` for nothing. Exchanged, never changed.
        self.config = config
        self.spans = Spans()
        self.phases = Phases(self.spans)
        self._later: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._file = None if file is None else Path(file)
        self._texts: dict[str, object] = {}
        self._store: Store | None = None
        self._sampler: SamplerProcess | None = None
        self._interval_ms = 0
        self._began_at = self._read_at = time.monotonic()

    @classmethod
    def by_default(cls) -> Profiler:
        """Return the profiler of a training whose profile nobody asked for."""
        config = ProfilerConfig(interval_ms=_UNASKED_INTERVAL_MS)
        return cls(config, sample_after_s=_UNASKED_SAMPLE_AFTER_S)

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        del patterns
        self._store, self._sampler = store, SamplerProcess(store)
        self.spans.open(store, worker)
        self._changed()  # what it says was read before
        self.configure(self.config)
        if self._file is not None:  # requested, however short the training is
            self._sample()

    def on_step(self, record: StepRecord) -> None: ...

    def remote(self, send: object) -> None:
        """All is measured in the process of the training."""

    def tick(self) -> None:
        """Store what was gathered; read the configuration again if it is due."""
        self.spans.tick()
        self._work()
        now = time.monotonic()
        if now - self._read_at >= _READ_EVERY_S:
            self._read_at = now
            self._reload()
        if now - self._began_at >= self._sample_after_s:
            self._sample()

    def finish(self) -> None:
        with ExitStack() as ending:  # each is done, whatever the others raise
            if self._sampler is not None:
                ending.callback(self._sampler.stop)
            ending.callback(self._work)
            ending.callback(self.spans.flush)
            if self._sampler is not None:  # it ends while the others are done
                ending.callback(self._sampler.terminate)

    def later(self, work: Callable[[], None]) -> None:
        """Call ``work`` in the background, where it may raise."""
        self._later.put(work)

    def put(self, key: str, data: bytes) -> None:
        if self._store is not None:
            self._store.put(key, data)

    def configure(self, config: ProfilerConfig | None) -> None:
        """Profile this from now on."""
        self.config = config
        self.phases.on = config is not None
        if config is not None:
            self.spans.most_failures = config.open_failures

    def trace(self, first: int, steps: int) -> None:
        """Record every operation of ``steps`` steps, from a global step on.

        Raises:
            ConfigError: Nothing is profiled, so there is nowhere to record it.
        """
        if self.config is None:
            raise ConfigError("nothing of this training is profiled; give it a Profiler")
        self.configure(replace(self.config, detailed=Range(first=first, steps=steps)))

    def _work(self) -> None:
        while not self._later.empty():
            self._later.get()()

    def _sample(self) -> None:
        """Start the sampler again where its interval has changed."""
        wanted = self.config.interval_ms if self.config else 0
        if wanted != self._interval_ms and self._sampler is not None:
            self._interval_ms = wanted
            self._sampler.stop()
            self._sampler.start(wanted)

    def _reload(self) -> None:
        for where, data in self._changed().items():
            # A configuration in the run is added to what is profiled anyway.
            before = self.config if where == CONFIG_KEY and self.config else ProfilerConfig()
            try:
                self.configure(parse_profiler_config(data, where, before))
            except ConfigError as error:
                _log.warning("%s; what was profiled before still is", error)

    def _changed(self) -> dict[str, bytes]:
        """Return the configurations whose text has changed, by where they lie."""
        found: dict[str, bytes] = {}
        if self._file is not None:
            found[str(self._file)] = _read_optional(self._file.read_bytes)
        if self._store is not None:
            store = self._store
            found[CONFIG_KEY] = _read_optional(lambda: store.get(CONFIG_KEY))
        new = {where: data for where, data in found.items() if data != self._texts.get(where, b"")}
        self._texts.update(new)
        return {where: data for where, data in new.items() if data}


class RangeTrigger:
    """Says before each step whether a range is on.

    Args:
        range_: The range; ``None`` for never.
    """

    def __init__(self, range_: Range | None) -> None:
        #: The range that was requested.
        self.requested = range_
        self._range = range_
        self._since: int | None = None

    def at(self, step: int) -> bool:
        """Return whether this global step, which is next, is in it. It is on once."""
        if self._range is None:
            return False
        now_s = time.time()
        if self._since is None:
            if self._range.begins(step, now_s):
                self._range, self._since = self._range.from_now(now_s), step
        elif self._range.is_over(step, now_s, self._since):
            self.stop()
        return self._since is not None

    @property
    def is_over(self) -> bool:
        return self._range is None

    def stop(self) -> None:
        """End the range."""
        self._range = self._since = None


def _read_optional(get: Callable[[], bytes]) -> bytes:
    """Return what is there; nothing where it is not."""
    try:
        return get()
    except OSError:
        return b""
