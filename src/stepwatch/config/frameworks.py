"""The collections that a Debugger hook knows by itself, for each framework.

A collection without patterns is filled by the hook of its framework, or by who uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ConfigError, nearest


@dataclass(frozen=True, slots=True)
class Framework:
    """What a hook of one framework brings along.

    Args:
        name: Its name.
        collections: The patterns of each built-in collection.
        included: Collections that are saved without being asked for.
        interval: Every so-manieth step is saved if nothing is said.
    """

    name: str
    collections: Mapping[str, tuple[str, ...]]
    included: frozenset[str]
    interval: int = 500


def framework(name: str) -> Framework:
    """Return the framework of this name.

    Raises:
        ConfigError: There is none.
    """
    try:
        return FRAMEWORKS[name]
    except KeyError:
        raise ConfigError(
            f"no framework {name!r}{nearest(name, FRAMEWORKS)} (there are {', '.join(FRAMEWORKS)})"
        ) from None


# What both name by itself: the names of gradients begin with "gradient".
_BY_NAME = {
    "all": (),
    "default": (),
    "weights": ("^(?!gradient).*weight",),
    "biases": ("^(?!gradient).*bias",),
    "gradients": ("^gradient",),
}
_PYTORCH = Framework(
    "pytorch", {**_BY_NAME, "losses": ("[Ll]oss_(?!input).*output",)}, frozenset({"losses"})
)
_MXNET = Framework(
    "mxnet", {**_BY_NAME, "losses": (".*loss._(?!input).*output",)}, frozenset({"losses"})
)
_TENSORFLOW = Framework(
    "tensorflow",
    {
        "all": (),
        "default": (),
        "weights": (),
        "biases": ("^(?!gradient).*bias",),
        "gradients": (),
        "losses": (),
        "metrics": (),
        "inputs": (),
        "outputs": (),
        "layers": (),
        "sm_metrics": (),
        "optimizer_variables": (),
        "tensorflow_summaries": (),
    },
    frozenset({"metrics", "losses", "sm_metrics"}),
)
_XGBOOST = Framework(
    "xgboost",
    {
        "all": (),
        "default": (),
        "hyperparameters": ("^hyperparameters/.*$",),
        "metrics": ("^[a-zA-z]+-[a-zA-z0-9]+$",),
        "losses": ("^[a-zA-z]+-.+(?<!(auc|map))$",),
        "predictions": ("^predictions$",),
        "labels": ("^labels$",),
        "feature_importance": ("^feature_importance/.*",),
        "average_shap": ("^average_shap/.*[^/bias]$",),
        "full_shap": ("^full_shap/.*[^/bias]$",),
        "trees": ("^trees/.*",),
    },
    frozenset({"metrics"}),
    interval=10,
)
#: All that there are, by name.
FRAMEWORKS: Mapping[str, Framework] = {
    one.name: one for one in (_PYTORCH, _TENSORFLOW, _MXNET, _XGBOOST)
}
