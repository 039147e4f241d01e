"""Gradients that the backward pass for one optimizer leaves in the parameters of another.

The loss of a generator is computed through the discriminator, so that its gradients are left there
as well, though nobody wants them. Where they are not set to zero the next update of the
discriminator has them in it, too. What lies before another, as a trunk before its heads, may be
meant to have the gradients of all; not where its own loss, by the same parameters behind it, pulls
the other way, as that of a generator that was not detached in the loss of its discriminator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import torch

from .autograd import owners_upstream
from .models import GradientMark, gradient_mark, has_gradient

#: Of what lies before another: so many gradients are compared with those of its own loss, of so
#: many elements each, and they pull the other way from this cosine on.
_MOST_COMPARED, _MOST_ELEMENTS = 4, 1 << 20
_OPPOSED = -0.2


class _Followed:
    """The parameters of an optimizer, since its last step.

    Args:
        parameters: Of it.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self.parameters = parameters
        #: Gradients that were there when another optimizer made use of them, by the parameter.
        self.left: dict[int, GradientMark] = {}
        #: Some of them as they were, where these lie before what the other one updates, and which.
        self.before: dict[int, torch.Tensor] = {}
        self.behind = 0
        #: Whether a loss of its own was added to these.
        self.is_added_to = False

    def marks(self, indexes: Sequence[int]) -> dict[int, GradientMark]:
        """Return what tells gradients from others, of those that are there."""
        found = ((index, gradient_mark(self.parameters[index])) for index in indexes)
        return {index: mark for index, mark in found if mark is not None}

    def keep(self, without: Sequence[torch.Tensor], *, behind: int) -> None:
        """Another optimizer, of these parameters, makes use of a backward pass.

        Args:
            without: Its parameters.
            behind: Its ``id``, where its parameters are behind these.
        """
        others = {id(one) for one in without}
        own = [i for i, one in enumerate(self.parameters) if id(one) not in others]
        self.left, self.is_added_to = self.marks(own), False
        small = [i for i in self.left if self.parameters[i].numel() <= _MOST_ELEMENTS]
        self.behind, kept = behind, small[:_MOST_COMPARED] if behind else []
        self.before = {i: self._gradient(i).clone() for i in kept}

    def count(self) -> int:
        """Return how many gradients hold what was left there, and are about to be made use of."""
        if not self.left or not self.is_added_to:
            return 0
        if not self.before:
            return len(self.left)
        pairs = [(left, self._gradient(i) - left) for i, left in self.before.items()]
        with_own, left, own = (
            sum(float((one * other).sum()) for one, other in of)
            for of in (pairs, [(one, one) for one, _ in pairs], [(one, one) for _, one in pairs])
        )
        return len(self.left) if with_own < _OPPOSED * math.sqrt(left * own) else 0

    def _gradient(self, index: int) -> torch.Tensor:
        gradient = self.parameters[index].grad
        assert gradient is not None
        return gradient.detach()

    def drop_zeroed(self) -> None:
        """Gradients are about to be added to: let go of those that were zeroed or replaced."""
        now = self.marks([*self.left])
        self.left = {index: mark for index, mark in now.items() if mark == self.left[index]}
        self.before = {index: one for index, one in self.before.items() if index in self.left}
        # Zeroing through .data leaves no mark; one gradient that is not zero speaks for all.
        if not any(has_gradient(self.parameters[index]) for index in self.left):
            self.left = {}


class LeftGradients:
    """Follows them, in training steps that are observed in full and follow each other."""

    def __init__(self) -> None:
        self._followed: WeakKeyDictionary[Any, _Followed] = WeakKeyDictionary()
        # Of the last loss: whose parameters it is computed by, and whose lie before these.
        self._upstream: dict[int, set[int]] = {}
        self._counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def forget(self) -> None:
        """Some steps are not followed."""
        self._followed.clear()
        self._counts.clear()
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
            is_first = self._upstream.get(id(owner), {0}) == set()
            is_through = not one.behind or id(owner) in self._upstream.get(one.behind, ())
            one.is_added_to |= is_first and is_through

    def steps(self, optimizer: Any, parameters: Sequence[torch.Tensor]) -> int | None:
        """An optimizer is about to step.

        Returns:
            How many gradients, at the last step of each optimizer, held what was left there for
            another; ``None`` where it is not known, and where there is no other.
        """
        before = self._followed.get(optimizer)
        for other, one in self._followed.items():
            is_before = id(optimizer) in self._upstream.get(id(other), ())
            lies_before = id(other) in self._upstream.get(id(optimizer), ())
            if is_before != lies_before:
                one.keep(parameters, behind=id(optimizer) if lies_before else 0)
        self._followed[optimizer] = _Followed(list(parameters))
        if before is None or len(self._followed) < 2:
            return None
        self._counts[optimizer] = before.count()
        return sum(self._counts.values())
