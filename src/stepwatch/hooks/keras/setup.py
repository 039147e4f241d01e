"""What a model is compiled and fitted with, where it may not be as it was meant.

Nothing is observed of most trainings: callbacks that monitor something, weights of classes, metrics
that do not fit their labels, batch normalization with a momentum that is none, and layers with no
activation between them.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary, ref

import keras
import numpy as np

from ...capture.open_step import OpenStep
from ...model.steps import Mode
from ..data_helpers import FOLDS
from ..epoch_loops import LEAST_REMADE, is_in_every_epoch
from ..evidence import Evidence, Lookup, shifts
from ..lookups import MOST_IDS, Lookups, as_whole
from ..losses import CROSS_ENTROPY, OF_PROBABILITIES, Array, LossCall
from ..observations import (
    MOST_DROPPED,
    are_permuted,
    hides_all_but_padding,
    padded_share,
    pads_tokens,
)
from ..script import is_script
from .backend import StepFacts
from .fits import (
    MOST_TRAINED_BEFORE,
    Fit,
    Trained,
    class_weights,
    foresee,
    has_state,
    is_of_keras,
    is_weighted,
    parts,
)
from .layers import ModelNames, is_behind, normalizations
from .pairs import PulledPairs
from .vocabularies import Vocabularies

COLLECTION = "setup"
#: New statistics of a batch are so much of the running ones by the convention of other libraries.
MOST_NEW = 0.9
#: And less than this is less than Keras takes by default; with few steps it is too little.
LEAST_NEW = 0.0099
#: Metrics, by their class or function, and what they are called here.
_METRICS = {
    name: known
    for known in (
        "accuracy",
        "binary_accuracy",
        "categorical_accuracy",
        "sparse_categorical_accuracy",
    )
    for name in (known, "".join(part.capitalize() for part in known.split("_")))
}
# Layers that move what is in a picture to other places.
_MOVES = tuple(
    getattr(keras.layers, name)
    for name in (
        *("RandomFlip", "RandomRotation", "RandomTranslation", "RandomZoom", "RandomCrop"),
        *("RandomShear", "RandomPerspective", "RandomElasticTransform"),
    )
    if hasattr(keras.layers, name)
)
# Functions that draw, as a script calls them.
_DRAW = re.compile(r"(^|\.)random\.\w+$|(^|\.)(rand|randn|bernoulli|rand_like|randn_like)$")
# Sequences are padded where of so many this share end in so many steps that are the same one.
_LEAST_PADDED, _PADDED, _LEAST_RUN = 8, 0.2, 3
# Where a metric is compared with what it takes, this share must fit.
_FITS = 0.5


class Setup:
    """Observes it in the collection ``setup``."""

    def __init__(self) -> None:
        self._fit = Fit()
        #: The ``id`` of the normalizations that have statistics, or are trained without.
        self.filled: set[int] = set()
        self._lookups: WeakKeyDictionary[Any, Lookups] = WeakKeyDictionary()
        self._pairs = PulledPairs()
        #: By which vocabularies the models are given ids.
        self.vocabularies = Vocabularies()
        # Of each model, whether it was compiled in a loop over epochs, and its last optimizer.
        self._compiled: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._fitted: WeakKeyDictionary[Any, tuple[ref[Any], int]] = WeakKeyDictionary()
        # How many weights of a model could be trained as ``fit`` was called last.
        self._num_trainable: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._has_thawed = False
        self._rows: WeakKeyDictionary[Any, Trained] = WeakKeyDictionary()
        # The model that ``fit`` trained last, and whether the one that it trains now goes on.
        self._last: Callable[[], Any] = lambda: None
        self._begins_anew = False
        # Of what is evaluated: rows that are trained on, and variables from before the training.
        self._shared: dict[str, float] = {}
        self._num_turns = 0  # of folds, when it was called last

    def compiling(self, model: Any) -> None:
        """A model is about to be compiled."""
        with suppress(Exception):  # it is only looked where the script stands
            self._compiled[model] = is_in_every_epoch()

    def weights_set(self, model: Any) -> None:
        """The script sets the weights of a model: what comes is another training."""
        self._fitted.pop(model, None)

    def take_thawed(self) -> bool:
        """Return whether layers were frozen or unfrozen between two calls of ``fit``; once."""
        thawed, self._has_thawed = self._has_thawed, False
        return thawed

    def _times_remade(self, model: Any) -> int:
        """Return in how many epochs in a row a model was compiled anew and trained on."""
        optimizer = model.optimizer
        if not has_state(optimizer) or not self._compiled.get(model, False):
            return 0
        last, count = self._fitted.get(model, (None, 0))
        count += last is not None and last() is not optimizer
        self._fitted[model] = ref(optimizer), count
        return count

    def fitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called in the place of ``Model.fit``."""

        def fit(model: Any, *args: Any, **named: Any) -> Any:
            self.vocabularies.given(model, original, args, named)
            before, trains = self._fit, None
            with suppress(Exception):  # of arguments that are wrong ``fit`` itself says so
                given = inspect.signature(original).bind_partial(model, *args, **named).arguments
                weights = class_weights(given), is_weighted(given)
                self._fit = Fit(given.get("callbacks"), *weights, frozenset(_kept(model)))
                self._fit = replace(self._fit, remade=self._times_remade(model))
                foreseen = dict(foresee(model, given))
                self._fit = replace(self._fit, foreseen=foreseen)
                now = len(model.trainable_variables)
                self._has_thawed |= self._num_trainable.get(model, now) != now
                self._num_trainable[model] = now
                trains, validates = parts(given)
                known = self._rows.setdefault(model, Trained())
                has_its_weights = known.goes_on(model)
                goes_on = self._last() is model and has_its_weights
                self._begins_anew |= self._last() is not None and not goes_on
                turns, self._num_turns = FOLDS.num_turns - self._num_turns, FOLDS.num_turns
                if goes_on and turns == 1:
                    FOLDS.goes_on(model.name)
                known.begin(given, trains)
                self._compare(model, validates)
                share = known.share(validates, goes_on=has_its_weights)
                self._fit = replace(self._fit, trained_before=share)
            try:
                return original(model, *args, **named)
            finally:
                self._fit = before
                with suppress(Exception):
                    self._last = ref(model)
                    self._rows[model].add(model, trains)

        return fit

    def evaluating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called in the place of ``Model.evaluate`` or ``Model.predict``."""

        def evaluate(model: Any, *args: Any, **named: Any) -> Any:
            self.vocabularies.given(model, original, args, named)
            with suppress(Exception):  # of arguments that are wrong it says so itself
                self._compare(model, args[0] if args else named.get("x"))
                if is_behind(model):
                    self._shared[f"evaluation/stale_variables/{model.name}"] = 1.0
            return original(model, *args, **named)

        return evaluate

    def _compare(self, model: Any, rows: object) -> None:
        """Note which share of rows that are evaluated the model was fitted on."""
        if model in self._rows and (share := self._rows[model].shared(rows)):
            self._shared[f"evaluation/shared_rows/{model.name}"] = share

    def found(self) -> Mapping[str, float]:
        """Return what was found of what models are given since it was asked last."""
        shared, self._shared = self._shared, {}
        return {**shared, **self.vocabularies.found()}

    def observe(
        self,
        step: OpenStep,
        model: Any,
        names: ModelNames,
        facts: StepFacts,
        value_of: Lookup,
        evidence: Evidence,
    ) -> None:
        """Add what is known of a model that trains by the ``train_step`` of Keras.

        Args:
            facts: Of the step: the calls of losses, and what the model was called with.
            value_of: Has these; predictions and labels arranged as the loss takes them.
        """
        lookups = self._lookups.setdefault(model, Lookups())
        _note_lookups(lookups, model, names, facts, value_of)
        self._pairs.observe(step, model, names, facts, value_of, evidence)
        if self._begins_anew and step.mode is Mode.TRAIN and step.wants("checkpoints"):
            self._begins_anew = False
            evidence.numbers(step, "checkpoints", {f"checkpoint/given/{model.name}": 1.0})
        if not step.wants(COLLECTION):
            return
        calls = facts.calls
        numbers = lookups.found() | dict(_momentum(model, names, self._fit.kept))
        numbers.update((f"setup/uncalled/{name}", 1.0) for name in _uncalled(model, names))
        numbers.update((f"setup/one_unit/{name}", 1.0) for name in _of_one_unit(model, names))
        numbers.update((f"setup/drops_most/{name}", 1.0) for name in _drops_most(model, names))
        ignoring = _ignoring_training(model, names)
        numbers.update((f"setup/ignores_training/{name}", 1.0) for name in ignoring)
        numbers.update((f"setup/reshaped/{name}", 1.0) for name in _torn(model, names))
        numbers.update((f"setup/unfrozen/{name}", 1.0) for name in _unfrozen(model, names))
        if model.weights and not model.trainable_variables and step.mode is Mode.TRAIN:
            numbers[f"setup/all_frozen/{model.name}"] = 1.0
        numbers.update((f"setup/over_samples/{name}", 1.0) for name in _over_samples(model, names))
        numbers.update(
            (f"setup/moved_inputs/{name}", 1.0) for name in _moved(model, names, value_of)
        )
        numbers.update(_unseparated(model, names))
        if len(facts.batches) == 1:
            numbers.update(_padded_last(model, names, value_of(facts.batches[0])))
        for layer, batch in _given_inputs(model, facts.batches, keras.layers.Masking):
            given, name = value_of(batch), names.of_layer(layer)
            if name and given is not None and _masks_nothing(given, layer.mask_value):
                numbers[f"setup/masks_nothing/{name}"] = 1.0
        for layer, batch in _given_inputs(model, facts.batches, keras.layers.Embedding):
            ids, name = value_of(batch), names.of_layer(layer)
            if layer.mask_zero and name and ids is not None and pads_tokens(ids, 0):
                numbers[f"setup/pads_tokens/{name}"] = 1.0
        only_padding = _see_only_padding(facts, value_of)
        numbers.update((f"setup/padding_only/{name}", 1.0) for name in only_padding)
        see_later = facts.see_later | set(_see_by_masks(facts, value_of))
        if see_later and _gives_next(facts, value_of):
            numbers.update((f"setup/sees_next/{name}", 1.0) for name in see_later)
        numbers.update((f"setup/monitor/{name}", sign) for name, sign in self._fit.monitors())
        numbers.update(self._fit.foreseen)
        if self._fit.remade >= LEAST_REMADE:
            numbers[f"setup/remade/{model.name}"] = float(self._fit.remade)
        if self._fit.trained_before >= MOST_TRAINED_BEFORE:
            numbers[f"setup/trained_before/{model.name}"] = self._fit.trained_before
        if self._fit.is_weighted:
            numbers.update((f"setup/weighted/{name}", 1.0) for name in {"loss": 0, **calls})
        call = calls.get("loss") if len(calls) == 1 else None
        prediction, label = value_of("prediction/loss"), value_of("label/loss")
        if call is not None and prediction is not None and label is not None:
            numbers.update(_misfits(model, call, prediction, label))
        evidence.numbers(step, COLLECTION, numbers)
        if call is not None and self._fit.class_weights is not None:
            evidence.add(step, "setup/class_weight/loss", COLLECTION, self._fit.class_weights)


def _note_lookups(
    lookups: Lookups, model: Any, names: ModelNames, facts: StepFacts, value_of: Lookup
) -> None:
    """Note whose ids the embeddings of a graph are given in a step."""
    if not lookups.is_open:
        return
    values = {name: value_of(name) for name in (*facts.batches, "label/loss")}
    known = {name: as_whole(one) for name, one in values.items() if one is not None}
    columns = {name: one.reshape(-1) for name, one in known.items() if one is not None}
    for layer, batch in _given_inputs(model, facts.batches, keras.layers.Embedding):
        name, ids = names.of_layer(layer), known.get(batch)
        if name is None or not lookups.wants(name, layer.input_dim) or ids is None:
            continue
        if ids.ndim in (1, 2) and ids.size <= MOST_IDS:
            of_samples = {key: one for key, one in columns.items() if len(one) == len(ids)}
            lookups.note(name, ids, lambda found=of_samples: found)  # type: ignore[misc]
    lookups.step_ends()


def _given_inputs(model: Any, batches: Sequence[str], kind: type[Any]) -> Iterator[tuple[Any, str]]:
    """Yield the layers of a graph that are given an input as it is, with the batch of that.

    Args:
        batches: The names of what the model was called with: by the names of inputs, or in their
            order.
        kind: Of the layers.
    """
    inputs = getattr(getattr(model, "_functional", None) or model, "inputs", None)
    if not inputs or len(inputs) != len(batches):
        return
    by_name = {name.rpartition("/")[2]: name for name in batches}
    of_input = [by_name.get(one.name, batches[place]) for place, one in enumerate(inputs)]
    batch_of = {id(one): name for one, name in zip(inputs, of_input, strict=True)}
    for layer in model.layers:
        if isinstance(layer, kind):
            for node in layer._inbound_nodes:
                (tensor,) = node.input_tensors
                if id(tensor) in batch_of:
                    yield layer, batch_of[id(tensor)]


def _drops_most(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield dropout of so much that another share may be meant, but for noise in samples."""
    inputs = getattr(getattr(model, "_functional", None) or model, "inputs", None) or []
    of_inputs = {id(one) for one in inputs}
    for layer in model._flatten_layers(include_self=False):
        if not isinstance(layer, keras.layers.Dropout) or layer.rate < MOST_DROPPED:
            continue
        given = {id(one) for node in layer._inbound_nodes for one in node.input_tensors}
        name = names.of_layer(layer)
        if name is not None and not given & of_inputs:
            yield name


