"""A tensor that was met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Met:
    """A tensor that was met in a step, not read yet.

    Args:
        name: Its name.
        collection: Which built-in collection it belongs to.
        value: It, in the backend's own kind.
        trainable: Whether gradients are wanted for it; ``None`` for what is no parameter.
    """

    name: str
    collection: str
    value: Any
    trainable: bool | None = None
