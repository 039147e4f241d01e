"""The hook on XGBoost: on ``xgboost.train``, ``xgboost.cv``, and the estimators."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from xgboost import collective
from xgboost.callback import TrainingCallback
from xgboost.core import XGBoostError

from ...capture.guard import guarded
from ..boosting import OWN_EVERY, BoostingHook, Evaluated, Metric, Round, Trained
from . import listening
from .model import XGBoostModel, mean_and_spread, read_config

#: What the data that are trained on are called where they are not evaluated.
TRAIN = "train"


class XGBoostHook(BoostingHook, TrainingCallback):  # type: ignore[misc]  # xgboost has no types
    """Captures trainings with XGBoost; the arguments are those of ``Hook``.

    From when it is made until it is closed it sees every training of this process. It may be
    handed over among the callbacks as well, which changes nothing.

    Example:
        >>> import xgboost
        >>> with XGBoostHook(run="memory://boosted") as hook:
        ...     data = xgboost.DMatrix([[0.0], [1.0]], label=[0.0, 1.0])
        ...     model = xgboost.train({}, data, 3, callbacks=[hook])
        >>> hook.recorder.num_steps
        3
    """

    framework: ClassVar[str] = "xgboost"
    refusal = XGBoostError
    trainings = listening.trainings

    def __init__(self, run: Any, **options: Any) -> None:
        self._container: weakref.ref[Any] | None = None
        self._config: Mapping[str, str] = {}
        super().__init__(run, **options)

    # A copy of an estimator holds the same hook, and one in another process none.

    def __deepcopy__(self, memo: object) -> XGBoostHook:
        return self

    def __reduce__(self) -> tuple[type[TrainingCallback], tuple[()]]:
        return TrainingCallback, ()

    def after_round(
        self, container: Any, model: Any, number: int, train: Any, evals: Sequence[Any]
    ) -> bool:
        """A round is over; return whether the training is to stop."""
        if self.active:
            self._see(container, model, number, train, evals)
        return self.is_ended()

    @guarded
    def _see(
        self, container: Any, model: Any, number: int, train: Any, evals: Sequence[Any]
    ) -> None:
        begins = self._container is None or self._container() is not container
        self._container = weakref.ref(container)
        shape = train.num_row(), train.num_col()
        if container.is_cv:  # it evaluates each of several models, under names of its own
            metrics = _metrics(container.history, {TRAIN})
            self.observe_round(Round(number, metrics, shape))
            return
        number = model.num_boosted_rounds() - 1  # of a model that is trained on, all count
        self._config = read_config(model) if begins else self._config
        names = {name for data, name in evals if data is train}
        metrics = _metrics(container.history, names)
        if not names and number % OWN_EVERY == 0:
            metrics += _own_metrics(model, train, number)
        trained = Trained(
            XGBoostModel(model, train, number, self._config),
            _evaluated(model, train, evals),
            begins=begins,
        )
        self.observe_round(Round(number, metrics, shape, trained))


def _metrics(history: Mapping[str, Mapping[str, Any]], trains: Collection[str]) -> list[Metric]:
    """Return what was evaluated last, of each data and metric."""
    return [
        Metric(data, metric, *mean_and_spread(values[-1]), trains=data in trains)
        for data, metrics in history.items()
        for metric, values in metrics.items()
    ]


def _own_metrics(model: Any, train: Any, number: int) -> list[Metric]:
    """Evaluate what nobody asked for: the data that are trained on.

    Only by XGBoost's own metrics, for another is somebody's code; and not among several workers,
    who would wait for each other.
    """
    if collective.get_world_size() > 1:
        return []
    text = model.eval_set([(train, TRAIN)], number)
    found = (part.rpartition(":") for part in text.split("\t")[1:])
    return [
        Metric(TRAIN, name.removeprefix(f"{TRAIN}-"), float(value), None, trains=True)
        for name, _, value in found
    ]


def _evaluated(model: Any, train: Any, evals: Sequence[Any]) -> list[Evaluated]:
    """Return the data that are evaluated, and first those that are trained on."""
    named = {name: data for data, name in evals}
    if all(data is not train for data in named.values()):
        named = {TRAIN: train, **named}
    return [
        Evaluated(name, data is train, data.get_label, partial(model.predict, data))
        for name, data in named.items()
    ]
