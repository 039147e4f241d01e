"""What models are given: with digests of the batches, runs whose data differ can be told apart."""

from __future__ import annotations

from collections import Counter
from weakref import WeakKeyDictionary

import torch

from ...capture.open_step import OpenStep
from .arrays import tensors_in
from .evidence import keywords_given
from .names import Names, unwrap
from .observe import Observer

#: Of a model that runs more often than this in a step, the first batches are observed.
MOST_BATCHES = 64


class Batches:
    """Observes the tensors that a model is called with, before it runs.

    Args:
        names: Of the models.
        observer: Who takes the tensors.
    """

    def __init__(self, names: Names, observer: Observer) -> None:
        self._names = names
        self._observer = observer
        self._counts: WeakKeyDictionary[OpenStep, Counter[str]] = WeakKeyDictionary()

    def observe(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """Observe what a model is called with; to be called by its pre-hook.

        Args:
            step: The step.
            model: It is named already.
            inputs: Its positional arguments; those by keyword are found.
        """
        if not step.wants("batches"):
            return
        name = "" if self._names.is_plain(model) else f"/{self._names.of(unwrap(model))}"
        counts = self._counts.setdefault(step, Counter())
        number = counts[name]
        counts[name] += 1
        if number >= MOST_BATCHES:
            return
        # Digests do not merge, so each batch of a step has a name of its own.
        name = f"batch_{number}{name}" if number else f"batch{name}"
        for given in (inputs, keywords_given()):
            for path, tensor in tensors_in(given, name):
                self._observer.tensor(step, path, tensor, "batches")
