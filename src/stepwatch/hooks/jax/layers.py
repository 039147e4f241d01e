"""Layers of Flax Linen and of Keras that run in a function that is differentiated.

Linen hands the calls of its modules to interceptors, and Keras is listened to, while such a
function is traced. Where nothing is differentiated nothing is looked at: what acts in an
environment calls models thousands of times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from ...capture.guard import guarded
from ..losses import LossCall
from .running_statistics import ListedModel

Function = Callable[..., Any]
# Of modules of Flax that know training from evaluation, which argument and field says so.
_MODES = {"Dropout": "deterministic", "BatchNorm": "use_running_average"}


class LayerRun(NamedTuple):
    """A layer that ran.

    Args:
        model: The class of the outermost one.
        path: Where the layer is in that; empty for itself.
        in_evaluation: Whether it ran as in evaluation; ``None`` for what knows no modes.
    """

    model: str
    path: tuple[str, ...]
    in_evaluation: bool | None


class LayerListener(Protocol):
    """Is notified of layers and losses; none of its methods may raise."""

    strict: bool
    failure: str
    detach: Callable[[], None]

    @property
    def is_differentiating(self) -> bool:
        """Whether what runs now is a part of what is differentiated, and is observed."""

    def begins(self, given: Sequence[Any], weights: Sequence[str] = ()) -> None:
        """A model is called with some positional arguments, by no other layer.

        Args:
            given: The arguments.
            weights: The names of what it may train, in the order in which they are given it.
        """

    def ran(self, call: LayerRun, output: Any) -> None:
        """A layer returned."""

    def computed(self, call: LossCall) -> None:
        """A loss was computed."""


def in_evaluation(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | None:
    """Return whether a module of Flax runs as in evaluation; ``None`` where it knows no modes.

    Args:
        args: What it is called with; the second may say so,
        kwargs: or one of these, or else what the module was made with.
    """
    flag = _MODES.get(type(module).__name__)
    if flag is None or getattr(module, "rate", 1.0) == 0:
        return None
    given = kwargs.get(flag, args[1] if len(args) > 1 else None)
    given = getattr(module, flag, None) if given is None else given
    return given if isinstance(given, bool) else None


class Layers:
    """Notifies of layers while something is differentiated.

    Args:
        listener: Is notified.
    """

    def __init__(self, listener: LayerListener) -> None:
        self._listener = listener
        self._models: list[str] = []
        self._keras: KerasLayers | None = None

    @property
    def listed(self) -> list[ListedModel]:
        """The models of Keras with batch normalization that ran while something was trained."""
        return [] if self._keras is None else list(self._keras.listed.values())

    def listen(self, stack: ExitStack) -> None:
        """Notify of what runs until a stack is closed."""
        linen: Any = sys.modules.get("flax.linen")
        if hasattr(linen, "intercept_methods"):  # else it is not imported, or being so
            stack.enter_context(linen.intercept_methods(self._intercept))
        keras: Any = sys.modules.get("keras")
        if hasattr(keras, "backend") and keras.backend.backend() == "jax":
            from ..keras.layers import LAYER_EVENTS

            self._keras = self._keras or KerasLayers(self._listener)
            LAYER_EVENTS.add(self._keras)
            stack.callback(LAYER_EVENTS.remove, self._keras)

    def _intercept(self, run: Function, args: Any, kwargs: Any, context: Any) -> Any:
        if context.method_name != "__call__" or not self._listener.is_differentiating:
            return run(*args, **kwargs)
        module = context.module
        if not self._models:
            self._listener.begins(args)
        self._models.append(type(module).__name__)
        try:
            output = run(*args, **kwargs)
        finally:
            model = self._models[0]
            self._models.pop()
        path = tuple(getattr(module.scope, "path", ()))
        self._listener.ran(LayerRun(model, path, in_evaluation(module, args, kwargs)), output)
        return output


class KerasLayers:
    """Listens to layers and losses of Keras."""

    def __init__(self, listener: LayerListener) -> None:
        self._listener, self.strict = listener, listener.strict
        self._model = ""
        self._names: dict[int, str] = {}
        self._modes: dict[int, bool] = {}
        self.listed: WeakKeyDictionary[Any, ListedModel] = WeakKeyDictionary()

    @property
    def failure(self) -> str:
        """What ended capturing; the listener keeps it."""
        return self._listener.failure

    @failure.setter
    def failure(self, failure: str) -> None:
        self._listener.failure = failure

    def detach(self) -> None:
        self._listener.detach()

    @guarded
    def called(self, layer: Any, given: Sequence[Any], call: Any) -> None:
        from ..keras.layers import (
            ModelNames,
            depends_on_mode,
            is_in_training,
            normalizations,
            trains_apart,
        )

        if not self._listener.is_differentiating:
            return
        if call.is_outermost:
            names = ModelNames(layer)
            self._model, self._names = type(layer).__name__, names.layers
            weights = [names.of_variable(one) for one in layer.trainable_variables]
            self._listener.begins(given, weights)
            trains_apart(layer)
            if layer not in self.listed and any(normalizations(layer)):
                self.listed[layer] = _listed(layer, normalizations(layer))
        if depends_on_mode(layer):
            self._modes[id(layer)] = not is_in_training(layer, call.training)

    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        name = self._names.get(id(layer))
        if name is not None and self._listener.is_differentiating:
            mode = self._modes.pop(id(layer), None)
            self._listener.ran(LayerRun(self._model, tuple(name.split("/")), mode), output)

    @guarded
    def computed(self, loss: Any, given: Sequence[Any], value: Any, is_inside: bool) -> None:
        del value, is_inside
        from ..keras.losses import loss_call

        self._listener.computed(loss_call(loss, *given))

    @guarded
    def compared(
        self, function: Any, given: Sequence[Any], keywords: Mapping[str, Any], value: Any
    ) -> None:
        del value
        from ..keras.losses import loss_call

        self._listener.computed(loss_call(function, given[0], given[1], keywords))

    def penalties_read(self) -> None:
        """A model was asked for its penalties, of which nothing is said here."""

    def drawn(self, layer: Any, seed: Any, value: Any) -> None:
        """Something random was drawn, of which nothing is said here."""

    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        """``Model.compute_loss`` returned; the objects that it called were noted."""

    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer updates variables, outside of what is differentiated."""


def _listed(model: Any, normalizations: Iterable[Any]) -> ListedModel:
    """Return how the variables of a model of Keras stand in lists."""
    trained, others = model.trainable_variables, model.non_trainable_variables
    place = {id(one): at for each in (trained, others) for at, one in enumerate(each)}
    return ListedModel(
        tuple(tuple(one.shape) for one in trained),
        tuple(tuple(one.shape) for one in others),
        tuple(
            (
                place[id(layer.moving_mean)],
                place[id(layer.moving_variance)],
                tuple(place[id(one)] for one in layer.trainable_variables),
            )
            for layer in normalizations
        ),
    )
