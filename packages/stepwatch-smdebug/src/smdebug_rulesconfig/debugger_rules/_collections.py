"""The collections that rules want to be saved."""

from __future__ import annotations

from typing import TypedDict


class CollectionParameters(TypedDict, total=False):
    """When and what to save; every value is a text, as the job layer passes them."""

    include_regex: str
    save_interval: str
    save_steps: str


class CollectionConfiguration(TypedDict):
    """One collection that is to be saved."""

    CollectionName: str
    CollectionParameters: CollectionParameters


def collection(name: str, **parameters: str) -> CollectionConfiguration:
    """Return the configuration of one collection."""
    return {"CollectionName": name, "CollectionParameters": {**parameters}}  # type: ignore[typeddict-item]


_EVERY_500 = "500"
_PATTERNS: dict[str, str | None] = {
    "weights": None,
    "gradients": None,
    "losses": None,
    "feature_importance": None,
    "input_image": ".*hybridsequential0_input_0",
    "relu_output": ".*relu_output",
    "relu_input": ".*relu_input",
    "input_sequence": ".*embedding0_input_0",
}


def get_collection(collection_name: str) -> CollectionConfiguration | None:
    """Return a collection that some rule wants, saved every 500 steps; ``None`` for others.

    Example:
        >>> get_collection("relu_input")["CollectionParameters"]
        {'save_interval': '500', 'include_regex': '.*relu_input'}
    """
    if collection_name not in _PATTERNS:
        return None
    pattern = _PATTERNS[collection_name]
    regex = {} if pattern is None else {"include_regex": pattern}
    return collection(collection_name, save_interval=_EVERY_500, **regex)
