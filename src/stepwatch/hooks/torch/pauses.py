"""What a training stands still for: collecting garbage, writing checkpoints, other workers."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed

from ...capture.spans import Spans
from ...formats.profile.tables import Span
from ..replaced import Replaced
from .unseen import as_it_is

# Shorter ones are not worth a row: the youngest objects are collected all the time.
_LEAST_NS = 100_000
# Before 3.12 garbage is collected in the middle of what is atomic, such as a copy of a dictionary,
# and a callback would let other threads run there. Only what is asked for is told there.
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
        spans: Who takes it.
        waits: Asked whether waits for other workers are wanted now.
        now: Returns the mode and the global step that is open or next.
    """

    def __init__(
        self, spans: Spans, waits: Callable[[], bool], now: Callable[[], tuple[str, int]]
    ) -> None:
        self._spans, self._waits, self._now = spans, waits, now
        self._process = os.getpid()
        self._began = 0
        self._replaced = Replaced()
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
        """Listen no more."""
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
                    self._saw(kind, name, began)

            return as_it_is(call)

        return make

    def _saw(self, kind: str, name: str, began: int) -> None:
        if self._depth or os.getpid() != self._process:
            return  # within another one
        if kind == "pause":
            self._spans.add(Span(began, self._spans.clock.ticks() - began, kind, name))
        elif self._waits():
            mode, step = self._now()
            self._spans.add(Span(began, self._spans.clock.ticks() - began, kind, name, mode, step))