def _ignoring_training(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield layers of the script that draw in an evaluation as they do in training."""
    for layer in model._flatten_layers(include_self=False):
        name = names.of_layer(layer)
        # What is given two tensors may sample by a mean and a deviation, as a code of an encoder.
        is_sampling = any(len(node.input_tensors) > 1 for node in layer._inbound_nodes)
        if name is not None and not is_sampling and _ignores_training(type(layer)):
            yield name


def _ignores_training(kind: type) -> bool:
    """Return whether a layer draws at random, and is told whether it trains, and never reads it."""
    call = vars(kind).get("call")
    code = getattr(inspect.unwrap(call), "__code__", None) if callable(call) else None
    return code is not None and _draws_alike(code)


@lru_cache(maxsize=256)
def _draws_alike(code: CodeType) -> bool:
    """Return whether a function of a script draws, and never reads its argument ``training``."""
    if "training" not in code.co_varnames or not is_script(code.co_filename):
        return False
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))))
        is_read = any(isinstance(one, ast.Name) and one.id == "training" for one in nodes)
        calls = [ast.unparse(one.func) for one in nodes if isinstance(one, ast.Call)]
        return not is_read and any(map(_DRAW.search, calls))
    return False


def _masks_nothing(given: Array, mask_value: float) -> bool:
    """Return whether sequences are padded by what a ``Masking`` does not take for padding.

    Args:
        given: Shape ``[samples, steps, features]``.
        mask_value: A step is padding where all features are this.
    """
    if given.ndim != 3 or len(given) < _LEAST_PADDED or given.shape[1] <= _LEAST_RUN:
        return False
    if (given == mask_value).all(axis=2).any():
        return False
    for rows in (given, given[:, ::-1]):
        end = rows[:, -1]
        repeats = (rows[:, -_LEAST_RUN:] == end[:, None]).all(axis=(1, 2))
        if repeats.mean() >= _PADDED and (end[repeats] == end[repeats][:1]).all():
            return True
    return False


def _moved(model: Any, names: ModelNames, value_of: Lookup) -> Iterator[str]:
    """Yield the layers that move what is in pictures, where targets are of each place of these."""
    moving = [one for one in model._flatten_layers(include_self=False) if isinstance(one, _MOVES)]
    if not moving:
        return
    prediction, label = value_of("prediction/loss"), value_of("label/loss")
    if prediction is None or label is None or prediction.ndim != 4 or label.ndim < 3:
        return
    if prediction.shape[1:3] == label.shape[1:3] and min(label.shape[1:3]) > 1:
        for layer in moving:
            if name := names.of_layer(layer):
                yield name


def _normalizations(model: Any) -> Iterator[tuple[Any, float]]:
    """Yield those that are trained, with the share of a batch in running statistics."""
    for layer in normalizations(model):
        kept = layer.momentum
        if layer.trainable and isinstance(kept, (int, float)) and math.isfinite(kept):
            yield layer, round(1.0 - kept, 6)


def _kept(model: Any) -> Iterator[int]:
    """Yield the ``id`` of each whose running variances are not about the 1 they begin at."""
    for layer, new in _normalizations(model):
        if layer.built and 0 < new < LEAST_NEW:
            variance = np.asarray(keras.ops.convert_to_numpy(layer.moving_variance))
            if (np.abs(variance - 1) < 0.5).mean() <= 0.5:
                yield id(layer)


def unfilled(model: Any, value_of: Callable[[Any], Array], filled: set[int]) -> int:
    """Return how many batch normalizations have statistics of a new layer, but trained weights.

    Args:
        value_of: Returns the value of a variable.
        filled: The ``id`` of those that have other statistics, and need no look; added to.
    """
    count = 0
    for layer in normalizations(model):
        if not layer.built or id(layer) in filled:
            continue
        if value_of(layer.moving_mean).any() or (value_of(layer.moving_variance) != 1).any():
            filled.add(id(layer))
            continue
        is_scaled = layer.scale and bool((value_of(layer.gamma) != 1).any())
        count += is_scaled or (layer.center and bool(value_of(layer.beta).any()))
    return count


def _momentum(model: Any, names: ModelNames, kept: frozenset[int]) -> Iterator[tuple[str, float]]:
    """Yield the share where it is all of a batch, or next to nothing."""
    for layer, new in _normalizations(model):
        name = names.of_layer(layer)
        is_slow = 0 < new < LEAST_NEW and id(layer) not in kept
        if name is not None and (new >= MOST_NEW or new == 0 or is_slow):
            yield f"setup/momentum/{name}", new


def _uncalled(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield the layers of a model that ran which make their weights when called, and were not.

    Layers of Keras build what is inside of them in ways of their own.
    """
    for owner in model._flatten_layers():
        if owner is model or not is_of_keras(owner):
            for layer in owner._flatten_layers(include_self=False, recursive=False):
                makes = type(layer).build is not keras.layers.Layer.build
                name = names.of_layer(layer)
                if not layer.built and makes and name is not None:
                    yield name


def _torn(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield the layers that reshape to the same sizes in another order, and transpose nothing."""
    for layer in model._flatten_layers(include_self=False):
        if not isinstance(layer, keras.layers.Reshape):
            continue
        for node in layer._inbound_nodes:
            given, made = node.input_tensors[0].shape[1:], node.output_tensors[0].shape[1:]
            is_known = None not in (*given, *made)
            name = names.of_layer(layer)
            if is_known and are_permuted(given, made) and name:
                yield name


def _of_one_unit(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield the layers that take a softmax over one unit, which is 1 whatever that is.

    A loss may be computed of the logits that Keras keeps, and falls as if nothing were wrong.
    """
    for layer in model._flatten_layers(include_self=False):
        takes = isinstance(layer, keras.layers.Softmax) and layer.axis == -1
        takes |= getattr(getattr(layer, "activation", None), "__name__", "") == "softmax"
        shapes = [one.shape for node in layer._inbound_nodes for one in node.output_tensors]
        if takes and (getattr(layer, "units", 0) == 1 or any(one[-1:] == (1,) for one in shapes)):
            name = names.of_layer(layer)
            if name is not None:
                yield name


def _unfrozen(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield the layers whose weights may be trained, and are none of those of the optimizer.

    A training function that TensorFlow has made goes on with the weights that it was made for.
    """
    optimizer = model.optimizer
    held = {id(one) for one in getattr(optimizer, "_trainable_variables", ())}
    if not held or not optimizer.built:
        return
    for layer in model._flatten_layers():
        weights = layer._trainable_variables if layer.trainable else ()
        name = names.of_layer(layer)
        if name is not None and any(one.trainable and id(one) not in held for one in weights):
            yield name


# What is divided by its norm, or by its sum of exponentials; layers, and operations of a graph.
_NORMALIZING = (keras.layers.UnitNormalization, keras.layers.Softmax)
_NORMALIZING_OPERATIONS = ("Normalize", "Softmax", "LogSoftmax")


def _over_samples(model: Any, names: ModelNames) -> Iterator[str]:
    """Yield the layers and operations of graphs that normalize over the samples of a batch.

    A graph leaves open how many samples there are, so that what has another first axis is let be.
    """
    parts = [*model._flatten_layers()]
    operations = [
        one
        for part in parts
        for one in getattr(getattr(part, "_functional", None) or part, "operations", ())
        if type(one).__name__ in _NORMALIZING_OPERATIONS and is_of_keras(one)
    ]
    of_layers = (one for one in parts if isinstance(one, _NORMALIZING))
    for one in dict.fromkeys((*of_layers, *operations)):
        axis = getattr(one, "axis", -1)
        axes = axis if isinstance(axis, (tuple, list)) else [axis]
        given = [tensor for node in one._inbound_nodes for tensor in node.input_tensors]
        is_batch = any(len(tensor.shape) > 1 and tensor.shape[0] is None for tensor in given)
        if is_batch and any(at in (0, -len(given[0].shape)) for at in axes):
            yield names.of_layer(one) or one.name


def _unseparated(model: Any, names: ModelNames) -> Iterator[tuple[str, float]]:
    """Yield pairs of layers of a graph with no activation between them, and whether that is odd.

    It is where the other layers have one, or none has; not of a last convolution, whose maps a
    layer on top reads. See ``setup/linear`` of PyTorch.
    """
    if not hasattr(getattr(model, "_functional", None) or model, "operations"):  # it is no graph
        return
    weighted = [layer for layer in model.layers if _is_product(layer)]
    first: dict[Any, Any] = {}
    for layer in weighted:
        before = _only_producer(layer)
        while isinstance(before, _LINEAR) and not _is_product(before):
            before = _only_producer(before)
        if before is not None and _is_product(before) and _is_identity(before):
            first[before] = layer
    for before, layer in first.items():
        inputs, outputs, last = before.kernel.shape[-2], before.kernel.shape[-1], layer.kernel
        if outputs < min(inputs, last.shape[-1]):
            continue
        others = [one for one in weighted[:-1] if one not in first]
        pair = names.of_layer(before), names.of_layer(layer)
        if all(pair):
            are_all = len(first) == len(weighted) - 1
            is_head = layer is weighted[-1] and not isinstance(layer, type(before))
            if are_all or not is_head:
                yield f"setup/linear/{pair[0]}>{pair[1]}", 1.0 if are_all or others else 0.5


_PRODUCTS = (
    keras.layers.Dense,
    keras.layers.Conv1D,
    keras.layers.Conv2D,
    keras.layers.Conv3D,
)
# What may stand between two products and leaves them one, when the model is evaluated.
_LINEAR = (
    *(keras.layers.Dropout, keras.layers.BatchNormalization, keras.layers.Flatten),
    *(keras.layers.Reshape, keras.layers.Permute, keras.layers.AveragePooling1D),
    *(keras.layers.AveragePooling2D, keras.layers.GlobalAveragePooling1D),
    *(keras.layers.GlobalAveragePooling2D, keras.layers.ZeroPadding2D),
)


def _is_product(layer: object) -> bool:
    """Return whether a layer multiplies by a matrix that is its own, and learns it."""
    known = type(layer) in _PRODUCTS and getattr(layer, "groups", 1) == 1
    return known and layer.built and bool(layer.trainable)  # type: ignore[attr-defined]


def _is_identity(layer: Any) -> bool:
    return getattr(layer.activation, "__name__", "") == "linear"


def _only_producer(layer: Any) -> Any:
    """Return the one operation whose output a layer of a graph takes alone; ``None`` if none."""
    producer = _only_source(layer)
    if producer is None:
        return None
    takers = {node.operation for node in producer._outbound_nodes}
    return producer if takers == {layer} else None


_ATTENTION = (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention)
_MASKS = ("use_causal_mask", "attention_mask")
# Targets are the next tokens if so many of them are.
_MOST = 0.95


def sees_later(layer: Any, given: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Return whether a layer gives each position of a sequence what comes after it.

    Args:
        layer: It is about to be called,
        given: with these arguments,
        keywords: and these by name.
    """
    if isinstance(layer, _ATTENTION):
        query, value, *_ = (*given, keywords.get("query"), keywords.get("value"))[:2]
        masks = [keywords.get(name) for name in _MASKS]
        return query is value and all(one is None or one is False for one in masks)
    if isinstance(layer, keras.layers.Bidirectional):
        return bool(layer.return_sequences)
    is_centred = isinstance(layer, keras.layers.Conv1D) and layer.padding == "same"
    return is_centred and layer.kernel_size[0] > 1


def seen_next(layer: Any, given: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Return at how many positions a mask lets attention see the one that follows, of how many.

    Of positions that nobody sees, as of padding, nothing is counted.

    Args:
        layer: It is about to be called,
        given: with these arguments,
        keywords: and these by name.

    Returns:
        A tensor of these two numbers; ``None`` for what is no attention of a sequence to itself by
        a mask.
    """
    mask = keywords.get("attention_mask")
    if not isinstance(layer, _ATTENTION) or mask is None or keywords.get("use_causal_mask"):
        return None
    query, value, *_ = (*given, keywords.get("query"), keywords.get("value"))[:2]
    shape = tuple(getattr(mask, "shape", ()))
    if query is not value or len(shape) < 2 or shape[-1] == 1:
        return None
    visible = keras.ops.cast(mask, "bool")
    size = keras.ops.shape(visible)[-1]
    place = keras.ops.arange(size)
    follows = keras.ops.equal(place[:, None] + 1, place[None])
    next_seen = keras.ops.logical_and(visible, follows)  # one row may be that of all positions
    anybody = keras.ops.any(visible, axis=-2)[..., 1:]
    counts = (keras.ops.sum(keras.ops.cast(one, "float32")) for one in (next_seen, anybody))
    return keras.ops.stack(list(counts))


#: What the counts of ``seen_next`` are observed as, before the name of the layer.
MASKS = "setup/mask/"


# Of so many samples it is looked at which tokens a mask leaves.
_MOST_SAMPLES = 16


def seen_keys(layer: Any, keywords: Mapping[str, Any]) -> Any:
    """Return which positions of the first samples a mask lets attention see, from anywhere.

    Args:
        layer: It is about to be called,
        keywords: with these arguments by name.

    Returns:
        A tensor of 0 and 1, shape ``[samples, positions]``; ``None`` for what is no attention by a
        mask of samples.
    """
    mask: Any = keywords.get("attention_mask")
    dimensions = len(getattr(mask, "shape", ()))
    if not isinstance(layer, _ATTENTION) or not 3 <= dimensions <= 4:
        return None
    between = tuple(range(1, dimensions - 1))
    visible = keras.ops.cast(mask[:_MOST_SAMPLES], "bool")
    return keras.ops.cast(keras.ops.any(visible, axis=between), "float32")


#: What ``seen_keys`` returns is observed as, before the name of the layer.
KEYS = "setup/keys/"


def _see_only_padding(facts: StepFacts, value_of: Lookup) -> Iterator[str]:
    """Yield the layers of attention whose masks hide the tokens, and leave the padding."""
    given = (value_of(batch) for batch in facts.batches if facts.masked)
    tokens = [one for one in given if one is not None and as_whole(one) is not None]
    for name in facts.masked:
        keys = value_of(f"{KEYS}{name}")
        if keys is None:
            continue
        if any(hides_all_but_padding(ids[: len(keys)], keys == 0) for ids in tokens):
            yield name


def _see_by_masks(facts: StepFacts, value_of: Lookup) -> Iterator[str]:
    """Yield the layers whose masks let nearly all positions see the one that follows.

    Where a prefix is seen in both directions, those behind it do not see what follows.
    """
    for name in facts.masked:
        counts = value_of(f"{MASKS}{name}")
        seen, of_all = (0.0, 0.0) if counts is None else counts.astype(np.float64).tolist()
        if of_all and seen >= _MOST * of_all:
            yield name


def _gives_next(facts: StepFacts, value_of: Lookup) -> bool:
    """Return whether the targets are the tokens that follow those a model is given alone."""
    if len(facts.batches) != 1 or len(facts.calls) != 1:
        return False
    given, label = value_of(facts.batches[0]), value_of(f"label/{next(iter(facts.calls))}")
    return given is not None and label is not None and shifts(given, label)[1] >= _MOST


def _padded_last(
    model: Any, names: ModelNames, tokens: Array | None
) -> Iterator[tuple[str, float]]:
    """Yield the recurrent layers that return what is left after padding, and its share of steps.

    Args:
        tokens: What the model was called with.
    """
    if not hasattr(getattr(model, "_functional", None) or model, "operations"):  # it is no graph
        return
    share = 0.0 if tokens is None else padded_share(tokens)
    for layer in model.layers if share else ():
        name = names.of_layer(layer)
        if name is not None and _returns_last(layer) and _is_of_tokens(layer):
            yield f"setup/padded_last/{name}", share


def _returns_last(layer: Any) -> bool:
    """Return whether a layer returns its state after the last position, and begins at the first."""
    known = isinstance(layer, keras.layers.RNN) and not layer.go_backwards
    return known and not layer.return_sequences


def _is_of_tokens(layer: Any) -> bool:
    """Return whether a layer of a graph is given embedded tokens, position by position, unmasked.

    So it is behind an embedding of the input of the model, with other recurrent layers, dropout and
    the like between them.
    """
    producer = _only_source(layer)
    while isinstance(producer, _BY_POSITION) or _returns_all(producer):
        producer = _only_source(producer)
    is_embedding = isinstance(producer, keras.layers.Embedding) and not producer.mask_zero
    return is_embedding and isinstance(_only_source(producer), keras.layers.InputLayer)


_BY_POSITION = (
    *(keras.layers.Dropout, keras.layers.SpatialDropout1D, keras.layers.LayerNormalization),
    *(keras.layers.BatchNormalization, keras.layers.Dense, keras.layers.Activation),
)


def _returns_all(layer: Any) -> bool:
    is_forward = isinstance(layer, keras.layers.RNN) and not layer.go_backwards
    return is_forward and bool(layer.return_sequences)


def _only_source(layer: Any) -> Any:
    """Return the one operation whose output a layer of a graph is given; ``None`` if none."""
    found = {node.operation for one in layer._inbound_nodes for node in one.parent_nodes}
    return found.pop() if len(found) == 1 else None


def _misfits(
    model: Any, call: LossCall, prediction: Array, label: Array
) -> Iterator[tuple[str, float]]:
    """Yield the share of what a metric is given that it can count, where that is small."""
    compiled = getattr(model, "_compile_metrics", None)
    for metric in getattr(compiled, "metrics", ()) or ():
        function = getattr(metric, "_fn", None)
        if not is_of_keras(metric) or not (function is None or is_of_keras(function)):
            continue  # a script's own, which may have the name of one
        known = _METRICS.get(type(metric).__name__) or _METRICS.get(
            getattr(function, "__name__", "")
        )
        if known is None or not prediction.size or not label.size:
            continue
        kind, share = _fit_of(known, call, prediction, label)
        if share < _FITS:
            yield f"setup/metric/{kind}/{metric.name}", share


def _fit_of(metric: str, call: LossCall, prediction: Array, label: Array) -> tuple[str, float]:
    is_of_classes = call.function in (OF_PROBABILITIES, CROSS_ENTROPY)
    values = label.astype(np.float64)
    is_dense = prediction.shape == label.shape
    if metric == "accuracy":
        guesses = prediction.astype(np.float64)
        return metric, float((guesses == np.rint(guesses)).mean())
    if metric == "binary_accuracy":
        if is_of_classes and is_dense and prediction.shape[1] > 2:
            return "binary_accuracy_of_classes", 0.0
        return metric, float(((values >= 0) & (values <= 1)).mean())
    if metric == "sparse_categorical_accuracy":
        return metric, float((values == np.rint(values)).mean()) if not is_dense else 1.0
    if not is_dense or prediction.ndim < 2:
        return metric, 0.0 if is_of_classes else 1.0
    rows = values.sum(1 if is_of_classes else -1)
    return "rows", float(((abs(rows - 1) < 1e-3) & (values.min() >= 0)).mean())
