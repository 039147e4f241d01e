"""What a profile needs of torch beside the phases of steps, while one is recorded.

- The time of each module in a step now and then. A forward holds those of the modules inside of it.
  A backward is that of modules that hold no others: it lasts from when the gradient of a module's
  output is there until that of the next one is, so what is between two counts for the first. Times
  are those of the host, which on an accelerator only launches the work.
- Each batch that a process of a data loader makes, where these are forked: they inherit what stands
  in the place of torch's function, and a pipe. What does not fit into the pipe is lost: a loader
  never waits for us.
- What a training stands still for: collecting garbage, writing checkpoints, other workers.
- Every operation of some steps, by PyTorch's own profiler.
"""

from __future__ import annotations

import gc
import json
import os
import re
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.distributed
import torch.profiler
from torch.utils.data import get_worker_info

from ....capture.open_step import OpenStep
from ....capture.profiling import Profiler, RangeTrigger, Spans
from ....capture.recorder import Recorder
from ....config import let_cupti_go
from ....config.profiler_config import ProfilerConfig
from ....errors import ConfigError
from ....formats.profile.tables import Span
from ....model.steps import Mode
from ...patching import PatchSet
from ...windows import File, Windows
from ..internals import batch_fetchers, dynamo_skip_frame, is_profiling
from ..process import distributed_rank

#: One TRAIN step of so many is timed, the first of them after as many as a script warms up.
EVERY, FIRST = 100, 10


