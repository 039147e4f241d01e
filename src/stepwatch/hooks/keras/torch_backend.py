"""Keras on PyTorch: every step runs as Python, and what is observed is read at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np
import torch

from ...model.record import TensorInfo
from ...numerics.packed import Rows
from ...numerics.statistics import Row
from ..patching import PatchSet
from ..torch.broadcast import targets_per_prediction
from ..torch.collectors.loss_graphs import LossGraphs
from ..torch.device import DeviceBatch
from ..torch.left_gradients import LeftGradients
from ..torch.observe import Observer
from ..torch.tensors import to_numpy
from .backend import Array, Backend, Session, StepFacts, Variables


class TorchBackend(Backend):
    """How PyTorch runs models."""

    traces = False

    def __init__(self) -> None:
        self._observer = Observer()
        self.at_once = self._observer.tensor
        self._left_gradients = LeftGradients()
        self._graphs: WeakKeyDictionary[Any, LossGraphs] = WeakKeyDictionary()
        self._applied: tuple[Any, int] = None, 0  # the last gradient, and how often it was changed

    @cached_property
    def on_host(self) -> bool:
        return not torch.cuda.is_available()

    def finish(self) -> None:
        self._observer.finish()

    def scope(self) -> object:
        return None

    def is_stale(self, gradients: Sequence[Any]) -> bool:
        last = next((one for one in reversed(gradients) if one is not None), None)
        before, version = self._applied
        self._applied = last, getattr(last, "_version", 0)
        # Only added to since: to set it to zero, or to clip it, counts as another change.
        return last is not None and last is before and last._version == version + 1

    def num_left(self, optimizer: Any, variables: Sequence[Any]) -> int | None:
        return self._left_gradients.steps(optimizer, [one.value for one in variables])

    @contextmanager
    def _following_gradients(self, model: Any, facts: StepFacts, data: Any) -> Iterator[None]:
        """Follow what is differentiated in a step, and which gradients that leaves; see the class.

        Args:
            model: What is trained.
            facts: Of the step.
            data: What it is given.
        """
        patches, left = PatchSet(), self._left_gradients

        def following(original: Callable[..., Any]) -> Callable[..., Any]:
            def backward(tensors: Any, *args: Any, **keywords: Any) -> Any:
                with suppress(Exception):
                    left.before_backward(tensors)
                with suppress(Exception):  # it is no one number, or no batch is known
                    compared = targets_per_prediction(tensors, len(keras.tree.flatten(data)[0]))
                    facts.compared = facts.compared if compared is None else float(compared)
                with suppress(Exception):  # a graph of whatever kind
                    self._look_at_graph(model, facts, tensors, data)
                try:
                    return original(tensors, *args, **keywords)
                finally:
                    with suppress(Exception):
                        left.after_backward()

            return backward

        patches.put(torch.autograd, "backward", following)
        try:
            yield
        finally:
            patches.remove()

    def _look_at_graph(self, model: Any, facts: StepFacts, loss: Any, data: Any) -> None:
        """Look for mistakes in the graphs of the first losses of a model."""
        graphs = self._graphs.setdefault(model, LossGraphs())
        if not graphs.is_done and isinstance(loss, torch.Tensor):
            first = keras.tree.flatten(data)[0]
            given = first if isinstance(first, torch.Tensor) else None
            names = {id(one.value): one.path for one in model.trainable_variables}
            graphs.look(loss, given, len(first), names, model.name)
        facts.mistakes.update(graphs.found)

    def instrument(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        make()
        function = getattr(model, f"{kind}_function")

        def variables() -> Variables:
            return (
                [one.value for one in model.trainable_variables],
                [one.value for one in model.non_trainable_variables],
            )

        def optimizer_variables() -> Sequence[Any]:
            optimizer = getattr(model, "optimizer", None)
            return [] if optimizer is None else [one.value for one in optimizer.variables]

        def run(data: Any) -> Any:
            only_losses = session.begins(variables)
            if model.jit_compile:  # calls inside of what torch compiles are not observed
                session.note("no gradients and outputs inside of torch.compile")
                returned = function(data)
            else:
                with session.collecting(only_losses=only_losses) as trace:
                    if only_losses:
                        self._left_gradients.forget()
                        returned = function(data)
                    else:
                        with self._following_gradients(model, trace.facts, data):
                            returned = function(data)
            session.ran({}, returned, variables, optimizer_variables)
            return returned

        return run

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the statistics themselves, on the host: nothing is traced here."""
        batch, rows = DeviceBatch(), list[Row]()
        with batch.burst():
            for value in values:
                batch.add(value.detach(), rows.append)
        batch.collect()
        return (np.stack(rows),)

    def unpack(self, packed: Sequence[Any], infos: Sequence[TensorInfo]) -> Rows:
        del infos
        found: Rows = packed[0]
        return found

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def to_numpy(self, value: Any) -> Array:
        return to_numpy(value) if isinstance(value, torch.Tensor) else np.asarray(value)


BACKEND = TorchBackend
