"""Weights and gradients, as the optimizers hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch

from ...record import TensorInfo
from .arrays import dtype_name
from .names import Names
from .optimizers import Optimizers
from .sharded import part_of


@dataclass(slots=True)
class Tracked:
    """One parameter and what is said of it."""

    parameter: torch.Tensor
    weight: TensorInfo
    gradient: TensorInfo


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
        self._of: WeakKeyDictionary[torch.optim.Optimizer, list[Tracked]] = WeakKeyDictionary()
        self._free: list[Tracked] = []
        self._by_hand = False

    def of(self, optimizer: torch.optim.Optimizer) -> list[Tracked]:
        """Return the parameters of an optimizer, in its order."""
        self._update()
        return _current(self._of.get(optimizer, []))

    def free(self) -> list[Tracked]:
        """Return the models' parameters that no optimizer holds."""
        self._update()
        return _current(self._free)

    def are_updated_by_hand(self) -> bool:
        """Return whether no optimizer holds any parameter of the trained models."""
        self._update()
        if self._by_hand:
            self._optimizers.look_ever_more_rarely()
            self._update()
        return self._by_hand

    def _update(self) -> None:
        if self._now() != self._structure:
            self._rebuild()
            self._structure = self._now()

    def _now(self) -> object:
        groups = [
            [(id(group["params"]), len(group["params"])) for group in optimizer.param_groups]
            for optimizer in self._optimizers
        ]
        return self._names.version, self._optimizers.version, groups

    def _rebuild(self) -> None:
        num_groups = Counter(map(id, _parameters(self._optimizers)))
        self._names.refresh()
        self._names.add_owners(_parameters(self._optimizers.stepped))
        self._of = WeakKeyDictionary()
        for place, optimizer in enumerate(self._optimizers):
            self._of[optimizer] = [
                _track(
                    self._names.parameters.setdefault(
                        id(parameter), f"optimizer/{place}/{group_place}/{index}"
                    ),
                    parameter,
                    num_groups[id(parameter)],
                )
                for group_place, group in enumerate(optimizer.param_groups)
                for index, parameter in enumerate(group["params"])
            ]
        named = list(self._names.named_parameters())
        self._free = [
            _track(name, parameter, 0)
            for name, parameter in named
            if id(parameter) not in num_groups
        ]
        self._by_hand = 0 < len(self._free) == len(named)


def _parameters(optimizers: Iterable[torch.optim.Optimizer]) -> list[torch.Tensor]:
    """Return what these hold, once for each group that holds it."""
    # By identity: an optimizer inside of another shares its groups.
    groups = {id(group): group for each in optimizers for group in each.param_groups}
    return [parameter for group in groups.values() for parameter in group["params"]]


def _track(name: str, parameter: torch.Tensor, groups: int) -> Tracked:
    # A lazy parameter has no shape before its first forward.
    lazy = isinstance(parameter, torch.nn.UninitializedParameter)
    shape, dtype = () if lazy else tuple(parameter.shape), dtype_name(parameter.dtype)
    weight = TensorInfo(name, "weights", dtype, shape, parameter.requires_grad, groups)
    return Tracked(
        parameter, weight, TensorInfo(f"gradient/{name}", "gradients", dtype, shape, None, None)
    )


def _current(tracked: list[Tracked]) -> list[Tracked]:
    """Return the same, with what may change of a parameter in place as it is now."""
    for index, one in enumerate(tracked):
        weight, parameter = one.weight, one.parameter
        if isinstance(parameter, torch.nn.UninitializedParameter):
            continue
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
        marks = [_mark(one.parameter.grad) for one in tracked]
        self._kept = {place: mark for place, mark in enumerate(marks) if mark is not None}
        self._backwards = 0

    def before_backward(self) -> None:
        """Gradients are about to be added to: those that were zeroed or replaced are let go."""
        now = self._marks_now()
        self._kept = {place: mark for place, mark in self._kept.items() if mark == now[place]}
        # Zeroing through .data leaves no mark; one gradient that is not zero speaks for all.
        if self._backwards == 0 and not any(map(self._is_not_zero, self._kept)):
            self._kept = {}

    def after_backward(self) -> None:
        """Gradients were added to: those that are still kept have a new mark."""
        self._backwards += 1
        self._kept = {place: mark for place, mark in self._marks_now().items() if mark is not None}

    def count(self) -> int:
        """Return how many gradients hold what was there before the optimizer's last step."""
        return len(self._kept) if self._backwards else 0

    def _marks_now(self) -> dict[int, Mark | None]:
        return {place: _mark(self._tracked[place].parameter.grad) for place in self._kept}

    def _is_not_zero(self, place: int) -> bool:
        gradient = self._tracked[place].parameter.grad
        return gradient is not None and bool(part_of(gradient).tensor.any())


def _mark(gradient: torch.Tensor | None) -> Mark | None:
    if gradient is None:
        return None
    local = part_of(gradient).tensor
    if type(local) is not torch.Tensor or local.layout is not torch.strided:
        return None
    return local.data_ptr(), local._version