class ModuleTimes:
    """Takes the times of modules in some TRAIN steps."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._ticks = spans.clock.ticks
        self._on = False
        self._number = -1
        self._stack: list[tuple[torch.nn.Module, int]] = []
        self._arrivals: list[tuple[int, str]] = []

    def begin(self, step: OpenStep, number: int, *, on: bool) -> None:
        """A model begins to run in a step, of this global number."""
        self._on = on and step.mode is Mode.TRAIN and step.mode_step % EVERY == FIRST
        self._number = number
        self._stack.clear()

    def enter(self, module: torch.nn.Module) -> None:
        if self._on:
            self._stack.append((module, self._ticks()))

    def listens(self, step: OpenStep) -> bool:
        """Return whether what modules return is to be observed."""
        return self._on and step.mode is Mode.TRAIN

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        del given
        if not self._on or step.mode is not Mode.TRAIN:
            return
        while self._stack:
            entered, start = self._stack.pop()  # what raised inside of it never returned
            if entered is module:
                self._add_span(start, self._ticks(), f"{name or 'model'}:forward", "main")
                break
        if next(module.children(), None) is None:
            for node in _nodes(output):
                node.register_prehook(partial(self._on_gradient, name))

    def after_backward(self) -> None:
        arrivals, self._arrivals = self._arrivals, []
        ends = [*arrivals, (self._ticks(), "")]
        for (start, name), (stop, _) in pairwise(ends):
            self._add_span(start, stop, f"{name or 'model'}:backward", "backward")

    def complete(self, *__: object) -> None:
        self._on = False
        self._stack.clear()
        self._arrivals.clear()

    def _on_gradient(self, name: str, _: object) -> None:
        self._arrivals.append((self._ticks(), name))

    def _add_span(self, start: int, stop: int, name: str, thread: str) -> None:
        span = Span(start, stop - start, "layer", name, Mode.TRAIN.value, self._number, thread)
        self._spans.add(span)


def _nodes(output: object) -> Iterator[torch.autograd.graph.Node]:
    """Yield where the gradient of what a module returned comes in, of its first such tensor."""
    found = output if isinstance(output, (tuple, list)) else (output,)
    for value in found:
        if isinstance(value, torch.Tensor) and value.grad_fn is not None:
            yield value.grad_fn
            return


# Worker, when it began, how long it took. The kernel writes so few bytes all at once.
_RECORD = struct.Struct("=qqq")
_MOST_BYTES = 1 << 20


class LoaderWorkers:
    """Listens to the processes of data loaders that begin from now on, until ``remove``.

    Args:
        names: Returns a regular expression that finds itself in what is taken; ``""`` for nothing.
    """

    def __init__(self, spans: Spans, names: Callable[[], str]) -> None:
        self._spans, self._names = spans, names
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._replaced = PatchSet()
        for kind in batch_fetchers():
            self._replaced.put(kind, "fetch", self._around)
        spans.gatherers.append(self.gather)

    def remove(self) -> None:
        self._replaced.remove()
        self.gather()
        self._spans.gatherers.remove(self.gather)
        os.close(self._read)
        os.close(self._write)

    def gather(self) -> None:
        data = b""
        with suppress(OSError):  # nothing there
            data = os.read(self._read, _MOST_BYTES)
        names = self._names()
        if not names or not re.search(names, "fetch"):
            return
        for worker, began, took in _RECORD.iter_unpack(data[: len(data) // 24 * 24]):
            self._spans.add(Span(began, took, "loader", "fetch", thread=f"loader/{worker}"))

    def _around(self, original: Any) -> Any:
        write = self._write

        def call(fetcher: Any, indices: Any) -> Any:
            worker = get_worker_info()
            if worker is None:
                return original(fetcher, indices)  # in the training process it is the wait itself
            began = time.perf_counter_ns()
            batch = original(fetcher, indices)
            with suppress(OSError):
                os.write(write, _RECORD.pack(worker.id, began, time.perf_counter_ns() - began))
            return batch

        return call


# Shorter ones are not worth a row: the youngest objects are collected all the time.
_LEAST_NS = 100_000
# Before 3.12 garbage is collected in the middle of what is atomic, such as a copy of a dictionary,
# and a callback would let other threads run there. Only explicit collections are observed there.
_COLLECTS_BETWEEN = sys.version_info >= (3, 12)
_COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
)


class Pauses:
    """Listens to what stops a training, until ``remove``.

    Args:
        waits: Asked whether waits for other workers are wanted now.
        now: Returns the mode and the global step that is open or next.
    """

    def __init__(
        self, spans: Spans, waits: Callable[[], bool], now: Callable[[], tuple[str, int]]
    ) -> None:
        self._spans, self._waits, self._now = spans, waits, now
        self._process = os.getpid()
        self._began = 0
        self._replaced = PatchSet()
        self._depth = 0
        if _COLLECTS_BETWEEN:
            gc.callbacks.append(self._collects)
        else:
            self._replaced.put(gc, "collect", self._around("pause", "gc2"))
        self._replaced.put(torch, "save", self._around("pause", "checkpoint"))
        if torch.distributed.is_available():
            for name in _COLLECTIVES:
                if hasattr(torch.distributed, name):
                    self._replaced.put(torch.distributed, name, self._around("collective", name))
            self._replaced.put(torch.distributed.Work, "wait", self._around("collective", "wait"))

    def remove(self) -> None:
        self._replaced.remove()
        if self._collects in gc.callbacks:
            gc.callbacks.remove(self._collects)

    def _collects(self, phase: str, about: Mapping[str, int]) -> None:
        now = self._spans.clock.ticks()
        if phase == "start":
            self._began = now
        elif now - self._began >= _LEAST_NS and os.getpid() == self._process:
            name = f"gc{about['generation']}"
            self._spans.add(Span(self._began, now - self._began, "pause", name))

    def _around(self, kind: str, name: str) -> Callable[[Any], Any]:
        """Return what wraps a function, and takes how long it was waited for."""

        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                if torch.compiler.is_compiling():
                    return original(*args, **kwargs)
                self._depth += 1
                began = self._spans.clock.ticks()
                try:
                    return original(*args, **kwargs)
                finally:
                    self._depth -= 1
                    self._on_pause(kind, name, began)

            return dynamo_skip_frame(call)

        return make

    def _on_pause(self, kind: str, name: str, began: int) -> None:
        if self._depth or os.getpid() != self._process:
            return  # within another one
        if kind == "pause":
            self._spans.add(Span(began, self._spans.clock.ticks() - began, kind, name))
        elif self._waits():
            mode, step = self._now()
            self._spans.add(Span(began, self._spans.clock.ticks() - began, kind, name, mode, step))


class TraceWindow:
    """Records operations, and kernels of an accelerator, as Perfetto opens them."""

    name = "torch.profiler"

    def __init__(self) -> None:
        if is_profiling():
            raise ConfigError("the script itself is being profiled by torch.profiler")
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            let_cupti_go()
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        self._profiler: Any = torch.profiler.profile(activities=kinds, record_shapes=True)
        self._step: Any = None

    def begin(self, step: int) -> None:
        self._profiler.start()
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            # Torch writes it for those that are; Holistic Trace Analysis needs it.
            rank, size = distributed_rank()
            about = {"backend": "none", "rank": rank, "world_size": size}
            self._profiler.add_metadata_json("distributedInfo", json.dumps(about))
        self._enter(step)

    def next(self, step: int) -> None:
        self._step.__exit__(None, None, None)
        self._enter(step)

    def end(self) -> list[File]:
        self._step.__exit__(None, None, None)
        self._profiler.stop()
        return [(".json.gz", self._export)]

    def _enter(self, step: int) -> None:
        # Readers of traces know steps by this name.
        self._step = torch.profiler.record_function(f"ProfilerStep#{step}")
        self._step.__enter__()

    def _export(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="stepwatch-") as folder:
            file = Path(folder, "trace.json.gz")
            self._profiler.export_chrome_trace(str(file))
            return file.read_bytes()


class ProfileCollector:
    """Collects what a profile needs, as long as something is profiled."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._profiler: Profiler = recorder.profiler
        self.layers = ModuleTimes(self._profiler.spans)
        self._windows = Windows(self._profiler, distributed_rank()[0], TraceWindow)
        self._listening: list[Pauses | LoaderWorkers] = []
        self._config: ProfilerConfig | None = None
        self._mode, self._step = Mode.TRAIN, -1
        # When what is always on unless a range is given is on; ``None`` for always.
        self._loader: RangeTrigger | None = None
        self._collectives: RangeTrigger | None = None
        self._takes_loader = self._takes_collectives = True

    def listen(self) -> None:
        """Listen from here on, if anything is profiled."""
        self._configure(self._profiler.config)

    def begin(self, step: OpenStep, *__: object) -> None:
        number, _ = self._recorder.counter.peek(step.mode)
        self.begin_step(step.mode, number)
        self.layers.begin(step, number, on=self._config is not None)

    def begin_step(self, mode: Mode, number: int) -> None:
        """A model begins to run in a step of this global number; on most calls nothing is done."""
        config = self._profiler.config
        if (number, config) != (self._step, self._config):
            self._update(number, config)
        self._mode, self._step = mode, number

    def pause(self) -> None:
        """Nothing is observed from here on."""
        self._windows.close()
        self.layers.complete()
        for one in self._listening:
            one.remove()
        self._listening, self._config = [], None

    def _update(self, number: int, config: ProfilerConfig | None) -> None:
        if config is not self._config:
            self._configure(config)
        self._windows.at(number)
        self._takes_loader = self._loader is None or self._loader.at(number)
        self._takes_collectives = self._collectives is None or self._collectives.at(number)

    def _configure(self, config: ProfilerConfig | None) -> None:
        self._config = config
        self._loader = RangeTrigger(config.loader) if config and config.loader else None
        self._collectives = (
            RangeTrigger(config.collectives) if config and config.collectives else None
        )
        if config is not None and not self._listening:
            self._listening.append(Pauses(self._profiler.spans, self._waits, self._now))
            self._listening.append(LoaderWorkers(self._profiler.spans, self._loader_names))

    def _waits(self) -> bool:
        return self._config is not None and self._takes_collectives

    def _now(self) -> tuple[str, int]:
        return self._mode.value, self._step

    def _loader_names(self) -> str:
        return self._config.loader_names if self._config and self._takes_loader else ""
