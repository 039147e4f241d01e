"""Where tensors stand in a step: their stage, their module, and when they were made."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakSet

from ..record import Layout

#: In the order in which they come to be. The weights of a step are those from before it.
STAGES = ("setting", "weight", "data", "output", "loss", "gradient", "update", "outcome")

_COLLECTIONS = {
    "setting": ("learning_rates", "optimizer", "optimizer_states", "loop"),
    "weight": ("weights", "buffers", "embeddings"),
    "data": ("inputs", "batches", "samples", "channels", "tokens", "labels", "classes"),
    "output": ("outputs", "activity", "attention", "routing", "predictions", "log_partition"),
    "loss": ("losses", "metrics", "scalars"),
    "gradient": ("gradients", "quantiles"),
    "update": ("updates",),
}
_STAGE_OF = {name: STAGES.index(stage) for stage, names in _COLLECTIONS.items() for name in names}

# What names begin with that stand for a parameter, and for a module.
_OF_PARAMETER = ("gradient", "update_ratio", "lost_updates", "update_rms", "row_norms", "quantiles")
_OF_MODULE = ("output", "input", "active", "inside", "attention", "routing", "token", "token_count")
_COLLECTION_OF = {
    "gradient": "gradients",
    "gradient_norm": "gradients",
    "update_ratio": "updates",
    "lost_updates": "updates",
    "update_rms": "optimizer_states",
    "row_norms": "embeddings",
    "output": "outputs",
    "input": "inputs",
    "active": "activity",
    "inside": "activity",
    "token": "tokens",
    "token_count": "tokens",
    "label": "labels",
    "prediction": "predictions",
    "sample": "samples",
    "batch": "batches",
    "confusion": "classes",
    "class_count": "classes",
    "loss": "losses",
    "learning_rate": "learning_rates",
    "scalar": "scalars",
}


class Places:
    """Knows the tensors of a run: what each is, and when it is made.

    Args:
        layouts: Of the steps of the run, in any order.
    """

    def __init__(self, layouts: Iterable[Layout] = ()) -> None:
        self._known: WeakSet[Layout] = WeakSet()
        self._collections: dict[str, str] = {}
        self._rows: dict[str, int] = {}
        for layout in layouts:
            self.add(layout)

    def add(self, layout: Layout) -> None:
        """Learn of the tensors of a step."""
        if layout in self._known:
            return
        self._known.add(layout)
        for row, tensor in enumerate(layout.tensors):
            self._collections[tensor.name] = tensor.collection
            # the first of its places, so that it does not matter which layout comes first
            self._rows[tensor.name] = min(row, self._rows.get(tensor.name, row))

    def __reduce__(self) -> tuple[type[Places], tuple[()], dict[str, object]]:
        """Go to another process without the layouts, of which no more will be heard there."""
        return Places, (), {"_collections": self._collections, "_rows": self._rows}

    @property
    def collections(self) -> frozenset[str]:
        """The built-in collections of which a tensor was seen."""
        return frozenset(self._collections.values())

    def missing(self, stage: int) -> str:
        """Return the main collection of a stage of which nothing was seen, or ``""``."""
        names = _COLLECTIONS.get(STAGES[stage], ())
        return "" if not names or self.collections.intersection(names) else names[0]

    def stage(self, tensor: str) -> int:
        """Return the place of a tensor's stage in ``STAGES``; what is not known comes last."""
        prefix = tensor.partition("/")[0]
        collection = self._collections.get(tensor) or _COLLECTION_OF.get(prefix, prefix)
        return _STAGE_OF.get(collection, len(STAGES))

    def position(self, tensor: str) -> int:
        """Return when a tensor is made within its step; what is not known comes last."""
        return self._rows.get(tensor, len(self._rows))

    def made_by(self, tensor: str) -> int | None:
        """Return when the module ends that a tensor belongs to; ``None`` if that is not known."""
        prefix, _, rest = tensor.partition("/")
        if prefix in _OF_MODULE:
            module = rest.partition("/")[0]
        else:
            module = subject(tensor).rpartition(".")[0]
        return self._rows.get(f"output/{module}")


def subject(tensor: str) -> str:
    """Return the parameter or module that a tensor is about.

    Example:
        >>> subject("gradient/fc.weight"), subject("active/relu"), subject("loss/mse_loss")
        ('fc.weight', 'relu', 'loss/mse_loss')
    """
    prefix, _, rest = tensor.partition("/")
    if prefix in _OF_PARAMETER:
        return subject(rest)
    return rest.partition("/")[0] if prefix in _OF_MODULE else tensor
