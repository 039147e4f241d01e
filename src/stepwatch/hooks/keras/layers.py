"""The names of layers and variables of a Keras model, and events of layers, losses and optimizers.

Their methods are wrapped while anybody listens, once for all hooks of a process, and then put back.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, count
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary, WeakSet, ref

import keras
import numpy as np

from ..patching import Function, ListenerPatches
from .losses import FUNCTIONS

# Layers that compute something else in training than in evaluation.
_OF_MODE = (
    keras.layers.Dropout,
    keras.layers.GaussianDropout,
    keras.layers.AlphaDropout,
    keras.layers.GaussianNoise,
    keras.layers.BatchNormalization,
)


#: Functions of ``keras.random`` that draw; layers of Keras itself draw by another module.
_DRAWS = (
    *("beta", "binomial", "categorical", "dropout", "gamma", "normal", "randint", "shuffle"),
    *("truncated_normal", "uniform"),
)


# Variables of more elements are not looked at; and after so many looks it is known whether they
# are trained.
_MOST_RAW, _RAW_LOOKS = 1 << 20, 5
#: Of fewer weights nobody can tell how they were drawn; uniform ones spread to their bound within
#: this share of it.
_ENOUGH, _SPREAD = 64, 0.1


def normalizations(model: Any) -> Iterator[Any]:
    """Yield the batch normalizations of a model."""
    for layer in model._flatten_layers(include_self=False):
        if isinstance(layer, keras.layers.BatchNormalization):
            yield layer


def functions_of(model: Any) -> Iterator[Callable[..., Any]]:
    """Yield what a model runs to train: the methods of it and of its layers, and its loss."""
    for layer in model._flatten_layers():
        for name in ("train_step", "compute_loss", "call"):
            # Of its class: while it runs, what observes it stands in its place.
            function = getattr(type(layer), name, None)
            if inspect.isfunction(function):
                yield function.__get__(layer)
    loss = getattr(model, "loss", None)
    if callable(loss):
        yield getattr(loss, "call", loss)


def depends_on_mode(layer: Any) -> bool:
    """Return whether a layer knows training from evaluation; not where it drops nothing."""
    return isinstance(layer, _OF_MODE) and bool(getattr(layer, "rate", 1.0))


def is_in_training(layer: Any, training: bool | None) -> bool:
    """Return whether a layer computes as in training, as it was called."""
    is_frozen = isinstance(layer, keras.layers.BatchNormalization) and not layer.trainable
    return bool(training) and not is_frozen


def is_as_drawn(layer: Any) -> bool:
    """Return whether the largest weights of a layer are uniform up to a bound, as Keras draws them.

    What was trained has no such bound.
    """
    largest = max(layer._trainable_variables, key=lambda one: math.prod(one.shape))
    values = np.asarray(keras.ops.convert_to_numpy(largest), np.float64)
    bound = abs(values).max(initial=0.0)
    spread = math.sqrt(3 * np.mean(values**2)) if values.size >= _ENOUGH else 0.0
    return bool(bound) and abs(spread / bound - 1) <= _SPREAD


class RawVariables:
    """Variables of TensorFlow or PyTorch that layers of a script hold, and Keras does not know.

    No optimizer is given them. A script may update them itself: what is raw and changes is let be.
    """

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}
        self._values: dict[str, bytes] = {}  # as they were first
        self._num_looks = 0

    def note(self, layer: Any, name: str) -> None:
        """Note those of a layer.

        Args:
            name: Of the layer.
        """
        if type(layer).__module__.partition(".")[0] != "keras":
            held = {**vars(layer), **vars(layer).get("_parameters", {})}
            for attribute, value in held.items():
                if _is_raw(value):
                    self._held.setdefault(f"{name}.{attribute}", value)

    def untrained(self) -> list[str]:
        """Return those that are the same at ``_RAW_LOOKS`` looks, of which this is one."""
        self._num_looks += bool(self._held)
        for name, variable in list(self._held.items()):
            value = keras.ops.convert_to_numpy(variable)
            if not value.any() or self._values.setdefault(name, value.tobytes()) != value.tobytes():
                del self._held[name]
        return list(self._held) if self._num_looks >= _RAW_LOOKS else []


def _is_raw(value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    if package not in ("tensorflow", "torch") or not hasattr(value, "shape"):
        return False
    if package == "torch":  # that of a layer of Keras is among others
        is_trained = type(value).__name__ == "Parameter" and value.requires_grad
    else:
        is_trained = bool(getattr(value, "trainable", False))
    dtype = str(getattr(value, "dtype", ""))
    return is_trained and "float" in dtype and 1 < math.prod(value.shape) <= _MOST_RAW


class TracedDraws:
    """Notices layers of a script that draw by NumPy while a step is compiled, and never again.

    What runs then runs once: the numbers are constants of the function that each step calls.
    """

    def __init__(self) -> None:
        self._states: dict[int, list[object]] = {}  # before their calls, by the id of the layer

    def begins(self, layer: Any, given: Sequence[Any]) -> None:
        """A layer is about to be called with these arguments."""
        is_of_keras = type(layer).__module__.partition(".")[0] == "keras"
        if not is_of_keras and given and _is_traced(given[0]):
            self._states[id(layer)] = _random_states(layer)

    def ended(self, layer: Any) -> bool:
        """Return whether it drew; what is around it did not, by this."""
        before = self._states.pop(id(layer), None)
        if before is None or before == _random_states(layer):
            return False
        self._states = {}
        return True


def _is_traced(tensor: object) -> bool:
    """Return whether a tensor stands for one of each step, as JAX and TensorFlow compile it."""
    return any(one.__name__ in ("Tracer", "SymbolicTensor") for one in type(tensor).__mro__)


def _random_states(layer: Any) -> list[object]:
    """Return where NumPy's generator stands, and those that a layer holds or its code names."""
    call = inspect.unwrap(type(layer).call)
    named = map(getattr(call, "__globals__", {}).get, getattr(call, "__code__", call).co_names)
    states: list[object] = [repr(np.random.get_state(legacy=False))]
    for one in (*vars(layer).values(), *named):
        if isinstance(one, np.random.Generator):
            states.append(repr(one.bit_generator.state))
        elif isinstance(one, np.random.RandomState):
            states.append(repr(one.get_state(legacy=False)))
    return states


