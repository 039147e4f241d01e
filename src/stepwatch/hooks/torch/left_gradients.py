"""Gradients that the backward pass for one optimizer leaves in the parameters of another.

The loss of a generator is computed through the discriminator, so that its gradients are left there
as well, though nobody wants them. Where they are not set to zero the next update of the
discriminator has them in it, too. What lies before another, as a trunk before its heads, may be
meant to have the gradients of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import torch

from .autograd import owners_upstream
from .models import GradientMark, gradient_mark, has_gradient


class _Followed:
    """The parameters of an optimizer, since its last step.

    Args:
        parameters: Of it.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self.parameters = parameters
        #: Gradients that were there when another optimizer made use of them, by the parameter.
        self.left: dict[int, GradientMark] = {}
        #: Whether a loss of its own was added to these.
        self.is_added_to = False

    def marks(self, indexes: Sequence[int]) -> dict[int, GradientMark]:
        """Return what tells gradients from others, of those that are there."""
        found = ((index, gradient_mark(self.parameters[index])) for index in indexes)
        return {index: mark for index, mark in found if mark is not None}

    def keep(self, without: Sequence[torch.Tensor]) -> None:
        """Another optimizer, of these parameters, makes use of a backward pass."""
        others = {id(one) for one in without}
        own = [i for i, one in enumerate(self.parameters) if id(one) not in others]
        self.left, self.is_added_to = self.marks(own), False

    def drop_zeroed(self) -> None:
        """Gradients are about to be added to: let go of those that were zeroed or replaced."""
        now = self.marks([*self.left])
        self.left = {index: mark for index, mark in now.items() if mark == self.left[index]}
        # Zeroing through .data leaves no mark; one gradient that is not zero speaks for all.
        if not any(has_gradient(self.parameters[index]) for index in self.left):
            self.left = {}


class LeftGradients:
    """Follows them, in training steps that are observed in full and follow each other."""

    def __init__(self) -> None:
        self._followed: WeakKeyDictionary[Any, _Followed] = WeakKeyDictionary()
        # Of the last loss: whose parameters it is computed by, and whose lie before these.
        self._upstream: dict[int, set[int]] = {}

    def forget(self) -> None:
        """Some steps are not followed."""
        self._followed.clear()
        self._upstream = {}

    def before_backward(self, loss: object) -> None:
        """Gradients of a loss are about to be computed."""
        self._upstream = {}
        if len(self._followed) < 2:
            return
        followed = list(self._followed.items())
        for _, one in followed:
            one.drop_zeroed()
        owners = {id(p): id(owner) for owner, one in followed for p in one.parameters}
        if isinstance(loss, torch.Tensor) and loss.grad_fn is not None:
            with suppress(Exception):  # a graph of whatever kind
                self._upstream = owners_upstream(loss.grad_fn, owners)

    def after_backward(self) -> None:
        """They were computed."""
        for owner, one in self._followed.items():
            one.left = one.marks([*one.left])
            one.is_added_to |= self._upstream.get(id(owner), {0}) == set()

    def steps(self, optimizer: Any, parameters: Sequence[torch.Tensor]) -> int | None:
        """An optimizer is about to step.

        Returns:
            How many of its gradients hold what was left there for another; ``None`` where it is not
            known, and where there is no other.
        """
        before = self._followed.get(optimizer)
        for other, one in self._followed.items():
            is_before = id(optimizer) in self._upstream.get(id(other), ())
            if is_before and id(other) not in self._upstream.get(id(optimizer), ()):
                one.keep(parameters)
        self._followed[optimizer] = _Followed(list(parameters))
        if before is None or len(self._followed) < 2:
            return None
        return len(before.left) if before.is_added_to else 0
