"""How a loss was called: which of its arguments is what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

# The losses of torch that are functions as well as modules, as far as it matters which they are.
_FUNCTIONS: dict[type, str] = {
    nn.CrossEntropyLoss: "cross_entropy",
    nn.NLLLoss: "nll_loss",
    nn.BCELoss: "binary_cross_entropy",
    nn.BCEWithLogitsLoss: "binary_cross_entropy_with_logits",
    nn.CosineEmbeddingLoss: "cosine_embedding_loss",
    nn.MarginRankingLoss: "margin_ranking_loss",
    nn.TripletMarginLoss: "triplet_margin_loss",
    nn.TripletMarginWithDistanceLoss: "triplet_margin_with_distance_loss",
}
# Where the target stands, if it is not the second argument; a triplet has none.
_TARGETS = {
    "cosine_embedding_loss": 2,
    "margin_ranking_loss": 2,
    "triplet_margin_loss": -1,
    "triplet_margin_with_distance_loss": -1,
}
_IGNORE_INDEX_PLACE, _IGNORE_INDEX = 4, -100


@dataclass(frozen=True, slots=True)
class LossCall:
    """A call of a loss.

    Args:
        name: The function of ``torch.nn.functional``, or the class of the module.
        args: Its positional arguments.
        keywords: Its other arguments.
        module: The module, if one computed it.
    """

    name: str
    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    module: nn.Module | None = None

    @property
    def function(self) -> str:
        """The function that computes it, also where a module of torch does; else its name."""
        if self.module is None:
            return self.name
        known = (name for kind, name in _FUNCTIONS.items() if isinstance(self.module, kind))
        return next(known, self.name)

    @property
    def prediction(self) -> object:
        """The first argument: logits, probabilities, or whatever is compared with the target."""
        return self.keywords.get("input", self._argument(0))

    @property
    def target(self) -> object:
        """The target, ``None`` if there is none."""
        return self.keywords.get("target", self._argument(_TARGETS.get(self.function, 1)))

    @property
    def ignore_index(self) -> int:
        """The class of which nothing is asked."""
        if self.module is not None:
            return int(getattr(self.module, "ignore_index", _IGNORE_INDEX))
        given = self.keywords.get("ignore_index", self._argument(_IGNORE_INDEX_PLACE))
        return _IGNORE_INDEX if given is None else int(given)

    def _argument(self, place: int) -> Any:
        return self.args[place] if 0 <= place < len(self.args) else None
