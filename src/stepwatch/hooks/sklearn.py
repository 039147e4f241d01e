"""The hook on scikit-learn: on what it trains in epochs, in batches and in rounds of boosting.

Most estimators of scikit-learn are solved rather than trained. A script that only imports it, or
fits none of those that are seen, opens no run: the hook is made when the first training begins.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..capture.guard import guarded
from ..model.record import TensorInfo
from ..model.steps import Mode
from ..runtime.imports import OnImport
from .base import timed
from .boosting.hook import BoostingHook, class_counts, confusion
from .boosting.rounds import OWN_EVERY, EvaluationSet, Metric, Round, TrainedModel
from .patching import ListenerPatches

if TYPE_CHECKING:
    from .patching import ListenerWrapper

__all__ = ["SklearnHook"]

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]
Loss = Callable[[Floats, float], Floats]

_MLP = "sklearn.neural_network._multilayer_perceptron"
_LINEAR = "sklearn.linear_model._stochastic_gradient"
_BOOSTING = "sklearn.ensemble._gb"
_HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
_LOSSES = "sklearn._loss.loss"
#: How many trainings of networks and linear models began so far.
_WEIGHTS_SET = "loop/weights_set"
# Their functions under the names that rules know.
_ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}
_OF_CLASSES = ("log_loss", "exponential")


# What a linear model is trained to make small, of the margin: the score in favour of the class.
_OF_MARGIN: Mapping[str, Loss] = {
    "hinge": lambda z, _: np.maximum(0, 1 - z),
    "squared_hinge": lambda z, _: np.maximum(0, 1 - z) ** 2,
    "perceptron": lambda z, _: np.maximum(0, -z),
    "log_loss": lambda z, _: np.logaddexp(0, -z),
    "modified_huber": lambda z, _: np.where(z >= -1, np.maximum(0, 1 - z) ** 2, -4 * z),
}
# And of the error: the target less the prediction.
_OF_ERROR: Mapping[str, Loss] = {
    "squared_error": lambda r, _: r**2 / 2,
    "huber": lambda r, eps: np.where(abs(r) <= eps, r**2 / 2, eps * abs(r) - eps**2 / 2),
    "epsilon_insensitive": lambda r, eps: np.maximum(0, abs(r) - eps),
    "squared_epsilon_insensitive": lambda r, eps: np.maximum(0, abs(r) - eps) ** 2,
}


def linear_loss(
    name: str, scores: Floats, target: Array, classes: Array | None, eps: float
) -> float:
    """Return the mean loss of a linear model, without its penalty; nan for a loss of another name.

    Args:
        name: As scikit-learn calls the loss.
        scores: What the model says, shape ``[rows, outputs]``, of several classes one for each.
        target: Shape ``[rows]``; where classes are distinguished, the class.
        classes: Those that are distinguished; ``None`` for numbers.
        eps: What ``epsilon`` of the estimator is.
    """
    known = {**_OF_ERROR, **({} if classes is None else _OF_MARGIN)}.get(name)
    if known is None:
        return float("nan")
    numbers = target[:, None].astype(np.float64) if classes is None else None
    expected = _signs(target, classes, scores.shape[1]) if numbers is None else numbers
    with np.errstate(all="ignore"):  # a training that diverges is no error of ours
        given = expected * scores if name in _OF_MARGIN else expected - scores
        return float(known(given, eps).mean())


def _signs(target: Array, classes: Array | None, outputs: int) -> Floats:
    """Return 1 where the class of a row is that of an output, else -1."""
    known = np.asarray(classes)[-1:] if outputs == 1 else np.asarray(classes)
    return np.where(target[:, None] == known, 1.0, -1.0)


class _Estimator:
    """An estimator of which rounds are observed.

    Args:
        estimator: It.
        num_classes: How many classes it distinguishes; 0 for none, 2 for a probability.
    """

    def __init__(self, estimator: Any, num_classes: int) -> None:
        self._estimator, self.num_classes = estimator, num_classes

    def hyperparameters(self) -> Mapping[str, str]:
        found = self._estimator.get_params(deep=False)
        return {name: str(value) for name, value in found.items()}

    def importances(self) -> Mapping[str, Array]:
        """Return nothing: that of a model which is being trained is not kept by scikit-learn."""
        return {}

    def trees(self) -> Mapping[str, Array]:
        return {}

    def has_split(self) -> bool:
        """Return true: which trees split is not looked at."""
        return True

    def shap(self) -> Mapping[str, Array]:
        return {}


class _Rounds:
    """The rounds of one training as one hook follows it.

    A round is handed on once the next one is over, for the loss of validation comes after it.
    """

    def __init__(self, hook: SklearnHook, estimator: Any, target: Array, shape: Any) -> None:
        self._hook = hook
        loss = str(getattr(estimator, "loss", ""))
        classes = getattr(estimator, "classes_", ())
        num_classes = max(2, len(classes)) if loss in _OF_CLASSES else 0
        self.loss = loss
        self._shape = int(shape[0]), int(shape[1])
        data = EvaluationSet(
            "train",
            True,
            partial(np.asarray, target),
            partial(np.empty, 0),
            partial(np.empty, 0),
            dict,
        )
        self._trained = _Estimator(estimator, num_classes), [data]
        self._begins = True

    def hand_on(self, number: int, metrics: Sequence[Metric]) -> None:
        model, data = self._trained
        trained = TrainedModel(model, data, self._begins)
        self._begins = False
        self._hook.observe_round(Round(number, metrics, self._shape, trained))


class _Stages:
    """What ``monitor`` of gradient boosting is while hooks listen."""

    def __init__(self, given: Callable[..., Any] | None, hooks: Sequence[SklearnHook]) -> None:
        self._given, self._hooks = given, hooks
        self._rounds: dict[int, _Rounds] = {}
        self._last: tuple[int, list[Metric]] | None = None

    def __call__(self, number: int, estimator: Any, seen: Mapping[str, Any]) -> bool:
        """A stage is over; return whether training is to stop."""
        for hook in self._hooks:
            hook.take(partial(self._take, hook, number, estimator, seen))
        stops = self._given is not None and bool(self._given(number, estimator, seen))
        return any(list(map(SklearnHook.active_end, self._hooks))) or stops  # each is asked

    def _take(
        self, hook: SklearnHook, number: int, estimator: Any, seen: Mapping[str, Any]
    ) -> None:
        rounds = self._rounds.get(id(hook))
        if rounds is None:
            rounds = _Rounds(hook, estimator, seen["y"], seen["X"].shape)
            self._rounds[id(hook)] = rounds
        metrics = [Metric("train", rounds.loss, float(estimator.train_score_[number]), trains=True)]
        if seen["do_oob"]:
            metrics.append(Metric("oob", rounds.loss, float(estimator.oob_scores_[number])))
        if "validation_loss" in seen:  # of the stage before
            value = float(seen["validation_loss"])
            metrics.append(Metric("validation", rounds.loss, value))
        rounds.hand_on(number, metrics)


class _Batch(NamedTuple):
    """The last batch of a network, as scikit-learn has it in memory until the next one.

    Args:
        target: What it is to predict, shape ``[rows, outputs]``; of classes, which it is.
        activations: What it is given, what each hidden layer makes of it, and the predictions.
        gradients: Those of ``coefs_``, and those of ``intercepts_``.
    """

    target: Array
    activations: Sequence[Any]
    gradients: Sequence[Sequence[Array]]


class _Local(threading.local):
    """What is under way on a thread."""

    histograms: _HistogramTraining | None = None
    batch: _Batch | None = None


_of_thread = _Local()


class _HistogramTraining:
    """One training by histograms, of whose rounds scikit-learn tells nobody.

    It asks its loss for gradients as each round begins: then the one before is over.
    """

    def __init__(self, estimator: Any, hooks: Sequence[SklearnHook]) -> None:
        self._estimator, self._hooks = estimator, hooks
        self._rounds: dict[int, _Rounds] = {}
        self._known: tuple[Any, Any, Any] | None = None
        self._number = -1

    def is_of(self, loss: Any) -> bool:
        return getattr(self._estimator, "_loss", None) is loss

    def begin_round(self, target: Any, predictions: Any, weights: Any) -> None:
        """A round begins, with these predictions for the data that are trained on."""
        if self._known is None:
            self._number = len(self._estimator._predictors) - 1
        else:
            self.end_round()
        self._known = target, predictions, weights
        self._number += 1

    def end_round(self) -> None:
        """A round is over; predictions are brought up to date in place."""
        known, self._known = self._known, None
        if known is not None:
            for hook in self._hooks:
                hook.take(partial(self._take, hook, *known))

    def _take(self, hook: SklearnHook, target: Any, predictions: Any, weights: Any) -> None:
        estimator = self._estimator
        rounds = self._rounds.get(id(hook))
        if rounds is None:
            shape = len(target), estimator.n_features_in_
            rounds = self._rounds[id(hook)] = _Rounds(hook, estimator, target, shape)
        metrics: list[Metric] = []
        if estimator.do_early_stopping_:
            is_loss = estimator.scoring == "loss"
            name, sign = (rounds.loss, -1) if is_loss else (str(estimator.scoring), 1)
            for data in ("train", "validation"):
                scores = getattr(estimator, f"{data}_score_")
                if len(scores):
                    value = sign * float(scores[-1])
                    metrics.append(Metric(data, name, value, trains=data == "train"))
        elif self._number % OWN_EVERY == 0:
            outputs = predictions if predictions.shape[1] > 1 else predictions[:, 0]
            value = float(estimator._loss(target, outputs, weights))
            metrics.append(Metric("train", rounds.loss, value, trains=True))
        rounds.hand_on(self._number, metrics)


# What stands in the place of functions of scikit-learn


def _listening(listeners: Sequence[Any]) -> list[SklearnHook]:
    """Return the hooks that listen, once those that waited for a training have been made."""
    for one in [*listeners]:
        if isinstance(one, _Waiting):
            one.call()
    return [one for one in listeners if isinstance(one, SklearnHook) and one.active]


def _initializing(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    """Of a network whose weights are set: a training begins."""

    @functools.wraps(original)
    def initialize(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        for hook in _listening(listeners):
            hook.begin(self)
        return result

    return initialize


def _after_batch(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    """Of a network: the gradients of a batch are there, in arrays that are used again."""
    del listeners

    @functools.wraps(original)
    def backprop(
        self: Any,
        given: Any,
        y: Any,
        sample_weight: Any,
        activations: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        result = original(self, given, y, sample_weight, activations, *args, **kwargs)
        _of_thread.batch = _Batch(y, activations, result[1:])
        return result

    return backprop


def _after_epoch(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    """Of a network: an epoch is over, and its loss is known."""

    @functools.wraps(original)
    def update(self: Any, *args: Any) -> Any:
        result = original(self, *args)
        for hook in _listening(listeners):
            hook.network_epoch(self, args[1:] if args and args[0] else ())
            hook.raise_end()
        return result

    return update


def _after_solver(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    """Of a network that ``lbfgs`` has trained, without a word of its iterations."""

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        for hook in _listening(listeners):
            hook.network_epoch(self)
        return result

    return fit


def _of_linear(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    """Of a linear model: a batch, or all that ``fit`` does."""

    @functools.wraps(original)
    def partial_fit(self: Any, given: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        hooks = _listening(listeners)
        whole = _is_whole(args, kwargs)
        found = [None if whole else hook.loss_before(self, given, y) for hook in hooks]
        result = original(self, given, y, *args, **kwargs)
        for hook, loss in zip(hooks, found, strict=True):
            hook.linear_step(self, given, y, loss, begins=whole)
            hook.raise_end()
        return result

    return partial_fit


def _is_whole(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a linear model is trained by ``fit``: for as many epochs as it may take."""
    return bool(kwargs.get("max_iter", args[3] if len(args) > 3 else 1) != 1)


