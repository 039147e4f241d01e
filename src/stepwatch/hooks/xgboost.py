"""The hook on XGBoost: on ``xgboost.train``, ``xgboost.cv``, and the estimators.

All of these make one container of callbacks for each training; what calls all callbacks knows the
data as well.
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import xgboost
from xgboost import collective
from xgboost.callback import CallbackContainer, EarlyStopping, TrainingCallback
from xgboost.core import XGBoostError

from ..capture.guard import guarded
from .base import timed
from .boosting.hook import BoostingHook
from .boosting.objectives import ObjectiveListener, with_objectives
from .boosting.rounds import (
    FIRST_ROWS,
    MOST_NUMBERS,
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

__all__ = ["XGBoostHook"]

Array = npt.NDArray[np.generic]


class RoundListener(Protocol):
    """Is notified after each round."""

    def after_round(
        self, container: Any, model: Any, number: int, train: Any, evals: Sequence[Any]
    ) -> bool:
        """A round is over; return whether the training is to stop."""


def _with_listeners(
    original: Callable[..., bool], listeners: list[RoundListener]
) -> Callable[..., bool]:
    @functools.wraps(original)
    def after_iteration(
        container: Any, model: Any, epoch: int, dtrain: Any, evals: Sequence[Any] | None
    ) -> bool:
        stop = original(container, model, epoch, dtrain, evals)
        for listener in tuple(listeners):
            stop = listener.after_round(container, model, epoch, dtrain, evals or ()) or stop
        return stop

    return after_iteration


# The tables that quantiles were made of, as long as the script has them.
_MADE_OF: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()


def _with_tables(original: Callable[..., None], _: list[RoundListener]) -> Callable[..., None]:
    @functools.wraps(original)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        with suppress(TypeError):  # it knows no weak references
            _MADE_OF[self] = weakref.ref(args[0] if args else kwargs.get("data"))

    return make


#: Those that listen to all trainings of this process.
trainings: ListenerPatches[RoundListener] = ListenerPatches(
    [
        (CallbackContainer, "after_iteration", _with_listeners),
        (xgboost.QuantileDMatrix, "__init__", _with_tables),
    ]
)


IMPORTANCES = ("weight", "gain", "cover", "total_gain", "total_cover")
# Of a model that is cut XGBoost 1.7 grows other trees afterwards, with tree_method approx.
_CAN_BE_CUT = int(xgboost.__version__.split(".")[0]) >= 2
_TREES = ("gbtree", "dart")
_OF_TWO = ("binary:logistic", "binary:hinge")


class XGBoostModel:
    """A model, as it is after a round.

    Args:
        config: What ``read_config`` returned of it.
    """

    def __init__(self, booster: Any, train: Any, number: int, config: Mapping[str, str]) -> None:
        self._booster, self._train, self._number = booster, train, number
        self._config = config
        #: How many classes it distinguishes; 0 for none, 2 for a probability.
        self.num_classes = (
            2 if config.get("objective") in _OF_TWO else int(config.get("num_class", 0))
        )
        self._has_trees = config.get("booster") in _TREES

    def hyperparameters(self) -> Mapping[str, str]:
        """Return the parameters of the model, defaults included."""
        return self._config

    def importances(self) -> Mapping[str, Array]:
        """Return the share of each feature that it uses, by kind and name."""
        found: dict[str, Array] = {}
        for kind in IMPORTANCES if self._has_trees else ():
            found |= shares(kind, self._booster.get_score(importance_type=kind))
        return found

    def trees(self) -> Mapping[str, Array]:
        """Return the nodes of the trees of this round; nothing without trees."""
        if not self._has_trees:
            return {}
        texts = _dump(self._booster, self._number)
        first = self._number * len(texts)
        nodes = [
            node
            for index, text in enumerate(texts)
            for node in sorted(_nodes(first + index, json.loads(text)), key=lambda one: one.node)
        ]
        return columns_of(nodes)

    def has_split(self) -> bool:
        """Return whether a tree of this round has a split; true for a model without trees."""
        if not self._has_trees:
            return True
        return any("split" in text for text in _dump(self._booster, self._number))

    def shap(self) -> Mapping[str, Array]:
        """Return what each feature adds to each prediction of the training data, and ``bias``.

        Returns:
            By feature, float32, shape ``[rows]``, or ``[rows, classes]``.
        """
        values = self._booster.predict(self._train, pred_contribs=True)
        names = [*_feature_names(self._booster), "bias"]
        return {name: values[..., index] for index, name in enumerate(names)}


def _dump(booster: Any, number: int) -> list[str]:
    options = {"with_stats": True, "dump_format": "json"}
    if _CAN_BE_CUT:  # to print all trees each time would take ever longer
        return list(booster[number : number + 1].get_dump(**options))
    texts = booster.get_dump(**options)
    return list(texts[-(len(texts) // (number + 1)) :])


def _feature_names(booster: Any) -> list[str]:
    """Return the names of the columns, made up as XGBoost does where they have none."""
    named = booster.feature_names
    return list(named) if named else [f"f{at}" for at in range(booster.num_features())]


def read_config(booster: Any) -> dict[str, str]:
    """Return the parameters of a model by name, as texts; with the values by default."""
    return dict(_leaves(json.loads(booster.save_config())["learner"]))


def mean_and_spread(score: Any) -> tuple[float, float | None]:
    """Return a score; over folds with its standard deviation."""
    if isinstance(score, tuple):
        return float(score[0]), float(score[1])
    return float(score), None


def _leaves(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _leaves(value)
        elif isinstance(value, str) and name != "name":
            yield name, value


def _nodes(tree: int, node: Mapping[str, Any]) -> Iterator[Node]:
    cover = float(node.get("cover", 0))
    if "leaf" in node:
        yield Node(tree, node["nodeid"], gain=float(node["leaf"]), cover=cover)
        return
    condition = node.get("split_condition")
    yield Node(
        tree,
        node["nodeid"],
        feature=str(node["split"]),
        split=0.0 if isinstance(condition, list | None) else float(condition),
        yes=node["yes"],
        no=node["no"],
        missing=node["missing"],
        gain=float(node.get("gain", 0)),
        cover=cover,
    )
    for child in node["children"]:
        yield from _nodes(tree, child)


#: What the data that are trained on are called where they are not evaluated.
TRAIN = "train"
# Of data that are kept as quantiles all is read, at most so many values; whole numbers come out as
# far off at most.
_MOST_READ, _OFF = 4_000_000, 1e-4


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
    trainings = trainings
    objectives: ClassVar[ListenerPatches[ObjectiveListener]] = ListenerPatches(
        [(xgboost.Booster, "update", with_objectives)]
    )

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
            self._observe_round(container, model, number, train, evals)
        return self.is_ended()

    @timed
    @guarded
    def _observe_round(
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
        trained = TrainedModel(
            XGBoostModel(model, train, number, self._config),
            _evaluated(model, train, evals),
            begins=begins,
            stops_by=_stops_by(container),
            censored=_censored(train, self._config.get("objective", "")) if begins else None,
            objective=self.known_of_objective(model),
        )
        self.observe_round(Round(number, metrics, shape, trained))


def _stops_by(container: Any) -> dict[str, float]:
    """Return the metrics that end a training early, by ``<data>-<metric>``: 1 if more is better.

    After the first round each callback knows which it takes, and what it takes for better.
    """
    return {
        f"{data}-{metric}": 1.0 if callback.maximize else -1.0
        for callback in container.callbacks
        if isinstance(callback, EarlyStopping)
        for data, metrics in callback.stopping_history.items()
        for metric in metrics
    }


def _censored(train: Any, objective: str) -> float | None:
    """Return the share of rows whose event was not seen; ``None`` if no such times are learnt."""
    if objective == "survival:aft":
        lower, upper = (train.get_float_info(f"label_{side}_bound") for side in ("lower", "upper"))
        return float(np.mean(lower != upper)) if len(lower) == len(upper) > 0 else None
    if objective == "survival:cox":
        labels = train.get_label()
        return float(np.mean(labels < 0)) if len(labels) else None
    return None


def _metrics(history: Mapping[str, Mapping[str, Any]], trains: Collection[str]) -> list[Metric]:
    """Return what was evaluated last, of each data and metric."""
    return [
        Metric(data, metric, *mean_and_spread(values[-1]), trains=data in trains)
        for data, metrics in history.items()
        for metric, values in metrics.items()
    ]


def _own_metrics(model: Any, train: Any, number: int) -> list[Metric]:
    """Evaluate the data that are trained on, where the script does not.

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


