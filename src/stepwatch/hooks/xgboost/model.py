"""What can be read of a model of XGBoost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost

from ..boosting import Node, columns_of, shares

Array = npt.NDArray[np.generic]

IMPORTANCES = ("weight", "gain", "cover", "total_gain", "total_cover")
# Of a model that is cut XGBoost 1.7 grows other trees afterwards, with tree_method approx.
_CAN_BE_CUT = int(xgboost.__version__.split(".")[0]) >= 2
_TREES = ("gbtree", "dart")
_OF_TWO = ("binary:logistic", "binary:hinge")


class XGBoostModel:
    """A model, as it is after a round.

    Args:
        booster: The model itself.
        train: The data it is trained on.
        number: The round.
        config: What ``read_config`` returned of it.
    """

    def __init__(self, booster: Any, train: Any, number: int, config: Mapping[str, str]) -> None:
        self._booster, self._train, self._number = booster, train, number
        self._config = config
        #: How many classes it tells apart; 0 for none, 2 for a probability.
        self.num_classes = (
            2 if config.get("objective") in _OF_TWO else int(config.get("num_class", 0))
        )
        self._has_trees = config.get("booster") in _TREES

    def hyperparameters(self) -> Mapping[str, str]:
        """Return what the model itself says it is trained with, defaults included."""
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
            for place, text in enumerate(texts)
            for node in sorted(_nodes(first + place, json.loads(text)), key=lambda one: one.node)
        ]
        return columns_of(nodes)

    def shap(self) -> Mapping[str, Array]:
        """Return what each feature adds to each prediction of the training data, and ``bias``.

        Returns:
            By feature, float32, shape ``[rows]``, or ``[rows, classes]``.
        """
        values = self._booster.predict(self._train, pred_contribs=True)
        names = [*_feature_names(self._booster), "bias"]
        return {name: values[..., place] for place, name in enumerate(names)}


def _dump(booster: Any, number: int) -> list[str]:
    """Return the trees of one round, as JSON."""
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