class ModelNames:
    """Names of what is in one model: the path of layer names, as in ``encoder/dense/kernel``.

    Keras itself makes the name of a layer differ from those of all layers that were made before,
    but lets one be given twice; the second is then ``dense_2``.

    Args:
        model: The model; built, so that its variables are there.
    """

    def __init__(self, model: Any) -> None:
        self.model = ref(model)
        self.layers: dict[int, str] = {}
        self.variables: dict[int, str] = {}
        #: The variables that a layer may train, frozen ones included.
        self.weights: set[int] = set()
        self.num_variables = len(model.variables)
        #: The ids of the tables of embeddings; a layer that no call has built yet has none.
        self.embeddings = {
            id(layer._embeddings)
            for layer in model._flatten_layers()
            if isinstance(layer, keras.layers.Embedding) and layer.built
        }
        self._used: set[str] = set()
        self._name(model, "")
        for variable in model.variables:  # of what is no layer, such as a seed generator
            self._name_variable(variable, variable.path)

    def of_layer(self, layer: object) -> str | None:
        return self.layers.get(id(layer))

    def of_variable(self, variable: Any) -> str:
        """Return the name of a variable; its own path if it is none of this model."""
        return self.variables.get(id(variable)) or str(variable.path)

    def callable_layers(self) -> Iterator[str]:
        model = self.model()
        if model is not None:
            for layer in (model, *_inside(model)):
                if type(layer).__name__ != "InputLayer":
                    yield self.layers[id(layer)]

    def _name(self, layer: Any, path: str) -> None:
        self.layers[id(layer)] = self._free(path or layer.name)
        inside = f"{path}/" if path else ""
        self.weights.update(id(variable) for variable in layer._trainable_variables)
        for variable in (*layer._trainable_variables, *layer._non_trainable_variables):
            self._name_variable(variable, f"{inside}{variable.name}")
        for part in layer._flatten_layers(include_self=False, recursive=False):
            if id(part) not in self.layers:
                self._name(part, f"{inside}{part.name}")

    def _name_variable(self, variable: Any, name: str) -> None:
        if id(variable) not in self.variables:
            self.variables[id(variable)] = self._free(name)

    def _free(self, name: str) -> str:
        numbered = (f"{name}_{number}" for number in count(2))
        free = next(one for one in chain([name], numbered) if one not in self._used)
        self._used.add(free)
        return free


