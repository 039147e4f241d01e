"""The plan: what is saved of which tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from ..collection import BUILT_IN, Collection, default_policy
from ..save_policy import SavePolicy, Schedule
from ..steps import Mode

_NOTHING = SavePolicy(statistics=None)
_DEFAULT = SavePolicy()
_USUAL = [_DEFAULT]

#: What is saved of a tensor at a step: the sum of these. Statistics come with all the others.
NOTHING, STATISTICS, RAW, DIGEST, EXPONENTS = 0, 1, 2, 4, 8


class Plans(Protocol):
    """Answers what is saved of a tensor at a step."""

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return ``NOTHING``, or ``STATISTICS`` and what is added to it."""

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        """Return whether any tensor of a kind may be saved at a step: ask before looking."""


class Plan:
    """Answers what is saved of a tensor; every answer is worked out once.

    A collection of a built-in name takes the place of the default of that kind; of several of one
    name each adds its steps. A collection with patterns adds its policy for the tensors it matches,
    whatever else is saved of them, or takes them out if it saves nothing.

    Args:
        collections: What was asked beyond the default; see ``collection.default_policy``.
    """

    def __init__(self, collections: Sequence[Collection] = ()) -> None:
        asked: dict[str, list[SavePolicy]] = {}
        self._matched: list[tuple[list[re.Pattern[str]], SavePolicy]] = []
        for collection in collections:
            asked.setdefault(collection.name, []).append(collection.policy)
            if collection.patterns:
                patterns = [re.compile(pattern) for pattern in collection.patterns]
                self._matched.append((patterns, collection.policy))
        self._kinds = {name: asked.get(name, [default_policy(name)]) for name in BUILT_IN}
        self._policies: dict[str, tuple[SavePolicy, ...]] = {}
        self._schedules: dict[str, tuple[tuple[int, Schedule], ...]] = {}
        self._wanted: dict[str, tuple[Schedule, ...]] = {}
        # Most tensors have the default and are asked for at every step.
        self._always: set[str] = set()

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return what is saved of a tensor at a step; the modes are all alike.

        Returns:
            ``NOTHING``, or ``STATISTICS`` with any of ``RAW``, ``DIGEST`` and ``EXPONENTS`` added.
        """
        del mode
        if tensor in self._always:
            return STATISTICS
        schedules = self._schedules.get(tensor)
        if schedules is None:
            policies = self.policies(tensor, kind)
            if policies == (_DEFAULT,):
                self._always.add(tensor)
            schedules = self._schedules[tensor] = tuple(
                chosen for policy in policies for chosen in _schedules(policy)
            )
        level = NOTHING
        for bit, schedule in schedules:
            if schedule.wants(mode_step):
                level |= bit
        return level

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        """Return whether any tensor of a kind may be saved at a step, by default at any."""
        schedules = self._wanted.get(kind)
        if schedules is None:
            policies = [*self._kinds.get(kind, _USUAL), *(policy for _, policy in self._matched)]
            found = (schedule for policy in policies for _, schedule in _schedules(policy))
            schedules = self._wanted[kind] = tuple(dict.fromkeys(found))
        return any(mode_step is None or schedule.wants(mode_step) for schedule in schedules)

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
        return tuple(dict.fromkeys([*self._kinds.get(kind, _USUAL), *matched]))


def _schedules(policy: SavePolicy) -> Iterator[tuple[int, Schedule]]:
    """Yield the schedules of a policy with the level that each asks for."""
    for level, schedule in (
        (STATISTICS, policy.statistics),
        (STATISTICS | RAW, policy.raw),
        (STATISTICS | DIGEST, policy.digest),
        (STATISTICS | EXPONENTS, policy.exponents),
    ):
        if schedule is not None:
            yield level, schedule
