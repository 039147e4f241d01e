"""The hook on LightGBM: on ``lightgbm.train``, ``lightgbm.cv``, and the estimators.

LightGBM reports its rounds to callbacks, so whoever listens is made one of them.
"""

from __future__ import annotations

import functools
import inspect
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import lightgbm
import numpy as np
import numpy.typing as npt
from lightgbm import CVBooster, engine, sklearn
from lightgbm.basic import LightGBMError
from lightgbm.callback import EarlyStopException

from ..capture.guard import guarded
from .base import timed
from .boosting.hook import BoostingHook
from .boosting.objectives import ObjectiveListener, with_objectives
from .boosting.rounds import (
    OWN_EVERY,
    EvaluationSet,
    Metric,
    Node,
    Round,
    TrainedModel,
    columns_of,
    shares,
    table_columns,
)
from .patching import ListenerPatches

__all__ = ["LightGBMHook"]

Array = npt.NDArray[np.generic]
Callback = Callable[[Any], None]


def _with_listeners(original: Callable[..., Any], listeners: list[Callback]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def train(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # its own error is better
            return original(*args, **kwargs)
        given = list(bound.arguments.get("callbacks") or ())
        missing = [one for one in listeners if one not in given]
        if missing:
            bound.arguments["callbacks"] = [*given, *missing]
        for one in listeners:
            if isinstance(one, LightGBMHook):
                one.note_callbacks(given)
                one.note_data(bound.arguments)
        return original(*bound.args, **bound.kwargs)

    return train


#: Those that listen to all trainings of this process.
trainings: ListenerPatches[Callback] = ListenerPatches(
    (owner, name, _with_listeners)
    for owner, name in (
        (lightgbm, "train"),
        (lightgbm, "cv"),
        (engine, "train"),
        (engine, "cv"),
        (sklearn, "train"),
    )
)


_PARAMETER = re.compile(r"^\[(\w+): (.*)\]$", re.MULTILINE)


class LightGBMModel:
    """A model, as it is after a round.

    Args:
        objective: What it is trained for, as its parameters say.
    """

    def __init__(self, booster: Any, number: int, objective: str) -> None:
        self._booster, self._number = booster, number
        #: How many classes it distinguishes; 0 for none, 2 for a probability.
        self.num_classes = {"binary": 2}.get(objective, 0)
        if objective in ("multiclass", "multiclassova"):
            self.num_classes = booster.num_model_per_iteration()

    def hyperparameters(self) -> Mapping[str, str]:
        """Return the parameters of the model, defaults included."""
        return read_parameters(self._booster)

    def importances(self) -> Mapping[str, Array]:
        """Return the share of each feature that it uses, by kind (named as XGBoost does) and name.

        ``weight`` is how often it splits, ``total_gain`` what that gains, ``gain`` the mean.
        """
        names = self._booster.feature_name()
        splits, gains = (
            dict(zip(names, self._booster.feature_importance(kind, iteration=-1), strict=True))
            for kind in ("split", "gain")
        )
        used = {name: float(splits[name]) for name in names if splits[name] > 0}
        return {
            **shares("weight", used),
            **shares("total_gain", {name: float(gains[name]) for name in used}),
            **shares("gain", {name: float(gains[name]) / count for name, count in used.items()}),
        }

    def trees(self) -> Mapping[str, Array]:
        """Return the nodes of the trees of this round, numbered from the root downwards."""
        dump = self._booster.dump_model(start_iteration=self._number, num_iteration=1)
        names = self._booster.feature_name()
        first = self._number * len(dump["tree_info"])
        return columns_of(
            [
                node
                for index, tree in enumerate(dump["tree_info"])
                for node in nodes_of(first + index, tree["tree_structure"], names)
            ]
        )

    def has_split(self) -> bool:
        """Return whether a tree of this round has a split."""
        dump = self._booster.dump_model(start_iteration=self._number, num_iteration=1)
        trees = dump["tree_info"] if self._booster.current_iteration() > self._number else ()
        return any(tree["num_leaves"] > 1 for tree in trees)

    def shap(self) -> Mapping[str, Array]:
        """Return what each feature adds to each prediction of the training data, and ``bias``.

        Returns:
            By feature, float64, shape ``[rows]``, or ``[rows, classes]``.

        Raises:
            LightGBMError: LightGBM has let go of the data, as it does by default; or it is sparse.
        """
        data = self._booster.train_set.get_data()
        names = [*self._booster.feature_name(), "bias"]
        # A model that is being trained has not all that this needs, and the process would abort.
        copy = lightgbm.Booster(model_str=self._booster.model_to_string(num_iteration=-1))
        found = copy.predict(data, pred_contrib=True)
        if not isinstance(found, np.ndarray):
            raise LightGBMError("of sparse data they are sparse")
        values = found.reshape(len(found), -1, len(names))  # classes stand beside each other
        if values.shape[1] == 1:
            values = values[:, 0]
        return {name: values[..., index] for index, name in enumerate(names)}


def read_parameters(booster: Any) -> dict[str, str]:
    """Return the parameters of a model by name, as texts; with the values by default."""
    return dict(_PARAMETER.findall(booster.model_to_string(num_iteration=1)))


def nodes_of(tree: int, root: Mapping[str, Any], features: list[str]) -> Iterator[Node]:
    """Yield the nodes of a tree, level by level.

    Args:
        tree: Its number.
        root: As ``dump_model`` has it.
        features: The names of the columns.
    """
    level = [root]
    number, free = 0, 1
    while level:
        below: list[Mapping[str, Any]] = []
        for node in level:
            if "split_feature" not in node:
                weight = float(node.get("leaf_weight", 0))
                yield Node(tree, number, gain=float(node["leaf_value"]), cover=weight)
            else:
                below += [node["left_child"], node["right_child"]]
                yield _split(tree, number, node, features[node["split_feature"]], free)
                free += 2
            number += 1
        level = below


def _split(tree: int, number: int, node: Mapping[str, Any], feature: str, child: int) -> Node:
    """Return a node that splits; its children have the numbers from ``child`` on."""
    is_number = node["decision_type"] == "<="
    return Node(
        tree,
        number,
        feature=feature,
        split=float(node["threshold"]) if is_number else 0.0,
        yes=child,
        no=child + 1,
        missing=child if node["default_left"] else child + 1,
        gain=float(node["split_gain"]),
        cover=float(node["internal_weight"]),
    )


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
    trainings = trainings
    objectives: ClassVar[ListenerPatches[ObjectiveListener]] = ListenerPatches(
        [(lightgbm.Booster, "update", with_objectives)]
    )

    def __init__(self, run: Any, **options: Any) -> None:
        #: After callbacks that keep and print metrics, before the one that stops early.
        self.order = 25
        self._booster: weakref.ref[Any] | None = None
        self._objective = ""
        self._has_early_stopping = self._takes_first = False
        # What data sets are made of, until a training begins: it keeps bins only. By their ids.
        self._made_of: dict[int, Any] = {}
        super().__init__(run, **options)

    def note_callbacks(self, callbacks: Sequence[Callback]) -> None:
        """Note what a training that begins is given as callbacks."""
        found = [one for one in callbacks if type(one).__name__ == "_EarlyStoppingCallback"]
        self._has_early_stopping = bool(found)
        self._takes_first = any(getattr(one, "first_metric_only", False) for one in found)

    @guarded
    def note_data(self, arguments: Mapping[str, Any]) -> None:
        """Note what a training that begins is given as data."""
        valid = arguments.get("valid_sets") or ()
        given = [arguments.get("train_set"), *(valid if isinstance(valid, (list, tuple)) else ())]
        self._made_of = {id(one): getattr(one, "data", None) for one in given}

    def __call__(self, env: Any) -> None:
        """A round is over; as a callback of LightGBM.

        Raises:
            EarlyStopException: A stop was requested; LightGBM ends a training by this.
        """
        if self.active:
            self._observe_round(env)
        if self.is_ended():
            raise EarlyStopException(env.iteration, env.evaluation_result_list or [])

    @timed
    @guarded
    def _observe_round(self, env: Any) -> None:
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
                TrainedModel(
                    LightGBMModel(booster, env.iteration, self._objective),
                    _evaluated(booster, trained_on, self._made_of) if is_alone else [],
                    begins=begins,
                    stops_by=self._stops_by(env, trained_on),
                    objective=self.known_of_objective(booster),
                ),
            )
        )
        self._made_of = {}

    def _stops_by(self, env: Any, trained_on: str) -> dict[str, float]:
        """Return the metrics that end the training early: 1 where more is taken for better."""
        if not (self._has_early_stopping or env.params.get("early_stopping_round")):
            return {}
        results = env.evaluation_result_list or ()
        takes_first = self._takes_first or env.params.get("first_metric_only")
        taken = {metric for _, metric, *_ in (results[:1] if takes_first else results)}
        return {
            f"{data}-{metric}": 1.0 if more_is_better else -1.0
            for data, metric, _, more_is_better, *_ in results
            if data != trained_on and metric in taken
        }


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


