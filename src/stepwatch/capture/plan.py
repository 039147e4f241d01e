"""The plan: what is saved of which tensor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from ..collection import BUILT_IN, Collection
from ..save_policy import SavePolicy
from ..steps import Mode

_NOTHING = SavePolicy(statistics=None)
_DEFAULT = SavePolicy()

#: What is saved of a tensor at a step.
NOTHING, STATISTICS, RAW = range(3)


class Plans(Protocol):
    """Answers what is saved of a tensor at a step."""

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return ``NOTHING``, ``STATISTICS`` or ``RAW``."""


class Plan:
    """Answers what is saved of a tensor; every answer is worked out once.

    A collection of a built-in name sets the policy of what is of that kind. A collection with
    patterns adds its policy for the tensors it matches, whatever else is saved of them, or takes
    them out if it saves nothing.

    Args:
        collections: What was asked beyond the default, which is the statistics of every step.
    """

    def __init__(self, collections: Sequence[Collection] = ()) -> None:
        self._kinds = {name: SavePolicy() for name in BUILT_IN}
        self._matched: list[tuple[list[re.Pattern[str]], SavePolicy]] = []
        for collection in collections:
            if collection.name in self._kinds:
                self._kinds[collection.name] = collection.policy
            if collection.patterns:
                patterns = [re.compile(pattern) for pattern in collection.patterns]
                self._matched.append((patterns, collection.policy))
        self._policies: dict[str, tuple[SavePolicy, ...]] = {}
        # Most tensors have the default and are asked for at every step.
        self._always: set[str] = set()

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return what is saved of a tensor at a step: ``NOTHING``, ``STATISTICS`` or ``RAW``.

        Raw values come with statistics. The modes are all alike.
        """
        del mode
        if tensor in self._always:
            return STATISTICS
        policies = self.policies(tensor, kind)
        if policies == (_DEFAULT,):
            self._always.add(tensor)
        if any(policy.wants_raw(mode_step) for policy in policies):
            return RAW
        return STATISTICS if any(policy.wants(mode_step) for policy in policies) else NOTHING

    def policies(self, tensor: str, kind: str) -> tuple[SavePolicy, ...]:
        """Return the policies of a tensor of this name and built-in kind.

        It is saved at a step if one of them wants it.
        """
        policies = self._policies.get(tensor)
        if policies is None:
            policies = self._policies[tensor] = self._work_out(tensor, kind)
        return policies

    def _work_out(self, tensor: str, kind: str) -> tuple[SavePolicy, ...]:
        matched = [
            policy
            for patterns, policy in self._matched
            if any(pattern.search(tensor) for pattern in patterns)
        ]
        if _NOTHING in matched:
            return ()
        return tuple(dict.fromkeys([self._kinds.get(kind, SavePolicy()), *matched]))
