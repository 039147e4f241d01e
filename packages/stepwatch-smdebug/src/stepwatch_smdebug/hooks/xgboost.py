"""The hook of smdebug for XGBoost: a callback that is given data and parameters."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from xgboost import collective

from stepwatch.capture.guard import guarded
from stepwatch.hooks.xgboost import XGBoostModel, mean_and_spread, read_config, trainings

from ..plan import HookConfig
from . import base
from .base import UserSavedTensor

Array = npt.NDArray[np.generic]


class SmdebugXGBoostHook(base.SmdebugHook):
    """Captures of a training with XGBoost what a hook configuration asks for.

    Each round is a step. What a script saved during a round belongs to its step.

    Args:
        config: See ``SmdebugHook``, as for further ``options``.
        hyperparameters: Saved as they are.
        train_data: What SHAP values are computed of, an ``xgboost.DMatrix``; none without it.
        validation_data: What labels and predictions are of; none without it.
        rank: By default what XGBoost says.
        register_first: Save of the first training of this process without being handed over among
            the callbacks, with the data and the parameters that it has.
    """

    framework = "xgboost"
    register_call = "xgboost.train(..., callbacks=[hook])"
    not_run_hint = "hand the hook over among the callbacks"

    def __init__(
        self,
        config: HookConfig | Callable[[], HookConfig],
        *,
        hyperparameters: Mapping[str, object] | None = None,
        train_data: Any = None,
        validation_data: Any = None,
        rank: tuple[int, int] | None = None,
        register_first: bool = False,
        **options: Any,
    ) -> None:
        here = collective.get_rank(), collective.get_world_size()
        super().__init__(config, rank=rank or here, **options)
        self._hyperparameters = hyperparameters or {}
        self._train, self._validation = train_data, validation_data
        self._history: Mapping[str, Mapping[str, Sequence[Any]]] = {}
        self._container: weakref.ref[Any] | None = None
        if register_first:
            trainings.add(self)

    def after_round(
        self, container: Any, model: Any, number: int, train: Any, evals: Sequence[Any]
    ) -> bool:
        """A round of a training is over; return False, for it goes on."""
        del number
        if self.active:
            self._begin_training(container, model, train, evals)
            is_first = self._container is not None and self._container() is container
            if is_first:
                self.save_round(model, container.history)
        return False

    def save_round(self, model: Any, history: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """A round is over: save what is due of it.

        Args:
            model: The ``xgboost.Booster``, or the models of a cross-validation.
            history: The values of each metric, by data and metric.
        """
        self._history = history
        of_this_round = dict(self._by_hand)
        self._by_hand.clear()  # the step before ends now, and what was saved since is not its own
        self.before_root(model)
        self._by_hand.update(of_this_round)
        self._add_by_hand()
        self._hand_on()

    @guarded
    def save_tensor(self, name: str, value: Any, collections: Sequence[str]) -> None:
        """Save a tensor with the round that is running, if anything else is saved at it."""
        if self.active:
            self._by_hand[name] = UserSavedTensor("tensors", self.copy_of(value), collections)

    # What XGBoost defines

    def root_names(self) -> Sequence[str]:
        return ["the booster"] if self.has_begun else []

    def copy_of(self, value: Any) -> Array:
        return np.array(value)

    def let_go(self) -> None:
        trainings.remove(self)

    def start_observing(self, root: Any) -> None:
        groups: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
            "metrics": self._metrics,
            "hyperparameters": lambda: iter(self._hyperparameters.items()),
        }
        if hasattr(root, "get_score"):  # no cross-validation
            groups |= self._groups_of(root)
        due = self.due
        others = due - {*groups, "losses"}  # these may hold anything
        for name, tensors in groups.items():
            if others or name in due or (name == "metrics" and "losses" in due):
                prefix = "" if name in _PLAIN else f"{name}/"
                self.save(((prefix + key, _array(value)) for key, value in tensors()), name)

    # Inside

    @guarded
    def _begin_training(self, container: Any, model: Any, train: Any, evals: Sequence[Any]) -> None:
        if self._container is None:
            self._container = weakref.ref(container)
            self._train = train
            self._validation = next((data for data, _ in evals if data is not train), None)
            self._hyperparameters = {} if container.is_cv else read_config(model)

    @guarded
    def _add_by_hand(self) -> None:
        if self._steps is not None:
            self._steps.add_by_hand()

    def _metrics(self) -> Iterator[tuple[str, float]]:
        for data, metrics in self._history.items():
            for metric, values in metrics.items():
                yield f"{data}-{metric}", mean_and_spread(values[-1])[0]

    def _groups_of(self, booster: Any) -> dict[str, Callable[[], Iterator[tuple[str, Any]]]]:
        number = booster.num_boosted_rounds() - 1
        model = XGBoostModel(booster, self._train, number, read_config(booster))
        groups: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
            "feature_importance": lambda: iter(model.importances().items()),
            "trees": lambda: tree_columns(model),
        }
        if self._train is not None:
            shap = cache(model.shap)  # used twice, and a pass over all trees
            groups["average_shap"] = lambda: _means(shap())
            groups["full_shap"] = lambda: _matrices(shap())
        if self._validation is not None:
            data = self._validation
            groups["labels"] = lambda: iter([("labels", data.get_label())])
            groups["predictions"] = lambda: iter([("predictions", booster.predict(data))])
        return groups


# Groups whose tensors have names of their own.
_PLAIN = ("metrics", "labels", "predictions")


def _means(shap: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    return ((name, values.mean(axis=0)) for name, values in shap.items())


def _matrices(shap: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    matrix = np.stack(list(shap.values()), axis=-1)
    return ((name, matrix) for name in shap)


def tree_columns(model: XGBoostModel) -> Iterator[tuple[str, Array]]:
    """Return the nodes of the trees of a round, by column, as smdebug has them."""
    columns = dict(model.trees())
    if columns:
        leaves = columns["Feature"] == "Leaf"
        columns["Split"] = np.where(leaves, np.nan, columns["Split"].astype(np.float64))
        columns["Category"] = np.full(leaves.shape, "nan")
    return iter(columns.items())


def _array(value: Any) -> Array:
    return np.atleast_1d(np.asarray(value))


#: What ``hook_config_launch`` attaches when the framework is imported.
HOOK = SmdebugXGBoostHook