def _groups(data: Any) -> Array:
    """Return the sizes of the groups of rows that are ranked; empty for none."""
    return np.diff(np.asarray(data.get_uint_info("group_ptr"), np.int64))


def _whole(data: Any) -> Mapping[str, Array]:
    """Return all rows by feature; of quantiles, which are other numbers, what they are made of."""
    if isinstance(data, xgboost.QuantileDMatrix):
        made_of = _MADE_OF.get(data, lambda: None)()
        return table_columns(made_of, data.feature_names or _numbered(data))
    is_small = data.num_row() * data.num_col() <= MOST_NUMBERS
    return _columns(data, data.num_row()) if is_small else {}


def _numbered(data: Any) -> list[str]:
    return [f"f{number}" for number in range(data.num_col())]


def _columns(data: Any, most: int = FIRST_ROWS) -> Mapping[str, Array]:
    """Return the first rows by feature, float32, nan where a value is missing."""
    rows = min(data.num_row(), most)
    if isinstance(data, xgboost.QuantileDMatrix):  # which cannot be sliced
        if data.num_nonmissing() > _MOST_READ:
            return {}
        found = data.get_data()[:rows]
    else:
        found = data.slice(range(rows), allow_groups=True).get_data()
    table = np.full(found.shape, np.nan, np.float32)
    # What is not stored is missing, and not 0; of quantiles whole numbers are a little off.
    table[np.repeat(np.arange(rows), np.diff(found.indptr)), found.indices] = found.data
    near = np.round(table)
    table = np.where(np.abs(table - near) < _OFF, near, table)
    names = data.feature_names or _numbered(data)
    return dict(zip(names, table.T, strict=True))


def _evaluated(model: Any, train: Any, evals: Sequence[Any]) -> list[EvaluationSet]:
    """Return the data that are evaluated, and first those that are trained on."""
    named = {name: data for data, name in evals}
    if all(data is not train for data in named.values()):
        named = {TRAIN: train, **named}
    return [
        EvaluationSet(
            name,
            data is train,
            data.get_label,
            partial(model.predict, data),
            partial(_groups, data),
            partial(_columns, data),
            partial(_whole, data),
            data.get_base_margin,
        )
        for name, data in named.items()
    ]
