"""What is heard of torch for a profile beside the phases of steps."""

from __future__ import annotations

from ...capture.open_step import OpenStep
from ...capture.profiling import Due, Profiler
from ...capture.recorder import Recorder
from ...profiler_config import ProfilerConfig
from ...steps import Mode
from ..windows import Windows
from .layers import Layers
from .loader_workers import LoaderWorkers
from .pauses import Pauses
from .ranks import distributed_rank
from .trace_window import TraceWindow


class Profiled:
    """Listens to what a profile tells, as long as something is profiled.

    Args:
        recorder: Whose profiler takes it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._profiler: Profiler = recorder.profiler
        self.layers = Layers(self._profiler.spans)
        self._windows = Windows(self._profiler, distributed_rank()[0], TraceWindow)
        self._listening: list[Pauses | LoaderWorkers] = []
        self._config: ProfilerConfig | None = None
        self._mode, self._step = Mode.TRAIN, -1
        # When what is always on unless a range is given is on; ``None`` for always.
        self._loader: Due | None = None
        self._collectives: Due | None = None
        self._takes_loader = self._takes_collectives = True

    def listen(self) -> None:
        """Listen from here on, if anything is profiled."""
        self._configure(self._profiler.config)

    def begin(self, step: OpenStep) -> None:
        """A model begins to run in a step."""
        number, _ = self._recorder.counter.peek(step.mode)
        self.begin_step(step.mode, number)
        self.layers.begin(step, number, on=self._config is not None)

    def begin_step(self, mode: Mode, number: int) -> None:
        """A model begins to run in a step of this global number; on most calls nothing is done."""
        config = self._profiler.config
        if (number, config) != (self._step, self._config):
            self._look_at(number, config)
        self._mode, self._step = mode, number

    def pause(self) -> None:
        """Nothing is heard from here on."""
        self._windows.close()
        self.layers.complete()
        for one in self._listening:
            one.remove()
        self._listening, self._config = [], None

    def _look_at(self, number: int, config: ProfilerConfig | None) -> None:
        if config is not self._config:
            self._configure(config)
        self._windows.at(number)
        self._takes_loader = self._loader is None or self._loader.at(number)
        self._takes_collectives = self._collectives is None or self._collectives.at(number)

    def _configure(self, config: ProfilerConfig | None) -> None:
        self._config = config
        self._loader = Due(config.loader) if config and config.loader else None
        self._collectives = Due(config.collectives) if config and config.collectives else None
        if config is not None and not self._listening:
            self._listening.append(Pauses(self._profiler.spans, self._waits, self._now))
            self._listening.append(LoaderWorkers(self._profiler.spans, self._loader_names))

    def _waits(self) -> bool:
        return self._config is not None and self._takes_collectives

    def _now(self) -> tuple[str, int]:
        return self._mode.value, self._step

    def _loader_names(self) -> str:
        return self._config.loader_names if self._config and self._takes_loader else ""
