"""Weights and gradients, as the optimizers hold them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ...record import TensorInfo
from .arrays import dtype_name
from .names import Names


@dataclass(slots=True)
class Tracked:
    """One parameter and what is said of it."""

    parameter: torch.Tensor
    weight: TensorInfo
    gradient: TensorInfo


class Optimizers:
    """Every optimizer that lives, in the order in which they were met.

    There is no hook for the making of an optimizer, so whoever steps for the first time makes
    us look at all objects once.
    """

    def __init__(self) -> None:
        self._known: list[weakref.ref[torch.optim.Optimizer]] = []

    def __iter__(self) -> Iterator[torch.optim.Optimizer]:
        return (optimizer for known in self._known if (optimizer := known()) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def index(self, optimizer: torch.optim.Optimizer) -> int:
        """Return the place of an optimizer, looking for new ones if it is not known."""
        for place, known in enumerate(self._known):
            if known() is optimizer:
                return place
        self.look()
        if not any(known() is optimizer for known in self._known):
            self._known.append(weakref.ref(optimizer))
        return self.index(optimizer)

    def look(self) -> None:
        """Find optimizers that were made since."""
        ours = {id(optimizer) for optimizer in self}
        for thing in gc.get_objects():
            # type(), not isinstance(): proxies may run code of their own when asked.
            is_optimizer = issubclass(type(thing), torch.optim.Optimizer)
            if is_optimizer and id(thing) not in ours and hasattr(thing, "param_groups"):
                self._known.append(weakref.ref(thing))


class Parameters:
    """Which parameters there are and who holds them, worked out again when that changes.

    Args:
        names: The names of the models' parameters.
        optimizers: Who holds them.
    """

    def __init__(self, names: Names, optimizers: Optimizers) -> None:
        self._names = names
        self._optimizers = optimizers
        self._structure: object = None
        self._of: dict[int, list[Tracked]] = {}
        self._free: list[Tracked] = []

    def of(self, optimizer: torch.optim.Optimizer) -> list[Tracked]:
        """Return the parameters of an optimizer, in its order."""
        self._update()
        return _current(self._of.get(id(optimizer), []))

    def free(self) -> list[Tracked]:
        """Return the models' parameters that no optimizer holds."""
        self._update()
        return _current(self._free)

    def _update(self) -> None:
        if self._now() != self._structure:
            self._rebuild()
            self._structure = self._now()

    def _now(self) -> object:
        groups = [
            [(id(group["params"]), len(group["params"])) for group in optimizer.param_groups]
            for optimizer in self._optimizers
        ]
        return self._names.version, groups

    def _rebuild(self) -> None:
        self._names.add_owners(
            parameter
            for optimizer in self._optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        )
        groups: dict[int, int] = {}
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    groups[id(parameter)] = groups.get(id(parameter), 0) + 1
        self._of = {}
        seen: set[int] = set()
        for place, optimizer in enumerate(self._optimizers):
            tracked = self._of.setdefault(id(optimizer), [])
            for group_place, group in enumerate(optimizer.param_groups):
                for index, parameter in enumerate(group["params"]):
                    if id(parameter) not in seen:
                        seen.add(id(parameter))
                        alone = f"optimizer/{place}/{group_place}/{index}"
                        name = self._names.parameters.get(id(parameter), alone)
                        tracked.append(_track(name, parameter, groups[id(parameter)]))
        self._free = [
            _track(name, parameter, 0)
            for name, parameter in self._names.named_parameters()
            if id(parameter) not in seen
        ]


def _track(name: str, parameter: torch.Tensor, groups: int) -> Tracked:
    shape, dtype = tuple(parameter.shape), dtype_name(parameter.dtype)
    weight = TensorInfo(name, "weights", dtype, shape, parameter.requires_grad, groups)
    return Tracked(
        parameter, weight, TensorInfo(f"gradient/{name}", "gradients", dtype, shape, None, None)
    )


def _current(tracked: list[Tracked]) -> list[Tracked]:
    """Return the same, with what may change of a parameter in place as it is now."""
    for index, one in enumerate(tracked):
        weight, parameter = one.weight, one.parameter
        if parameter.requires_grad is not weight.trainable or parameter.shape != weight.shape:
            tracked[index] = _track(weight.name, parameter, weight.optimizer_groups or 0)
    return tracked


Mark = tuple[int, int]


class Carried:
    """The gradients that nobody zeroed since their optimizer stepped.

    A gradient's address and version say whether it is the one that it was; both cost no look at
    its values.

    Args:
        tracked: The parameters of an optimizer that has just stepped.
    """

    def __init__(self, tracked: list[Tracked]) -> None:
        self._tracked = tracked
        self._marks = _marks(tracked)
        self._backwards = 0

    def before_backward(self) -> None:
        """Gradients are about to be added to: those that were zeroed or replaced are let go."""
        pairs = zip(self._marks, _marks(self._tracked), strict=True)
        self._marks = [mark if mark == now else None for mark, now in pairs]
        # Zeroing through .data leaves no mark; one gradient that is not zero speaks for all.
        if self._backwards == 0 and not any(map(self._is_not_zero, range(len(self._marks)))):
            self._marks = [None] * len(self._marks)

    def after_backward(self) -> None:
        """Gradients were added to: those that are still kept have a new mark."""
        self._backwards += 1
        pairs = zip(self._marks, _marks(self._tracked), strict=True)
        self._marks = [None if mark is None else now for mark, now in pairs]

    def count(self) -> int:
        """Return how many gradients hold what was there before the optimizer's last step."""
        return sum(mark is not None for mark in self._marks) if self._backwards else 0

    def _is_not_zero(self, index: int) -> bool:
        gradient = self._tracked[index].parameter.grad
        return self._marks[index] is not None and gradient is not None and bool(gradient.any())


def _marks(tracked: list[Tracked]) -> list[Mark | None]:
    gradients = [one.parameter.grad for one in tracked]
    return [
        (gradient.data_ptr(), gradient._version)
        if gradient is not None and gradient.layout is torch.strided
        else None
        for gradient in gradients
    ]
