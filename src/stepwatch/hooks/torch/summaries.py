"""Summaries: a few numbers that stand for a tensor, of which every one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

import torch

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING
from ...record import TensorInfo
from .device import Words
from .observe import Observer, on_host

Part = Callable[[torch.Tensor], torch.Tensor]


class Summaries:
    """Observes small tensors, each once in a step; nothing waits for an accelerator.

    Args:
        observer: Who takes them.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._taken: WeakKeyDictionary[OpenStep, set[str]] = WeakKeyDictionary()

    def wants(self, step: OpenStep, collection: str, name: str) -> bool:
        """Return whether a summary is saved at a step that has none of this name yet.

        Ask first ``step.wants(collection)``, which costs less.
        """
        if name in step or name in self._taken.get(step, ()):
            return False
        return step.level(TensorInfo(name, collection, "float32", ())) != NOTHING

    def add(
        self,
        step: OpenStep,
        collection: str,
        name: str,
        value: torch.Tensor,
        part: Part = lambda value: value,
    ) -> None:
        """Observe a summary; one on an accelerator when the step ends.

        Args:
            step: Where to.
            collection: What it is.
            name: Its name.
            value: Some thousands of elements at most; floating, or integers below 2**53.
            part: Returns the summary, of it when it is on the host.
        """
        if on_host(value):
            self._observer.tensor(step, name, part(value), collection)
            return
        self._taken.setdefault(step, set()).add(name)
        note = partial(self._note, step, collection, name, part, value.shape, value.dtype)
        self._observer.defer(step, value.to(torch.float64).reshape(-1).view(torch.int64), note)

    def _note(
        self,
        step: OpenStep,
        collection: str,
        name: str,
        part: Part,
        shape: torch.Size,
        dtype: torch.dtype,
        words: Words,
    ) -> None:
        value = torch.from_numpy(words.copy()).view(torch.float64).to(dtype).reshape(shape)
        self._observer.tensor(step, name, part(value), collection)