def _in_stages(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    """Of gradient boosting, which calls ``monitor`` after each stage."""

    @functools.wraps(original)
    def fit(self: Any, *args: Any, monitor: Any = None, **kwargs: Any) -> Any:
        hooks = _listening(listeners)
        if len(args) == _MONITOR + 1:
            *rest, monitor = args
            args = tuple(rest)
        if hooks:
            monitor = _Stages(monitor, hooks)
        return original(self, *args, monitor=monitor, **kwargs)

    return fit


# Which argument of ``_fit_stages`` is ``monitor``, where it is given by its place.
_MONITOR = 9


def _by_histograms(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooks = _listening(listeners)
        outer = _of_thread.histograms
        _of_thread.histograms = training = _HistogramTraining(self, hooks)
        try:
            result = original(self, *args, **kwargs)
            training.end_round()
        finally:
            _of_thread.histograms = outer
        for hook in hooks:
            hook.active_end()
        return result

    return fit


def _of_loss(original: Callable[..., Any], listeners: list[Any]) -> Callable[..., Any]:
    del listeners

    @functools.wraps(original)
    def gradient(
        self: Any, y_true: Any, raw_prediction: Any, sample_weight: Any = None, *a: Any, **k: Any
    ) -> Any:
        training = _of_thread.histograms
        if training is not None and training.is_of(self):
            training.begin_round(y_true, raw_prediction, sample_weight)
        return original(self, y_true, raw_prediction, sample_weight, *a, **k)

    return gradient


class _Patch(NamedTuple):
    owner: str
    name: str
    wrapper: ListenerWrapper[Any]


# What is replaced, by the module that is waited for.
_PATCHES: Mapping[str, Sequence[_Patch]] = {
    _MLP: (
        _Patch("BaseMultilayerPerceptron", "_initialize", _initializing),
        _Patch("BaseMultilayerPerceptron", "_backprop", _after_batch),
        _Patch("BaseMultilayerPerceptron", "_update_no_improvement_count", _after_epoch),
        _Patch("BaseMultilayerPerceptron", "_fit_lbfgs", _after_solver),
    ),
    _LINEAR: (
        _Patch("BaseSGDClassifier", "_partial_fit", _of_linear),
        _Patch("BaseSGDRegressor", "_partial_fit", _of_linear),
    ),
    _BOOSTING: (_Patch("BaseGradientBoosting", "_fit_stages", _in_stages),),
    _HISTOGRAMS: (_Patch("BaseHistGradientBoosting", "fit", _by_histograms),),
    _LOSSES: (
        _Patch("BaseLoss", "gradient", _of_loss),
        _Patch("BaseLoss", "gradient_hessian", _of_loss),
    ),
}


class _Waiting:
    """A listener that calls once, when the first training begins."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self.strict, self.failure = False, ""

    def detach(self) -> None:
        trainings.remove(self)

    @guarded
    def call(self) -> None:
        self.detach()
        self._call()


class _Trainings:
    """Patches of the modules of scikit-learn, each in place once the script has imported it.

    Importing all of them takes a second, and most scripts use none.
    """

    def __init__(self) -> None:
        self._patches: dict[str, ListenerPatches[Any]] = {}
        self._awaited: dict[int, list[OnImport]] = {}

    def add(self, listener: Any) -> None:
        if id(listener) not in self._awaited:
            self._awaited[id(listener)] = [
                OnImport(module, partial(self._add, module, listener)) for module in _PATCHES
            ]

    def _add(self, module: str, listener: Any) -> None:
        if module not in self._patches:
            there = sys.modules[module]
            functions = [  # without what another version lacks: the import must not fail
                (owner, one.name, one.wrapper)
                for one in _PATCHES[module]
                if hasattr(owner := getattr(there, one.owner, None), one.name)
            ]
            self._patches[module] = ListenerPatches(functions)
        self._patches[module].add(listener)

    def remove(self, listener: Any) -> None:
        for one in self._awaited.pop(id(listener), ()):
            one.remove()
        for patches in self._patches.values():
            patches.remove(listener)


#: Those that listen to all trainings of this process.
trainings = _Trainings()


class SklearnHook(BoostingHook):
    """Captures trainings with scikit-learn; the arguments are those of ``Hook``.

    From when it is made until it is closed it sees every training of this process.

    Example:
        >>> from sklearn.linear_model import SGDClassifier
        >>> with SklearnHook(run="memory://linear") as hook:
        ...     model = SGDClassifier()
        ...     for _ in range(3):
        ...         model = model.partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
        >>> hook.recorder.num_steps
        3
    """

    framework: ClassVar[str] = "sklearn"
    refusal = NotImplementedError
    trainings = trainings  # type: ignore[assignment]  # as many as there are modules

    def __init__(self, run: Any, **options: Any) -> None:
        self._estimator: weakref.ref[Any] | None = None
        self._num_trainings = 0
        self._begins = False
        self._capturing = ""
        super().__init__(run, **options)

    @classmethod
    def when_training(cls, call: Callable[[], None]) -> None:
        """Call back as the first training begins."""
        trainings.add(_Waiting(call))

    def describe_coverage(self) -> str:
        return self._capturing or super().describe_coverage()

    # Called from what stands in the place of functions

    @timed
    @guarded
    def begin(self, estimator: Any) -> None:
        """The weights of an estimator are new."""
        self._note(estimator, begins=True)

    def _note(self, estimator: Any, *, begins: bool) -> None:
        if begins or self._estimator is None or self._estimator() is not estimator:
            self._estimator = weakref.ref(estimator)
            self._num_trainings += 1

    @timed
    @guarded
    def network_epoch(self, estimator: Any, held_out: Sequence[Any] = ()) -> None:
        """An epoch is over, or all that ``lbfgs`` does.

        Args:
            held_out: What early stopping validates with: inputs, targets and weights, if it does.
        """
        with self._lock:
            self._note(estimator, begins=False)
            rate = getattr(getattr(estimator, "_optimizer", None), "learning_rate", None)
            if rate is not None:
                self.observe("learning_rate/0", "learning_rates", np.asarray(rate, np.float64))
            batch, _of_thread.batch = _of_thread.batch, None
            if batch is not None:
                self._observe_batch(estimator, batch)
            if held_out:
                self._observe_held_out(estimator, *held_out)
            weights = {
                f"{kind}.{number}": value
                for kind in ("coefs_", "intercepts_")
                for number, value in enumerate(getattr(estimator, kind))
            }
            self._observe_step(estimator, weights, float(estimator.loss_), trainable=True)

    def _observe_batch(self, estimator: Any, batch: _Batch) -> None:
        for kind, gradients in zip(("coefs_", "intercepts_"), batch.gradients, strict=True):
            for number, value in enumerate(gradients):
                self.observe(f"gradient/{kind}.{number}", "gradients", value, Mode.TRAIN)
        given, *hidden, predicted = batch.activations
        self._observe_predictions(estimator, predicted, batch.target, Mode.TRAIN)
        if isinstance(given, np.ndarray):
            self.observe("batch/0", "batches", given, Mode.TRAIN)
        step = self.recorder.open_step(Mode.TRAIN)
        for number, value in enumerate(hidden):
            info = TensorInfo(
                f"output/hidden_{number}", "outputs", value.dtype.name, value.shape,
                function=_ACTIVATIONS.get(estimator.activation, ""),
            )  # fmt: skip
            step.add(info, value)

    def _observe_held_out(self, estimator: Any, given: Any, target: Any, weights: Any) -> None:
        score = np.asarray(estimator.validation_scores_[-1], np.float64)
        self.observe("metric/validation_score", "metrics", score, Mode.EVAL)
        if not self.wants("losses", Mode.EVAL):
            return
        predicted = estimator._forward_pass_fast(given, check_input=False)
        name = estimator.loss
        if hasattr(estimator, "_label_binarizer"):
            target = estimator._label_binarizer.transform(target)
            if name == "log_loss" and estimator.out_activation_ == "logistic":
                name = "binary_log_loss"
        target = np.reshape(target, predicted.shape)
        losses = sys.modules[_MLP].LOSS_FUNCTIONS
        self._observe_predictions(estimator, predicted, target, Mode.EVAL)
        self._observe_loss(estimator, float(losses[name](target, predicted, weights)), Mode.EVAL)

    def _observe_predictions(
        self, estimator: Any, predicted: Array, target: Array, mode: Mode
    ) -> None:
        """Observe what a network predicts and should predict."""
        of_classes = hasattr(estimator, "_label_binarizer")
        step, loss = self.recorder.open_step(mode), estimator.loss
        if of_classes and estimator.out_activation_ == "logistic":
            if predicted.shape[1] > 1:
                return  # each sample may have several labels
            predicted = np.hstack([1 - predicted, predicted])
            target = np.hstack([1 - target, target])
        # those of classes are probabilities, for which no other library has this loss
        function = "" if of_classes else "mse_loss"
        for name, value in (("prediction", predicted), ("label", target)):
            kind = f"{name}s"
            if step.wants(kind):
                found = value.argmax(1) if of_classes and name == "label" else value
                info = TensorInfo(
                    f"{name}/{loss}", kind, found.dtype.name, found.shape, function=function
                )
                step.add(info, found)
        if of_classes and step.wants("classes"):
            matrix = confusion(target.argmax(1), predicted, predicted.shape[1])
            if matrix is not None:
                self.observe(f"confusion/{loss}", "classes", matrix, mode)

    def _observe_labels(self, estimator: Any, target: Array) -> None:
        """Observe the classes of a batch that the script drew, shape ``[rows]``."""
        classes = getattr(estimator, "classes_", None)
        step = self.recorder.open_step(Mode.TRAIN)
        if classes is None or target.ndim != 1 or not step.wants("labels"):
            return
        which = np.searchsorted(classes, target)
        name = f"label/{estimator.loss}"
        info = TensorInfo(name, "labels", which.dtype.name, which.shape, function="cross_entropy")
        step.add(info, which)
        counts = class_counts(which, len(classes))
        if counts is not None and step.wants("classes"):
            self.observe(f"class_count/{estimator.loss}", "classes", counts, Mode.TRAIN)

    def _observe_loss(self, estimator: Any, loss: float, mode: Mode = Mode.TRAIN) -> None:
        name = getattr(estimator, "loss", "") or type(estimator).__name__
        value = np.asarray(loss, np.float64)
        function = "cross_entropy" if name == "log_loss" else ""
        info = TensorInfo(f"loss/{name}", "losses", value.dtype.name, (), function=function)
        self.recorder.open_step(mode).add(info, value)

    @timed
    def loss_before(self, estimator: Any, given: Any, target: Any) -> float | None:
        """Return the loss of a batch before the model learns from it; ``None`` if not wanted."""
        found: list[float] = []
        self.take(lambda: found.extend(self._loss_of(estimator, given, target)))
        return found[0] if found else None

    @timed
    @guarded
    def linear_step(
        self, estimator: Any, given: Any, target: Any, loss: float | None, *, begins: bool
    ) -> None:
        """A linear model has learnt from a batch, or from all data.

        Args:
            loss: That of the batch before; ``None`` for what is to be computed, or not known.
        """
        with self._lock:
            self._note(estimator, begins=begins)
            if begins:
                loss = next(self._loss_of(estimator, given, target), None)
            else:
                self._observe_labels(estimator, np.asarray(target))
            weights = {
                name: value
                for name in ("coef_", "intercept_")
                if isinstance(value := getattr(estimator, name), np.ndarray)
            }
            self._observe_step(estimator, weights, loss, trainable=False)  # without gradients

    @timed
    @guarded
    def take(self, observe: Callable[[], None]) -> None:
        """Observe something of a training; whatever fails is ours."""
        if self.active:
            observe()

    def raise_end(self) -> None:
        """End the training if that was requested.

        Raises:
            TrainingStopped: A stop was; nothing of scikit-learn ends a training otherwise.
        """
        if self.active_end():
            assert self._stopped is not None
            raise self._stopped

    def active_end(self) -> bool:
        """Return whether the training is to end."""
        return self.active and self.is_ended()

    # Inside

    def _observe_step(
        self, estimator: Any, weights: Mapping[str, Array], loss: float | None, *, trainable: bool
    ) -> None:
        for name, value in weights.items():
            self.observe(name, "weights", value, Mode.TRAIN, trainable=trainable)
        if loss is not None:
            self._observe_loss(estimator, loss)
        count = np.asarray(self._num_trainings, np.float64)
        self.observe(_WEIGHTS_SET, "loop", count, Mode.TRAIN)
        count_text = f"{len(weights)} of {len(weights)} parameters"
        self._capturing = f"capturing {count_text} of {type(estimator).__name__}, and its loss"
        self.end_step(Mode.TRAIN)
        self.end_step(Mode.EVAL)

    def _loss_of(self, estimator: Any, given: Any, target: Any) -> Iterator[float]:
        """Yield the loss of a linear model for data, as it is now; nothing if it is not wanted."""
        if not self.wants("losses"):
            return
        coef = getattr(estimator, "coef_", None)
        classes = getattr(estimator, "classes_", None)
        labels = np.asarray(target)
        if coef is None:  # it begins at 0
            scores = np.zeros((len(labels), 1))
            if isinstance(estimator, sys.modules[_LINEAR].BaseSGDClassifier):
                classes = np.unique(labels)[:2]  # of a score of 0 they all cost the same
        else:
            x = given if hasattr(given, "dot") and not hasattr(given, "iloc") else np.asarray(given)
            scores = np.asarray(x @ np.atleast_2d(coef).T + estimator.intercept_, np.float64)
        epsilon = float(getattr(estimator, "epsilon", 0.1))
        if labels.ndim == 1:
            yield linear_loss(str(estimator.loss), scores, labels, classes, epsilon)
