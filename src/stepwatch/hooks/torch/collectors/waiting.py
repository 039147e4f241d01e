"""Optimizers that were made and never step, though gradients are computed for what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary, WeakSet

import torch

from ....capture.open_step import OpenStep
from ..models import GradientMark, Names, Optimizers, gradient_mark
from ..observe import Observer
from ..tensors import local_shard

_COLLECTION = "optimizer"
#: To see that something else updates a parameter, so many of its elements are looked at.
_COPIED = 8


class WaitingOptimizers:
    """Observes optimizers that have not stepped yet while another one does.

    Those whose parameters another one updates, or the script itself, are left over and of no
    interest. Looked at is what ``backward()`` leaves, as gradients may be zeroed before a step
    ends.

    Args:
        names: Of the parameters.
        optimizers: All that live.
    """

    def __init__(self, names: Names, optimizers: Optimizers, observer: Observer) -> None:
        self._names, self._optimizers, self._observer = names, optimizers, observer
        # Who zeroes gradients may be a wrapper around an optimizer, which shares its groups.
        self._zeroed: set[int] = set()
        self._got: WeakKeyDictionary[torch.optim.Optimizer, dict[int, torch.Tensor]] = (
            WeakKeyDictionary()
        )
        # What tells the gradient that each parameter had from others.
        self._had: WeakKeyDictionary[torch.optim.Optimizer, dict[int, GradientMark | None]] = (
            WeakKeyDictionary()
        )
        self._first: WeakKeyDictionary[torch.optim.Optimizer, torch.Tensor] = WeakKeyDictionary()
        self._left_over: WeakSet[torch.optim.Optimizer] = WeakSet()

    def zeroed(self, owner: object) -> None:
        """Gradients were set to zero, of a module or an optimizer."""
        self._zeroed.update(map(id, getattr(owner, "param_groups", ())))

    def after_backward(self) -> None:
        """Gradients were computed.

        Those of a model that was trained before, and is no more, are left as they were then.
        """
        for optimizer in self._waiting():
            got = self._got.setdefault(optimizer, {})
            had = self._had.setdefault(optimizer, {})
            is_zeroed = not self._zeroed.isdisjoint(map(id, optimizer.param_groups))
            for parameter in _held(optimizer):
                if not parameter.requires_grad or parameter.grad is None:
                    continue
                now = gradient_mark(parameter)
                if is_zeroed or now is None or had.get(id(parameter)) != now:
                    got[id(parameter)] = parameter
                had[id(parameter)] = now

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: observe which optimizers went without a step."""
        zeroed, self._zeroed = self._zeroed, set()
        if not self._got:
            return
        held = {id(one) for each in self._optimizers.stepped for one in _held(each)}
        for optimizer, got in self._got.items():
            if self._optimizers.has_stepped(optimizer) or not got:
                continue
            if not held.isdisjoint(got) or self._is_updated(optimizer, next(iter(got.values()))):
                self._left_over.add(optimizer)
                continue
            first = self._names.parameters.get(next(iter(got)), "")
            what = f"{type(optimizer).__name__}/{first}" if first else type(optimizer).__name__
            is_zeroed = not zeroed.isdisjoint(map(id, optimizer.param_groups))
            kind = "waiting_zeroed" if is_zeroed else "waiting"
            self._observer.scalar(step, f"optimizer/{kind}/{what}", float(len(got)), _COLLECTION)
        self._got.clear()

    def _waiting(self) -> Iterator[torch.optim.Optimizer]:
        stepped = self._optimizers.stepped
        for optimizer in self._optimizers if stepped else ():
            is_known = any(optimizer is one for one in stepped) or optimizer in self._left_over
            if not is_known:
                yield optimizer

    def _is_updated(self, optimizer: torch.optim.Optimizer, parameter: torch.Tensor) -> bool:
        """Return whether a parameter is not what it was when it had a gradient for the first time.

        As of one that is a copy for low precision, or that a script updates itself.
        """
        now = local_shard(parameter).tensor.detach().reshape(-1)[:_COPIED]
        before = self._first.setdefault(optimizer, now.clone())
        return before.shape != now.shape or not torch.equal(before, now)


def _held(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    return (one for group in optimizer.param_groups for one in group["params"])
