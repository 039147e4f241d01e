"""The hook on CatBoost: on ``fit`` of its estimators, and ``catboost.train``.

CatBoost reports its rounds to callbacks, with the metrics and without the model. What only a model
can tell is observed with the last round, which is held back until the model is there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import catboost
import numpy as np
import numpy.typing as npt
from catboost import CatBoostError

from ..capture.guard import guarded
from ..model.record import TensorInfo
from ..model.steps import Mode
from ..numerics.statistics import summarize
from .base import timed
from .boosting.hook import BoostingHook
from .boosting.rounds import (
    FIRST_ROWS,
    MOST_NUMBERS,
    EvaluationSet,
    Metric,
    Round,
    TrainedModel,
    shares,
)
from .patching import ListenerPatches

__all__ = ["CatBoostHook"]

Array = npt.NDArray[np.generic]

_TRAINED_ON = "learn"
_IMPORTANCE = "feature_importance"
_OF_TWO_CLASSES = ("Logloss", "CrossEntropy")
_OF_CLASSES = ("MultiClass", "MultiClassOneVsAll")


class CatBoostModel:
    """A model that is being trained, of which callbacks are shown nothing.

    Args:
        parameters: What it is trained with, as the script gives it.
        num_classes: How many classes it distinguishes; 0 for none, 2 for a probability.
    """

    def __init__(self, parameters: Mapping[str, object], num_classes: int) -> None:
        self._parameters = parameters
        self.num_classes = num_classes

    def hyperparameters(self) -> Mapping[str, str]:
        """Return the parameters that the script gives, and the loss."""
        return {name: str(value) for name, value in self._parameters.items()}

    def importances(self) -> Mapping[str, Array]:
        """Return nothing: they are known once the model is trained."""
        return {}

    def trees(self) -> Mapping[str, Array]:
        raise CatBoostError("CatBoost shows no tree of a model that is being trained")

    def has_split(self) -> bool:
        """Return true: which trees split is not known."""
        return True

    def shap(self) -> Mapping[str, Array]:
        raise CatBoostError("CatBoost explains no model that is being trained")


class _Training:
    """One training as one hook follows it.

    Args:
        hook: What observes it.
        pools: The data that are trained on, and then those that are evaluated.
        parameters: As CatBoost is given them.
    """

    def __init__(
        self, hook: CatBoostHook, pools: Sequence[Any], parameters: Mapping[str, Any]
    ) -> None:
        self._hook = hook
        names = [f"validation_{number}" for number in range(len(pools) - 1)]
        names = ["validation"] if len(names) == 1 else names
        loss = str(parameters.get("loss_function", "")).partition(":")[0]
        trained = pools[0]
        columns = _columns(trained, FIRST_ROWS)
        labels = [np.asarray(one.get_label()) for one in pools]
        num_classes = 2 * (loss in _OF_TWO_CLASSES)
        if loss in _OF_CLASSES or labels[0].dtype.kind not in "biuf":
            classes = np.unique(labels[0])
            labels = [_codes(one, classes) for one in labels]
            num_classes = len(classes)
        self._shape = trained.num_row(), trained.num_col()
        self._data = [
            EvaluationSet(
                name,
                name == _TRAINED_ON,
                partial(np.asarray, label),
                partial(np.empty, 0),
                partial(np.empty, 0),
                partial(dict, columns if name == _TRAINED_ON else ()),
                partial(_whole, pool),
            )
            for name, label, pool in zip([_TRAINED_ON, *names], labels, pools, strict=True)
        ]
        given = {key: value for key, value in parameters.items() if key != "callbacks"}
        self._model = CatBoostModel(given, num_classes)
        self._begins = True
        self._counts: dict[str, int] = {}
        self._last: Round | None = None

    def take(self, info: Any) -> None:
        """A round is over; the one before was handed on.

        It may come twice, where the script gives the hook as a callback.
        """
        number = info.iteration - 1
        if self._last is not None and self._last.number == number:
            return
        metrics = []
        for data, by_name in info.metrics.items():
            for name, values in by_name.items():
                key = f"{data}-{name}"
                is_new = len(values) > self._counts.get(key, 0)  # not every metric at every round
                self._counts[key] = len(values)
                if is_new:
                    metrics.append(Metric(data, name, values[-1], trains=data == _TRAINED_ON))
        trained = TrainedModel(self._model, self._data, self._begins)
        self._last, self._begins = Round(number, metrics, self._shape, trained), False

    def end(self, fitted: Any) -> None:
        """The training is over: hand on its last round, with what the model tells."""
        if fitted is not None and self._last is not None and self._hook.active:
            self._hook.observe_importances(fitted)
        self.flush()

    def flush(self) -> None:
        """Hand on the round that was held back."""
        last, self._last = self._last, None
        if last is not None and self._hook.active:
            self._hook.observe_round(last)


class _Callbacks:
    """What CatBoost calls after each round: what the script gave, and the trainings of hooks.

    Args:
        given: What the script gave, as CatBoost wraps it; ``None`` for nothing.
        hooks: The hooks that listen.
    """

    def __init__(self, given: Any, hooks: Sequence[CatBoostHook]) -> None:
        self._given, self._hooks = given, hooks

    def after_iteration(self, info: Any) -> bool:
        """Return whether training goes on."""
        for hook in self._hooks:
            hook.hand_on()  # first, for what the script saves now is of the round that is over
        goes_on = self._given is None or bool(self._given.after_iteration(info))
        for hook in self._hooks:
            goes_on = hook.after_iteration(info) and goes_on
        return goes_on


def _with_listeners(
    original: Callable[..., Any], listeners: list[CatBoostHook]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def train(self: Any, train_pool: Any, test_pool: Any, params: Any, *rest: Any) -> Any:
        if params.get("task_type") == "GPU":  # takes no callbacks
            return original(self, train_pool, test_pool, params, *rest)
        hooks = [one for one in listeners if one.active]
        for hook in hooks:
            hook.begin([train_pool, *test_pool], params)
        callbacks = _Callbacks(params.get("callbacks"), hooks)
        fitted = None
        try:
            result = original(
                self, train_pool, test_pool, {**params, "callbacks": callbacks}, *rest
            )
            fitted = self
        finally:
            for hook in hooks:
                hook.end(fitted)
        return result

    return train


#: Those that listen to all trainings of this process.
trainings: ListenerPatches[CatBoostHook] = ListenerPatches(
    [(catboost.CatBoost, "_train", _with_listeners)]
)


class CatBoostHook(BoostingHook):
    """Captures trainings with CatBoost; the arguments are those of ``Hook``.

    From when it is made until it is closed it sees every training of this process on the CPU.

    Example:
        >>> import catboost
        >>> with CatBoostHook(run="memory://boosted") as hook:
        ...     model = catboost.CatBoost({"iterations": 3, "verbose": 0})
        ...     model = model.fit(np.arange(100.0)[:, None], np.arange(100.0))
        >>> hook.recorder.num_steps
        3
    """

    framework: ClassVar[str] = "catboost"
    refusal = CatBoostError
    trainings = trainings

    def __init__(self, run: Any, **options: Any) -> None:
        self._training: _Training | None = None
        super().__init__(run, **options)

    @timed
    @guarded
    def begin(self, pools: Sequence[Any], parameters: Mapping[str, Any]) -> None:
        """A training begins, on the first of these pools."""
        self._training = _Training(self, pools, parameters)

    @timed
    @guarded
    def hand_on(self) -> None:
        """Another round is over than the one that is held back."""
        if self._training is not None:
            self._training.flush()

    def after_iteration(self, info: Any) -> bool:
        """A round is over; return whether training goes on."""
        if self.active:
            self._take(info)
        return not self.is_ended()

    @timed
    @guarded
    def _take(self, info: Any) -> None:
        if self._training is not None:
            self._training.take(info)

    @guarded
    def observe_importances(self, fitted: Any) -> None:
        """Observe how much predictions change with each feature, as shares, whatever step it is."""
        if not self.recorder.plan.wants(_IMPORTANCE):
            return
        names = fitted.feature_names_

        def importances() -> Mapping[str, Array]:
            found = fitted.get_feature_importance(type="PredictionValuesChange")
            return shares("prediction_change", dict(zip(names, map(float, found), strict=True)))

        step = self.recorder.open_step(Mode.TRAIN)
        for name, share in self.computed("importances", importances).items():
            info = TensorInfo(f"{_IMPORTANCE}/{name}", _IMPORTANCE, "float64", ())
            step.add_statistics(info, summarize(share))

    @timed
    @guarded
    def end(self, fitted: Any) -> None:
        """A training is over.

        Args:
            fitted: The estimator; ``None`` where the training broke off.
        """
        training, self._training = self._training, None
        if training is not None:
            stopped = self._stopped  # the round that is handed on now was over before
            training.end(fitted)
            self._stopped = stopped or self._stopped


def _codes(labels: Array, classes: Array) -> Array:
    """Return the place of each label among the classes, which ascend; -1 for one that is none."""
    at = np.searchsorted(classes, labels).clip(0, max(0, len(classes) - 1))
    return np.where(classes[at] == labels, at, -1)


def _whole(pool: Any) -> Mapping[str, Array]:
    """Return all rows of a table that is not too large; see ``_columns``."""
    rows = pool.num_row()
    return _columns(pool, rows) if rows * pool.num_col() <= MOST_NUMBERS else {}


def _columns(pool: Any, most: int) -> Mapping[str, Array]:
    """Return the first rows of a table of numbers, by the name of the feature; empty if unknown."""
    is_numbers = not pool.get_cat_feature_indices() and not pool.get_text_feature_indices()
    if not is_numbers or pool.is_quantized():
        return {}
    rows = pool.slice(list(range(min(most, pool.num_row())))).get_features()
    names = pool.get_feature_names()
    names = [name or str(number) for number, name in enumerate(names)]
    return dict(zip(names, rows.T, strict=True))