def _inside(model: Any) -> Iterable[Any]:
    return dict.fromkeys(model._flatten_layers(include_self=False))


def slot_names(optimizer: Any, weights: Iterable[tuple[Any, str]]) -> list[str]:
    """Return what each variable of an optimizer is called, in the order of ``variables``.

    Args:
        optimizer: Built.
        weights: The trainable variables, each with its name.

    Returns:
        ``dense/kernel/velocity`` for what is kept of a weight, else the name of the variable.
    """
    # Keras names what it keeps of a variable by the variable's path.
    prefixes = {f"{variable.path.replace('/', '_')}_": name for variable, name in weights}
    names = []
    for variable in optimizer.variables:
        found = [one for one in prefixes if variable.name.startswith(one)]
        prefix = max(found, key=len, default="")
        slot = variable.name[len(prefix) :]
        names.append(f"{prefixes[prefix]}/{slot}" if prefix else slot)
    return names


# What ``Layer.losses``, a property, calls for the regularizers of a layer.
_PENALTIES = "_get_regularization_losses"


class LayerCall(NamedTuple):
    """How a layer is called.

    Args:
        is_outermost: By the script or by Keras, and by no other layer.
        training: Whether as in training; ``None`` where nobody says so.
        keywords: The other arguments that are given by name.
    """

    is_outermost: bool
    training: bool | None
    keywords: Mapping[str, Any]


