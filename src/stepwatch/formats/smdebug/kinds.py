"""What kind of tensor a name stands for, in our words: from its collections and from its form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...collection import BUILT_IN
from ...hook_config import SavedCollection
from .reductions import PREFIX

# The first that holds decides: a loss is an output too, and what matters of it is the loss.
_LOSSES = {"losses": "losses"}
_GRADIENTS = {"gradients": "gradients"}
_OTHERS = {
    "weights": "weights",
    "biases": "weights",
    "metrics": "metrics",
    "sm_metrics": "metrics",
    "optimizer_variables": "optimizer",
    "outputs": "outputs",
    "inputs": "inputs",
}
_NAMES = (
    (re.compile(r"^scalar/"), "scalars"),
    (re.compile(r"(_output_\d+|/outputs(:\d+)?)$"), "outputs"),
    (re.compile(r"(_input_\d+|/inputs(:\d+)?)$"), "inputs"),
)


def kind_of(name: str, collections: Mapping[str, SavedCollection]) -> str:
    """Return which of ``collection.BUILT_IN`` a tensor belongs to.

    Args:
        name: Its name.
        collections: Those of the run, by name.
    """
    if name.startswith(PREFIX):
        return "scalars"
    for known in (_LOSSES, _GRADIENTS):
        if kind := _held(name, collections, known):
            return kind
    # Our own hook notes every tensor under what it is.
    for own in BUILT_IN:
        if own in collections and name in collections[own].tensors:
            return own
    # Before the patterns: those of weights also find the outputs of a module called weight.
    for pattern, kind in _NAMES:
        if pattern.search(name):
            return kind
    return _held(name, collections, _OTHERS) or "tensors"


def _held(name: str, collections: Mapping[str, SavedCollection], known: Mapping[str, str]) -> str:
    for collection, kind in known.items():
        if collection in collections and collections[collection].holds(name):
            return kind
    return ""
