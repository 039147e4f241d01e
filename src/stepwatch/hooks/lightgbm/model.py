"""What can be read of a model of LightGBM."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from lightgbm.basic import LightGBMError

from ..boosting import Node, columns_of, shares

Array = npt.NDArray[np.generic]

_PARAMETER = re.compile(r"^\[(\w+): (.*)\]$", re.MULTILINE)


class LightGBMModel:
    """A model, as it is after a round.

    Args:
        booster: The model itself.
        number: The round.
        objective: What it is trained for, as its parameters say.
    """

    def __init__(self, booster: Any, number: int, objective: str) -> None:
        self._booster, self._number = booster, number
        #: How many classes it tells apart; 0 for none, 2 for a probability.
        self.num_classes = {"binary": 2}.get(objective, 0)
        if objective in ("multiclass", "multiclassova"):
            self.num_classes = booster.num_model_per_iteration()

    def hyperparameters(self) -> Mapping[str, str]:
        """Return what the model itself says it is trained with, defaults included."""
        return read_parameters(self._booster)

    def importances(self) -> Mapping[str, Array]:
        """Return the share of each feature that it uses, by kind and name, in XGBoost's words.

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
                for place, tree in enumerate(dump["tree_info"])
                for node in nodes_of(first + place, tree["tree_structure"], names)
            ]
        )

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
        return {name: values[..., place] for place, name in enumerate(names)}


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