class LayerListener(Protocol):
    """Is notified of what Keras runs; none of its methods may raise."""

    def called(self, layer: Any, given: Sequence[Any], call: LayerCall) -> None:
        """A layer is about to run, with these positional arguments."""

    def returned(self, layer: Any, output: Any) -> None:
        """A layer returned."""

    def computed(self, loss: Any, given: Sequence[Any], value: Any, is_inside: bool) -> None:
        """An object of ``keras.losses`` returned a value of label and prediction.

        Args:
            is_inside: ``Model.compute_loss`` runs, and ``lost`` follows.
        """

    def compared(
        self, function: Any, given: Sequence[Any], keywords: Mapping[str, Any], value: Any
    ) -> None:
        """The script called a function of ``keras.losses`` with label and prediction."""

    def lost(self, given: dict[str, Any], loss: Any) -> None:
        """A loss was computed of what was given, by the names of ``Model.compute_loss``."""

    def drawn(self, layer: Any, seed: Any, value: Any) -> None:
        """The script drew something random, inside of a layer, ``None`` for none."""

    def penalties_read(self) -> None:
        """A layer or model was asked for its penalties, as by ``model.losses``."""

    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer is about to apply gradients, ``None`` for those that there are not."""


Listeners = list[LayerListener]
#: The optimizers that were asked to scale a loss.
_SCALED: WeakSet[Any] = WeakSet()


# Of models that are trained by ``stateless_call`` the value that a variable of theirs had then.
_TRAINED_APART: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()


def trains_apart(model: Any) -> None:
    """Note that a model is trained by variables that are not its own, by ``stateless_call``."""
    if model.trainable_variables:
        _TRAINED_APART[model] = ref(model.trainable_variables[0]._value)


def is_behind(model: Any) -> bool:
    """Return whether the variables of a model are those from before it was trained apart."""
    known = _TRAINED_APART.get(model)
    return known is not None and model.trainable_variables[0]._value is known()


def is_unscaled(optimizer: Any) -> bool:
    """Return whether an optimizer divides gradients by a scale of losses that it never scaled."""
    scales = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return scales and optimizer not in _SCALED


class LayerEvents(ListenerPatches[LayerListener]):
    """Wraps layers, losses and optimizers while there are listeners.

    Args:
        only_losses: Wrap nothing but losses and optimizers.
    """

    def __init__(self, *, only_losses: bool = False) -> None:
        scaled = keras.optimizers.LossScaleOptimizer
        losses = (
            (keras.Model, "compute_loss", self._loss),
            (keras.Model, "_compute_loss", self._loss),
            (keras.losses.Loss, "__call__", self._loss_object),
            (keras.optimizers.Optimizer, "apply", self._apply),
            (scaled, "apply", self._apply),
            (scaled, "scale_loss", self._scale_loss),
            (scaled, "stateless_apply", self._stateless_apply),
        )
        others = (
            (keras.layers.Layer, "__call__", self._layer),
            (keras.layers.Layer, "stateless_call", self._stateless_layer),
            (keras.layers.Layer, _PENALTIES, self._penalties),
            # Keras itself calls them by another module: these calls are the script's.
            *((keras.losses, name, self._loss_function) for name in FUNCTIONS),
            *((keras.random, name, self._random_function) for name in _DRAWS),
        )
        super().__init__(losses if only_losses else (*others, *losses))
        self._inside = threading.local()

    def _layer(self, original: Function, listeners: Listeners) -> Function:
        def call(layer: Any, *args: Any, **named: Any) -> Any:
            with self._calling(listeners, layer, args, named):
                output = original(layer, *args, **named)
            for listener in tuple(listeners):
                listener.returned(layer, output)
            return output

        return call

    @contextmanager
    def _calling(
        self, listeners: Listeners, layer: Any, args: Sequence[Any], named: Mapping[str, Any]
    ) -> Iterator[None]:
        """Notify of a call; what is called inside is as in training if this is."""
        inside = self._inside
        depth, around = getattr(inside, "layers", 0), getattr(inside, "training", None)
        given = named.get("training")
        training = around if given is None else given
        if training is None and _trains_by_default(type(layer).call):
            training = True
        call = LayerCall(depth == 0, training if isinstance(training, bool) else None, named)
        for listener in tuple(listeners):
            listener.called(layer, args, call)
        outer = getattr(inside, "layer", None)
        inside.layers, inside.training, inside.layer = depth + 1, call.training, layer
        try:
            yield
        finally:
            inside.layers, inside.training, inside.layer = depth, around, outer

    def _stateless_layer(self, original: Function, listeners: Listeners) -> Function:
        def stateless_call(layer: Any, *args: Any, **named: Any) -> Any:
            with self._calling(listeners, layer, args[2:], named):
                found = original(layer, *args, **named)  # its output, and its variables after it
            for listener in tuple(listeners):
                listener.returned(layer, found[0])
            return found

        return stateless_call

    def _loss(self, original: Function, listeners: Listeners) -> Function:
        def compute_loss(model: Any, *args: Any, **named: Any) -> Any:
            loss, is_outermost = self._nested("loss", original, model, *args, **named)
            if is_outermost:
                given = dict(zip(("x", "y", "y_pred"), args, strict=False)) | named
                for listener in tuple(listeners):
                    listener.lost(given, loss)
            return loss

        return compute_loss

    def _loss_object(self, original: Function, listeners: Listeners) -> Function:
        def call(loss: Any, *args: Any, **named: Any) -> Any:
            value, is_outermost = self._nested("object", original, loss, *args, **named)
            if is_outermost:
                by_name = dict(zip(("y_true", "y_pred"), args, strict=False)) | named
                given = by_name.get("y_true"), by_name.get("y_pred")
                for listener in tuple(listeners):
                    listener.computed(loss, given, value, getattr(self._inside, "loss", 0) > 0)
            return value

        return call

    def _loss_function(self, original: Function, listeners: Listeners) -> Function:
        def call(*args: Any, **named: Any) -> Any:
            value, is_outermost = self._nested("object", original, *args, **named)
            if is_outermost and not getattr(self._inside, "loss", 0):
                names = inspect.signature(original).parameters
                by_name = dict(zip(names, args, strict=False)) | named
                given = by_name.pop("y_true", None), by_name.pop("y_pred", None)
                for listener in tuple(listeners):
                    listener.compared(original, given, by_name, value)
            return value

        return call

    def _random_function(self, original: Function, listeners: Listeners) -> Function:
        names = tuple(inspect.signature(original).parameters)

        def draw(*args: Any, **named: Any) -> Any:
            value = original(*args, **named)
            seed = (dict(zip(names, args, strict=False)) | named).get("seed")
            for listener in tuple(listeners):
                listener.drawn(getattr(self._inside, "layer", None), seed, value)
            return value

        return draw

    def _penalties(self, original: Function, listeners: Listeners) -> Function:
        def penalties(layer: Any) -> Any:
            for listener in tuple(listeners):
                listener.penalties_read()
            return original(layer)

        return penalties

    def _apply(self, original: Function, listeners: Listeners) -> Function:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            if isinstance(grads, list | tuple):
                variables = trainable_variables or getattr(optimizer, "_trainable_variables", ())
                self._notify(listeners, optimizer, grads, variables)
            return self._nested("optimizer", original, optimizer, grads, trainable_variables)[0]

        return apply

    def _scale_loss(self, original: Function, listeners: Listeners) -> Function:  # noqa: ARG002
        def scale_loss(optimizer: Any, loss: Any) -> Any:
            _SCALED.add(optimizer)
            return original(optimizer, loss)

        return scale_loss

    def _stateless_apply(self, original: Function, listeners: Listeners) -> Function:
        def stateless_apply(optimizer: Any, variables: Any, grads: Any, trained: Any) -> Any:
            # Its scale and its learning rate are what this says, not what its variables hold.
            mapping = list(zip(optimizer.variables, variables, strict=False))
            with keras.StatelessScope(state_mapping=mapping):
                self._notify(listeners, optimizer, grads, optimizer._trainable_variables)
            return self._nested("optimizer", original, optimizer, variables, grads, trained)[0]

        return stateless_apply

    def _notify(
        self,
        listeners: Listeners,
        optimizer: Any,
        gradients: Sequence[Any],
        variables: Sequence[Any],
    ) -> None:
        # Inside of another it is given what that one was given.
        if not getattr(self._inside, "optimizer", 0):
            for listener in tuple(listeners):
                listener.applies(optimizer, gradients, variables)

    def _nested(self, what: str, original: Function, *args: Any, **named: Any) -> tuple[Any, bool]:
        """Call; return what it returned, and whether this was inside of no other of its kind."""
        depth = getattr(self._inside, what, 0)
        setattr(self._inside, what, depth + 1)
        try:
            return original(*args, **named), depth == 0
        finally:
            setattr(self._inside, what, depth)


def is_penalized(variable: Any) -> bool:
    """Return whether a variable of Keras has a regularizer."""
    return getattr(variable, "regularizer", None) is not None


def has_own_penalties(layer: Any) -> bool:
    """Return whether a layer has added penalties when it ran, as by ``add_loss``."""
    return bool(getattr(layer, "_losses", None))


@cache
def _trains_by_default(call: Any) -> bool:
    """Return whether a layer with this ``call`` runs as in training where nobody says so."""
    try:
        training = inspect.signature(call).parameters.get("training")
    except (TypeError, ValueError):
        return False
    return training is not None and training.default is True


#: There is one of each, because methods are wrapped once.
LAYER_EVENTS = LayerEvents()
LOSS_EVENTS = LayerEvents(only_losses=True)
