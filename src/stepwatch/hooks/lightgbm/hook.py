"""The hook on LightGBM: on ``lightgbm.train``, ``lightgbm.cv``, and the estimators."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from lightgbm import CVBooster
from lightgbm.basic import LightGBMError
from lightgbm.callback import EarlyStopException

from ...capture.guard import guarded
from ..boosting import OWN_EVERY, BoostingHook, Evaluated, Metric, Round, Trained
from . import listening
from .model import LightGBMModel, read_parameters

Array = npt.NDArray[np.generic]


class LightGBMHook(BoostingHook):
    """Captures trainings with LightGBM; the arguments are those of ``Hook``.

    From when it is made until it is closed it sees every training of this process that is started
    by ``lightgbm.train``, ``lightgbm.cv`` or an estimator. It may be handed over among the
    callbacks, which is needed where a script holds a function ``train`` that it imported before.

    Example:
        >>> import lightgbm
        >>> with LightGBMHook(run="memory://boosted") as hook:
        ...     data = lightgbm.Dataset(np.arange(100.0)[:, None], label=np.arange(100.0))
        ...     model = lightgbm.train({"verbosity": -1}, data, 3, callbacks=[hook])
        >>> hook.recorder.num_steps
        3
    """

    framework: ClassVar[str] = "lightgbm"
    refusal = LightGBMError
    trainings = listening.trainings

    def __init__(self, run: Any, **options: Any) -> None:
        #: After callbacks that keep and print metrics, before the one that stops early.
        self.order = 25
        self._booster: weakref.ref[Any] | None = None
        self._objective = ""
        super().__init__(run, **options)

    def __call__(self, env: Any) -> None:
        """A round is over; as a callback of LightGBM.

        Raises:
            EarlyStopException: Somebody asked for the training to stop, which it does by this.
        """
        if self.active:
            self._see(env)
        if self.is_ended():
            raise EarlyStopException(env.iteration, env.evaluation_result_list or [])

    @guarded
    def _see(self, env: Any) -> None:
        results = env.evaluation_result_list or []
        booster = env.model
        if isinstance(booster, CVBooster):
            data = booster.boosters[0].train_set
            metrics = _metrics(results, "train")
            self.observe_round(Round(env.iteration, metrics, (data.num_data(), data.num_feature())))
            return
        begins = self._booster is None or self._booster() is not booster
        if begins:
            self._booster = weakref.ref(booster)
            self._objective = read_parameters(booster).get("objective", "")
        trained_on = booster._train_data_name
        is_alone = int(env.params.get("num_machines", 1)) <= 1
        is_known = any(name == trained_on for name, *_ in results)
        if is_alone and not is_known and env.iteration % OWN_EVERY == 0:
            results = [*booster.eval_train(), *results]
        data = booster.train_set
        self.observe_round(
            Round(
                env.iteration,
                _metrics(results, trained_on),
                (data.num_data(), data.num_feature()),
                Trained(
                    LightGBMModel(booster, env.iteration, self._objective),
                    _evaluated(booster, trained_on) if is_alone else [],
                    begins=begins,
                ),
            )
        )


def _metrics(results: Sequence[Any], trained_on: str) -> list[Metric]:
    """Return what was evaluated, of each data and metric; in a cross-validation with its spread."""
    return [
        Metric(
            data,
            metric,
            float(value),
            None if not spread or spread[0] is None else float(spread[0]),
            trains=data == trained_on,
        )
        for data, metric, value, _, *spread in results
    ]


def _evaluated(booster: Any, trained_on: str) -> list[Evaluated]:
    """Return the data that are trained on, and those that are evaluated."""
    named = {trained_on: booster.train_set}
    named |= dict(zip(booster.name_valid_sets, booster.valid_sets, strict=True))
    return [
        Evaluated(
            name, data is booster.train_set, partial(_labels, data), partial(_said, booster, data)
        )
        for name, data in named.items()
    ]


def _labels(data: Any) -> Array:
    found = data.get_label()
    return np.empty(0) if found is None else np.asarray(found)


def _said(booster: Any, data: Any) -> Array:
    """Return what a model says of data that it is trained on, or evaluated by.

    LightGBM keeps these predictions up to date, and shows them to metrics only.
    """
    shown: list[Array] = []

    def metric(predictions: Array, _: object) -> tuple[str, float, bool]:
        shown.append(np.array(predictions))
        return "", 0.0, False

    booster.eval(data, "", feval=metric)
    return shown[0]
