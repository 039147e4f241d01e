"""Copies of what models and optimizers hold, to be put back in place.

Models and optimizers are referred to weakly, and their tensors are found by name or place. A weak
reference to a tensor would do harm: torch swaps no parameter that has one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from weakref import ref

import torch


@dataclass(frozen=True, slots=True)
class _Kept:
    """A tensor in the host's memory, and where it lies in the training."""

    values: torch.Tensor
    device: torch.device


class ModuleCopy:
    """The parameters and buffers of a module as they are now.

    Args:
        without: Identities of parameters that are copied elsewhere.
    """

    def __init__(self, module: torch.nn.Module, without: set[int]) -> None:
        self._module = ref(module)
        #: By name, in the host's memory.
        self.parameters = {
            name: _copied(parameter)
            for name, parameter in module.named_parameters()
            if id(parameter) not in without
        }
        self.buffers = {name: _copied(buffer) for name, buffer in writable_buffers(module)}

    def fits(self) -> bool:
        """Return whether the module is there, with tensors like these under their names."""
        now = self._now()
        kept = chain(self.parameters.items(), self.buffers.items())
        return all(name in now and alike(now[name], values) for name, values in kept)

    def put_back(self) -> None:
        """Make the tensors what they were; they fit."""
        now = self._now()
        with torch.no_grad():
            for name, values in chain(self.parameters.items(), self.buffers.items()):
                now[name].copy_(values)

    def _now(self) -> dict[str, torch.Tensor]:
        module = self._module()
        if module is None:
            return {}
        return dict(chain(module.named_parameters(), writable_buffers(module)))


class OptimizerCopy:
    """The parameters of an optimizer, what it keeps of them, and its settings, as they are now."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = ref(optimizer)
        groups, state = optimizer.param_groups, optimizer.state
        self._identities = _identities(optimizer)
        self._settings = [
            {name: _kept(value) for name, value in group.items() if name != "params"}
            for group in groups
        ]
        #: In the order of the groups, in the host's memory.
        self.parameters = [_copied(parameter) for group in groups for parameter in group["params"]]
        # Not asked for what it may lack: asking would make it, it is a defaultdict.
        self._state = [
            _kept(state[parameter]) if parameter in state else None
            for group in groups
            for parameter in group["params"]
        ]
        self._of_no_parameter = {
            name: _kept(value) for name, value in state.items() if not _is_tensor(name)
        }

    def tensors(self) -> Iterator[torch.Tensor]:
        """Yield the copies of parameters, and of what is kept of them."""
        yield from self.parameters
        yield from chain.from_iterable(map(_tensors_in, self._state))

    def fits(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether it is of this optimizer, which still holds the same parameters."""
        if optimizer is not self._optimizer() or _identities(optimizer) != self._identities:
            return False
        return all(map(alike, _parameters(optimizer), self.parameters))

    def put_back(self) -> None:
        """Make parameters and optimizer what they were; it fits."""
        optimizer: Any = self._optimizer()
        state = optimizer.state
        with torch.no_grad():
            for group, settings in zip(optimizer.param_groups, self._settings, strict=True):
                _restored(group, {**settings, "params": group["params"]})
            kept = zip(_parameters(optimizer), self.parameters, self._state, strict=True)
            for parameter, values, of_parameter in kept:
                parameter.copy_(values)
                if of_parameter is None:
                    state.pop(parameter, None)
                else:
                    state[parameter] = _restored(state.get(parameter), of_parameter)
            for name in [name for name in state if not _is_tensor(name)]:
                if name not in self._of_no_parameter:
                    del state[name]
            for name, value in self._of_no_parameter.items():
                state[name] = _restored(state.get(name), value)


def writable_buffers(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the buffers of a module by name, but for those that no one can write to.

    An expanded tensor, of which one number stands for many elements, is never changed in place.
    """
    for name, buffer in module.named_buffers():
        if not any(size > 1 and stride == 0 for size, stride in _strides(buffer)):
            yield name, buffer


def alike(now: torch.Tensor, values: torch.Tensor) -> bool:
    """Return whether a tensor can hold these values bit for bit."""
    return now.shape == values.shape and now.dtype == values.dtype


def _strides(tensor: torch.Tensor) -> Iterator[tuple[int, int]]:
    if tensor.layout is torch.strided:
        yield from zip(tensor.shape, tensor.stride(), strict=True)


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _identities(optimizer: torch.optim.Optimizer) -> list[list[int]]:
    return [list(map(id, group["params"])) for group in optimizer.param_groups]


def _is_tensor(thing: object) -> bool:
    return isinstance(thing, torch.Tensor)


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to("cpu", copy=True)


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _Kept(_copied(value), value.device)
    if isinstance(value, dict):
        return {name: _kept(inner) for name, inner in value.items()}
    return copy.deepcopy(value)


def _tensors_in(kept: object) -> Iterator[torch.Tensor]:
    if isinstance(kept, _Kept):
        yield kept.values
    elif isinstance(kept, Mapping):
        yield from chain.from_iterable(map(_tensors_in, kept.values()))


def _restored(now: Any, kept: Any) -> Any:
    """Return what was kept; mappings and tensors are the objects that are there, where they fit."""
    if kept is now:
        return now
    if isinstance(kept, _Kept):
        if isinstance(now, torch.Tensor) and alike(now, kept.values):
            return now.copy_(kept.values)
        return kept.values.to(kept.device, copy=True)
    if not isinstance(kept, dict):
        return copy.deepcopy(kept)
    target = now if isinstance(now, dict) else {}
    for name in [name for name in target if name not in kept]:
        del target[name]
    for name, value in kept.items():
        target[name] = _restored(target.get(name), value)
    return target