def _evaluated(booster: Any, trained_on: str, made_of: Mapping[int, Any]) -> list[EvaluationSet]:
    """Return the data that are trained on, and those that are evaluated."""
    named = {trained_on: booster.train_set}
    named |= dict(zip(booster.name_valid_sets, booster.valid_sets, strict=True))
    return [
        EvaluationSet(
            name,
            data is booster.train_set,
            partial(_labels, data),
            partial(_predictions, booster, data),
            partial(_groups, data),
            dict,  # it keeps bins only, unless it is told to
            partial(_table, data, made_of.get(id(data))),
            partial(_offsets, data),
        )
        for name, data in named.items()
    ]


def _table(data: Any, made_of: Any) -> Mapping[str, Array]:
    return table_columns(made_of, data.get_feature_name())


def _labels(data: Any) -> Array:
    found = data.get_label()
    return np.empty(0) if found is None else np.asarray(found)


def _offsets(data: Any) -> Array:
    found = data.get_init_score()
    return np.empty(0) if found is None else np.asarray(found)


def _groups(data: Any) -> Array:
    found = data.get_group()
    return np.empty(0) if found is None else np.asarray(found)


def _predictions(booster: Any, data: Any) -> Array:
    """Return the predictions of a model for data that it is trained on, or evaluated on.

    LightGBM keeps these predictions up to date, and shows them to metrics only.
    """
    shown: list[Array] = []

    def metric(predictions: Array, _: object) -> tuple[str, float, bool]:
        shown.append(np.array(predictions))
        return "", 0.0, False

    booster.eval(data, "", feval=metric)
    return shown[0]
