"""The plan: what is saved of which tensor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..collection import BUILT_IN, Collection
from ..save_policy import EVERY_STEP, SavePolicy

_NOTHING = SavePolicy(statistics=None)


class Plan:
    """Answers what is saved of a tensor; every answer is worked out once.

    A collection of a built-in name sets the policy of what is of that kind. A collection with
    patterns adds to it for the tensors it matches, or takes them out if it saves nothing.

    Args:
        collections: What was asked beyond the default, which is the statistics of every step.
    """

    def __init__(self, collections: Sequence[Collection] = ()) -> None:
        self._kinds = {name: SavePolicy() for name in BUILT_IN}
        self._matched: list[tuple[re.Pattern[str], SavePolicy]] = []
        for collection in collections:
            if collection.patterns:
                pattern = re.compile("|".join(f"(?:{text})" for text in collection.patterns))
                self._matched.append((pattern, collection.policy))
            else:
                self._kinds[collection.name] = collection.policy
        self._policies: dict[str, SavePolicy] = {}

    def policy(self, tensor: str, kind: str) -> SavePolicy:
        """Return what is saved of a tensor of this name and built-in kind, and when."""
        policy = self._policies.get(tensor)
        if policy is None:
            policy = self._policies[tensor] = self._work_out(tensor, kind)
        return policy

    def _work_out(self, tensor: str, kind: str) -> SavePolicy:
        own = self._kinds.get(kind, SavePolicy())
        for pattern, policy in self._matched:
            if not pattern.search(tensor):
                continue
            if policy == _NOTHING:
                return _NOTHING
            statistics = EVERY_STEP if own.statistics == EVERY_STEP else policy.statistics
            own = SavePolicy(statistics, policy.raw or own.raw)
        return own
