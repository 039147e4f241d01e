"""A plan that saves more than another one, for some steps."""

from __future__ import annotations

from collections.abc import Sequence

from ..collection import Collection
from ..steps import Mode
from .plan import Plan, Plans


class More:
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
        """Return what is saved of a tensor at a step; see ``Plan.level``."""
        level = self.plan.level(tensor, kind, mode, mode_step)
        if mode is Mode.TRAIN and self._is_on(mode_step) and self._holds(tensor, kind):
            level |= self._more.level(tensor, kind, mode, mode_step - self._first)
        return level

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        """Return whether any tensor of a kind may be saved at a step; see ``Plan.wants``."""
        if self.plan.wants(kind, mode_step):
            return True
        on = mode_step is None or self._is_on(mode_step)
        return on and self._more.wants(kind, mode_step and mode_step - self._first)

    def _holds(self, tensor: str, kind: str) -> bool:
        # Of others it would save what is saved by default, and that was for the plan to say.
        return any(collection.holds(tensor, kind) for collection in self._collections)

    def _is_on(self, mode_step: int) -> bool:
        return self._first <= mode_step < self.last


def without_past(plan: Plans, mode_step: int) -> Plans:
    """Return what is left of a plan when this TRAIN step is the next."""
    while isinstance(plan, More) and plan.last <= mode_step:
        plan = plan.plan
    return plan
