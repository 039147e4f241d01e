"""The plan: what is saved of which tensor at which step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from ..model.collection import BUILT_IN, Collection, default_policy
from ..model.save_policy import EVERY_STEP, SavePolicy, Schedule
from ..model.steps import Mode

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
        """Return whether any tensor of a kind may be saved at a step, by default at any.

        Ask it before computing anything.
        """


class Plan:
    """Answers what is saved of a tensor; every answer is computed once.

    A collection of a built-in name replaces the default policy of that kind; of several of one
    name each adds its steps. A collection with patterns adds its policy for the tensors that it
    matches, whatever else is saved of them, or leaves them out if it saves nothing.

    Args:
        collections: What was requested; see ``collection.default_policy`` for the rest.
    """

    def __init__(self, collections: Sequence[Collection] = ()) -> None:
        requested: dict[str, list[SavePolicy]] = {}
        self._matched: list[tuple[list[re.Pattern[str]], SavePolicy]] = []
        for collection in collections:
            requested.setdefault(collection.name, []).append(collection.policy)
            if collection.patterns:
                patterns = [re.compile(pattern) for pattern in collection.patterns]
                self._matched.append((patterns, collection.policy))
        self._kinds = {name: requested.get(name, [default_policy(name)]) for name in BUILT_IN}
        self._policies: dict[str, tuple[SavePolicy, ...]] = {}
        self._schedules: dict[str, tuple[tuple[int, Schedule], ...]] = {}
        #: Of these kinds something may be saved at every step; there may be others.
        self.always_wanted: set[str] = set()
        self._wanted: dict[str, tuple[Schedule, ...]] = {}
        #: Of these tensors statistics are saved at every step, and nothing else: of most.
        self.always: set[str] = set()

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return what is saved of a tensor at a step; the modes are all alike.

        Returns:
            ``NOTHING``, or ``STATISTICS`` with any of ``RAW``, ``DIGEST`` and ``EXPONENTS`` added.
        """
        del mode
        if tensor in self.always:
            return STATISTICS
        schedules = self._schedules.get(tensor)
        if schedules is None:
            policies = self.policies(tensor, kind)
            if policies == (_DEFAULT,):
                self.always.add(tensor)
            schedules = self._schedules[tensor] = tuple(
                chosen for policy in policies for chosen in _schedules(policy)
            )
        level = NOTHING
        for bit, schedule in schedules:
            if schedule.wants(mode_step):
                level |= bit
        return level

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        if kind in self.always_wanted:
            return True
        if kind not in self._wanted:
            policies = [*self._kinds.get(kind, _USUAL), *(policy for _, policy in self._matched)]
            found = (schedule for policy in policies for _, schedule in _schedules(policy))
            self._wanted[kind] = tuple(dict.fromkeys(found))
            if EVERY_STEP in self._wanted[kind]:
                self.always_wanted.add(kind)
        for schedule in self._wanted[kind]:  # any() would take twice as long, at each step
            if mode_step is None or schedule.wants(mode_step):
                return True
        return False

    def policies(self, tensor: str, kind: str) -> tuple[SavePolicy, ...]:
        """Return the policies of a tensor of this name and built-in kind.

        It is saved at a step if one of them wants it.
        """
        policies = self._policies.get(tensor)
        if policies is None:
            policies = self._policies[tensor] = self._find_policies(tensor, kind)
        return policies

    def _find_policies(self, tensor: str, kind: str) -> tuple[SavePolicy, ...]:
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


class PlanOverlay:
    """Saves what a plan saves, and in some TRAIN steps more.

    Args:
        plan: The plan.
        collections: What is saved beyond it.
        first: The first TRAIN step with more, counted within TRAIN.
        last: The first TRAIN step that is as before.
    """

    def __init__(
        self, plan: Plans, collections: Sequence[Collection], *, first: int, last: int
    ) -> None:
        self.plan = plan
        self.last = last
        self._first = first
        self._collections = tuple(collections)
        self._more = Plan(collections)

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        level = self.plan.level(tensor, kind, mode, mode_step)
        if mode is Mode.TRAIN and self._is_on(mode_step) and self._holds(tensor, kind):
            level |= self._more.level(tensor, kind, mode, mode_step - self._first)
        return level

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        if self.plan.wants(kind, mode_step):
            return True
        on = mode_step is None or self._is_on(mode_step)
        return on and self._more.wants(kind, mode_step and mode_step - self._first)

    def _holds(self, tensor: str, kind: str) -> bool:
        # Of others it would save what is saved by default, and that was for the plan to say.
        return any(collection.holds(tensor, kind) for collection in self._collections)

    def _is_on(self, mode_step: int) -> bool:
        return self._first <= mode_step < self.last


def drop_expired(plan: Plans, mode_step: int) -> Plans:
    """Return what is left of a plan when this TRAIN step is the next."""
    while isinstance(plan, PlanOverlay) and plan.last <= mode_step:
        plan = plan.plan
    return plan
