"""Which gradients ``DistributedDataParallel`` averages over the processes, and which it does not.

It averages the gradients of those parameters that it found when it was made, and only in a
backward pass for which its own ``forward()`` prepared its reducer. To call the model inside of it,
or to put a parameter into that model later, raises no error: the process then trains alone.

A script may also average by itself, by ``all_reduce``. What it sums between ``backward()`` and the
optimizer's step, of the shapes of the gradients, is taken for these, or for copies of them.

The reducer is asked by a wrapper around ``prepare_for_backward``, through which everybody goes who
has gradients averaged, also trainers that do not call ``forward()``. Nothing is put into the model.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

from ....capture.open_step import OpenStep
from ..internals import ddp_reducer, has_comm_hook
from ..models import Parameters
from ..observe import Observer
from ..process import is_one_of_several
from ..tensors import TrackedParameter

_COLLECTION = "loop"


@dataclass(slots=True, eq=False)
class _Replica:
    """A model in a ``DistributedDataParallel`` of several processes.

    Args:
        wrapper: The wrapper. When it is gone its model is trained by nobody but this process.
        averaged: The parameters that it found when it was made, by identity.
        is_whole: Whether it averages over all processes, in the way of torch.
        prepared: Whether gradients of a backward pass since the optimizer's last step were, or
            are going to be, averaged.
        withheld: Whether the model ran since then so that they are not, as in ``no_sync``.
    """

    wrapper: ReferenceType[DistributedDataParallel]
    averaged: dict[int, ReferenceType[torch.Tensor]]
    is_whole: bool
    prepared: bool = False
    withheld: bool = False

    def averages(self, parameter: torch.Tensor) -> bool:
        """Return whether it found this parameter when it was made."""
        found = self.averaged.get(id(parameter))
        return found is not None and found() is parameter

    def may_be_trained(self) -> bool:
        """Return whether any of its parameters is still there."""
        return any(parameter() is not None for parameter in self.averaged.values())

    def kind(self) -> str:
        """Return what becomes of the gradients of its model, a key of ``_KINDS``."""
        wrapper = self.wrapper()
        if wrapper is not None:
            self.is_whole &= not has_comm_hook(wrapper)
            self.withheld |= not wrapper.require_backward_grad_sync
        if self.is_whole and self.prepared:
            return "averaged"  # with those of micro-batches before, which were not by themselves
        return "unaveraged" if self.is_whole and not self.withheld else "local"


# What becomes of a gradient where several wrappers hold its parameter: the first that any says.
_KINDS = ("averaged", "local", "unaveraged")


class _Held(NamedTuple):
    """Parameters of an optimizer that the same wrappers know.

    Args:
        replicas: Those wrappers; none for parameters that are inside of one which does not.
        parameters: The parameters.
    """

    replicas: tuple[_Replica, ...]
    parameters: list[torch.Tensor]

    def kind(self) -> str:
        """Return what becomes of their gradients."""
        if not self.replicas:
            return "unregistered"
        return min((replica.kind() for replica in self.replicas), key=_KINDS.index)


class GradientAveraging:
    """Counts, by what is done to average them, the gradients that an optimizer uses.

    In the collection ``loop``, where a model is wrapped and several processes train:
    ``averaged_gradients``; ``unaveraged_gradients``, for which the reducer was not prepared;
    ``unregistered_gradients`` of parameters that the wrapper does not know;
    ``local_gradients``, which are kept apart on purpose, as far as can be seen: within
    ``no_sync``, with a communication hook, or in a group that is not all processes. And, without a
    wrapper, ``all_reduced``: of so many gradients the script summed a tensor of the same shape.

    Args:
        parameters: Who holds which parameters.
        observer: Turns numbers into rows.
        begin: Called before the first wrapper is known; until then nobody need call the others.
    """

    def __init__(
        self, parameters: Parameters, observer: Observer, begin: Callable[[], None]
    ) -> None:
        self._parameters, self._observer, self._begin = parameters, observer, begin
        self._has_begun = False
        self._replicas: list[_Replica] = []
        self._by_wrapper: dict[int, _Replica] = {}
        self._by_reducer: dict[int, _Replica] = {}
        # With the list of parameters that it was made from.
        self._held: WeakKeyDictionary[
            torch.optim.Optimizer, tuple[list[TrackedParameter], list[_Held]]
        ] = WeakKeyDictionary()
        self._numbers: dict[str, float] = {}
        # The shapes of what the script summed since gradients were computed.
        self._summed: Counter[tuple[int, ...]] = Counter()

    def scan(self) -> None:
        """Find wrappers that were made before anybody listened."""
        if not is_one_of_several():
            return
        for thing in gc.get_objects():
            # type(), not isinstance(): proxies may run code of their own when asked.
            if issubclass(type(thing), DistributedDataParallel):
                known = self._by_wrapper.get(id(thing))
                if known is None or known.wrapper() is not thing:
                    self.wrapped(thing)

    def wrapped(self, wrapper: DistributedDataParallel) -> None:
        """A model was wrapped."""
        reducer = ddp_reducer(wrapper)
        size = _size(wrapper)
        if reducer is None or size < 2:  # somebody else averages for it, or nobody has to
            return
        self._begin_once()
        self._replicas = [one for one in self._replicas if one.may_be_trained()]
        averaged = {
            id(parameter): ref(parameter)
            for name, parameter in wrapper.module.named_parameters()
            if parameter.requires_grad and name not in _ignored(wrapper)
        }
        is_whole = size == torch.distributed.get_world_size()
        replica = _Replica(ref(wrapper), averaged, is_whole)
        self._replicas.append(replica)
        self._by_wrapper[id(wrapper)] = self._by_reducer[id(reducer)] = replica
        self._held.clear()

    def _begin_once(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._begin()

    def summed(self, tensor: object) -> None:
        """The script asked for the sum of a tensor over the processes."""
        self._begin_once()
        if isinstance(tensor, torch.Tensor):
            self._summed[tuple(tensor.shape)] += 1

    def after_backward(self) -> None:
        """Gradients were computed; what is summed from here on may be these."""
        self._summed.clear()

    def prepared(self, reducer: object) -> None:
        """A reducer was prepared to average the gradients of the next backward pass."""
        replica = self._by_reducer.get(id(reducer))
        if replica is not None:
            replica.prepared = True

    def enter(self, module: torch.nn.Module) -> None:
        """A module begins to run."""
        replica = self._by_wrapper.get(id(module))
        if replica is not None and replica.wrapper() is module:
            synchronizes = getattr(module, "require_backward_grad_sync", True)
            replica.withheld |= torch.is_grad_enabled() and not synchronizes

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to use gradients."""
        summed, self._summed = self._summed, Counter()
        if not is_one_of_several() or not step.wants(_COLLECTION):
            return
        if not self._replicas:
            self._add(f"{_COLLECTION}/all_reduced", _num_covered(summed, self._used_by(optimizer)))
            return
        for held in self._held_by(optimizer):
            found = sum(1 for parameter in held.parameters if parameter.grad is not None)
            self._add(f"{_COLLECTION}/{held.kind()}_gradients", found)

    def _add(self, name: str, count: int) -> None:
        if count:
            self._numbers[name] = self._numbers.get(name, 0) + count

    def _used_by(self, optimizer: torch.optim.Optimizer) -> list[torch.Size]:
        """Return the shapes of the gradients that an optimizer is about to use."""
        tracked = self._parameters.of(optimizer)
        return [one.parameter.shape for one in tracked if one.parameter.grad is not None]

    def after_update(self, *carried: Any) -> None:
        """An optimizer has stepped.

        Args:
            carried: The optimizer comes last.
        """
        if not self._replicas:
            return
        found = self._held.get(carried[-1])
        for held in found[1] if found is not None else ():
            for replica in held.replicas:
                replica.prepared = replica.withheld = False

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        numbers, self._numbers = self._numbers, {}
        if numbers:
            self._observer.numbers(step, numbers, _COLLECTION)

    def _held_by(self, optimizer: torch.optim.Optimizer) -> list[_Held]:
        tracked = self._parameters.of(optimizer)
        known = self._held.get(optimizer)
        if known is None or known[0] is not tracked:
            held = self._find_held([one.parameter for one in tracked])
            known = self._held[optimizer] = tracked, held
        return known[1]

    def _find_held(self, parameters: list[torch.Tensor]) -> list[_Held]:
        """Return those of some parameters that wrappers know, or should, by what these are."""
        inside: set[int] = set()
        for replica in self._replicas:
            wrapper = replica.wrapper()
            if wrapper is not None:
                named = wrapper.module.named_parameters()
                inside |= {id(one) for name, one in named if name not in _ignored(wrapper)}
        found: dict[tuple[int, ...], _Held] = {}
        for parameter in parameters:
            replicas = tuple(one for one in self._replicas if one.averages(parameter))
            if replicas or id(parameter) in inside:
                held = found.setdefault(tuple(map(id, replicas)), _Held(replicas, []))
                held.parameters.append(parameter)
        return list(found.values())


def _num_covered(summed: Counter[tuple[int, ...]], used: Sequence[torch.Size]) -> int:
    """Return of how many gradients something of their shape was summed, alone or all in one.

    Example:
        >>> _num_covered(Counter({(2, 3): 1, (2,): 2}), [torch.Size([2, 3]), torch.Size([2])])
        2
        >>> _num_covered(Counter({(8,): 1}), [torch.Size([2, 3]), torch.Size([2])])
        2
        >>> _num_covered(Counter({(): 2}), [torch.Size([2, 3]), torch.Size([2])])
        0
    """
    if summed[(sum(shape.numel() for shape in used),)]:
        return len(used)
    wanted = Counter(tuple(shape) for shape in used)
    return sum(min(count, summed[shape]) for shape, count in wanted.items())


def _ignored(wrapper: DistributedDataParallel) -> Collection[str]:
    ignored: Collection[str] = getattr(wrapper, "parameters_to_ignore", ())
    return ignored


def _size(wrapper: DistributedDataParallel) -> int:
    size: int = wrapper.process_group.size()
    return size
