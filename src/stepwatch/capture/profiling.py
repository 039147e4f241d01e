"""What is profiled of a training: held by its recorder, done in the background."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from ..config import parse_profiler_config
from ..errors import ConfigError
from ..formats.profile.layout import CONFIG_KEY
from ..profiler_config import ProfilerConfig, Range
from ..record import StepRecord
from ..store import Store
from .phases import Phases
from .sampler import SamplerProcess
from .spans import Spans

_log = logging.getLogger("stepwatch")
# A configuration that has changed is noticed within this time.
_READ_EVERY_S = 2.0
# What is over sooner is over before another process could tell much of it.
_SAMPLE_AFTER_S = 1.0


class Profiler:
    """Tells where the time of a training goes, and what its machine does meanwhile.

    A listener: give it to a hook. What is profiled may be changed while the training runs, by
    the file that it was given, or by what others put into the run.

    Args:
        config: What is profiled; ``None`` for nothing.
        file: A file as SageMaker passes it, that says what is profiled whenever it changes.

    Example:
        ``TorchHook(model, run="runs/first", listeners=[Profiler()])``
    """

    def __init__(
        self,
        config: ProfilerConfig | None = ProfilerConfig(),  # noqa: B008  it is frozen
        file: str | None = None,
    ) -> None:
        #: What is profiled now; ``None`` for nothing. Exchanged, never changed.
        self.config = config
        self.spans = Spans()
        self.phases = Phases(self.spans)
        self._later: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._file = None if file is None else Path(file)
        self._said: dict[str, object] = {}
        self._store: Store | None = None
        self._sampler: SamplerProcess | None = None
        self._interval_ms = 0
        self._began_at = self._read_at = time.monotonic()

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Learn where the run lies, and begin."""
        del patterns
        self._store, self._sampler = store, SamplerProcess(store)
        self.spans.open(store, worker)
        self._changed()  # what it says was read before
        self.ask(self.config)
        if self._file is not None:  # it was asked for, however short the training is
            self._sample()

    def look(self, record: StepRecord) -> None:
        """Look at no step: what is profiled was told in the training thread."""

    def tick(self) -> None:
        """Store what was gathered; see whether something else is asked for."""
        self.spans.tick()
        self._work()
        now = time.monotonic()
        if now - self._read_at >= _READ_EVERY_S:
            self._read_at = now
            self._reload()
        if now - self._began_at >= _SAMPLE_AFTER_S:
            self._sample()

    def finish(self) -> None:
        """The last step was seen."""
        with ExitStack() as ending:  # each is done, whatever the others raise
            if self._sampler is not None:
                ending.callback(self._sampler.stop)
            ending.callback(self._work)
            ending.callback(self.spans.flush)

    def later(self, work: Callable[[], None]) -> None:
        """Do something in the background; it may raise, and then nothing comes of it."""
        self._later.put(work)

    def put(self, key: str, data: bytes) -> None:
        """Store something in the run."""
        if self._store is not None:
            self._store.put(key, data)

    def ask(self, config: ProfilerConfig | None) -> None:
        """Profile this from now on."""
        self.config = config
        self.phases.on = config is not None
        if config is not None:
            self.spans.most_failures = config.open_failures

    def trace(self, first: int, steps: int) -> None:
        """Record every operation of so many steps, from a global step on.

        Raises:
            ConfigError: Nothing is profiled, so there is no place for it.
        """
        if self.config is None:
            raise ConfigError("nothing of this training is profiled; give it a Profiler")
        self.ask(replace(self.config, detailed=Range(first=first, steps=steps)))

    def _work(self) -> None:
        while not self._later.empty():
            self._later.get()()

    def _sample(self) -> None:
        """Let the devices be read as often as was asked for."""
        wanted = self.config.interval_ms if self.config else 0
        if wanted != self._interval_ms and self._sampler is not None:
            self._interval_ms = wanted
            self._sampler.stop()
            self._sampler.start(wanted)

    def _reload(self) -> None:
        for where, data in self._changed().items():
            # What others put into the run is said beside what is profiled anyway.
            before = self.config if where == CONFIG_KEY and self.config else ProfilerConfig()
            try:
                self.ask(parse_profiler_config(data, where, before))
            except ConfigError as error:
                _log.warning("%s; what was profiled before still is", error)

    def _changed(self) -> dict[str, bytes]:
        """Return what the places that say what is profiled say, where that is something else."""
        found: dict[str, bytes] = {}
        if self._file is not None:
            found[str(self._file)] = _read(self._file.read_bytes)
        if self._store is not None:
            store = self._store
            found[CONFIG_KEY] = _read(lambda: store.get(CONFIG_KEY))
        new = {where: data for where, data in found.items() if data != self._said.get(where, b"")}
        self._said.update(new)
        return {where: data for where, data in new.items() if data}


class Due:
    """Whether a range is on; asked before each step.

    Args:
        range_: The range; ``None`` for never.
    """

    def __init__(self, range_: Range | None) -> None:
        #: What was asked for.
        self.asked = range_
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
        """Whether it will not be on any more."""
        return self._range is None

    def stop(self) -> None:
        """It is over, whatever was asked for."""
        self._range = self._since = None


def _read(get: Callable[[], bytes]) -> bytes:
    """Return what is there; nothing where it is not."""
    try:
        return get()
    except OSError:
        return b""
