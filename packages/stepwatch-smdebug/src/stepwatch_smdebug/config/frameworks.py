"""The collections that a Debugger hook has built in, for each framework.

A collection without patterns is filled by the hook of its framework, or by the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stepwatch.errors import ConfigError, nearest
from stepwatch.formats.smdebug.collections import (
    RAW,
    SCALAR_COLLECTIONS,
    SavedCollection,
    SaveSteps,
    Stored,
)
from stepwatch.model.steps import Mode


@dataclass(frozen=True, slots=True)
class Framework:
    """What the hook of one framework has built in.

    Args:
        name: Its name.
        collections: The patterns of each built-in collection.
        included: Collections that are saved by default.
        interval: Every how many steps is saved by default.
    """

    name: str
    collections: Mapping[str, tuple[str, ...]]
    included: frozenset[str]
    interval: int = 500

    def unfilled(self, collections: Iterable[SavedCollection]) -> list[str]:
        """Return the names of collections that are not built in and can hold no tensor."""
        return [
            one.name
            for one in collections
            if one.name not in self.collections and not one.patterns and not one.tensors
        ]

    def warnings(self, collections: Iterable[SavedCollection]) -> list[str]:
        """Return a line for each collection that is not built in and can hold no tensor."""
        known = list(self.collections)
        return [
            f"collection {name!r} is none of those built in for {self.name} and has no "
            f"include_regex, so it would hold nothing{nearest(name, known)} (built in are "
            f"{', '.join(known)})"
            for name in self.unfilled(collections)
        ]


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


# PyTorch and MXNet: the names of gradients begin with "gradient".
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
        **dict.fromkeys(("all", "default", "weights"), ()),
        "biases": ("^(?!gradient).*bias",),
        **dict.fromkeys(("gradients", "losses", "metrics", "inputs", "outputs", "layers"), ()),
        **dict.fromkeys(("sm_metrics", "optimizer_variables", "tensorflow_summaries"), ()),
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
FRAMEWORKS: Mapping[str, Framework] = {
    one.name: one for one in (_PYTORCH, _TENSORFLOW, _MXNET, _XGBOOST)
}


def saved_collection(
    name: str,
    patterns: Iterable[str],
    tensors: Iterable[str],
    steps: Mapping[Mode, SaveSteps],
    stored: Stored,
    histogram: bool,
) -> SavedCollection:
    """Return a collection; one of scalars is stored as it is, as there is nothing to reduce.

    Raises:
        ConfigError: A pattern does not compile; the collection is named.
    """
    is_scalar = name in SCALAR_COLLECTIONS
    try:
        return SavedCollection(
            name,
            tuple(dict.fromkeys(patterns)),
            frozenset(tensors),
            steps,
            RAW if is_scalar else stored,
            histogram and not is_scalar,
        )
    except ConfigError as error:
        raise ConfigError(f"collection {name!r}: {error}") from None
