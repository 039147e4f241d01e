"""States of recurrent layers that are passed on without their graph at each step of a sequence.

Back-propagation through time that is truncated passes a state on without its graph where a chunk
begins, and what is within one backward pass keeps it. A layer that is called for one step at a time
and is given, each time, what it returned last, but detached, learns nothing over time.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .internals import isolated_compute

#: So many calls in one step of the training, all of them so.
_LEAST_CALLS = 4

_State = tuple[torch.Tensor, ...]


class RecurrentStates:
    """Compares states that recurrent layers are given with what they returned last; on the host."""

    def __init__(self) -> None:
        # Of each layer what it returned last in this step, how often it was called since, and
        # whether it was given that each time, without a graph.
        self._last: dict[str, tuple[_State, int, bool]] = {}

    def returned(
        self, module: torch.nn.Module, name: str, inputs: tuple[object, ...], output: object
    ) -> None:
        """A module returned.

        Args:
            inputs: What it was given by place: an input, and a state or a pair of them.
        """
        if not isinstance(module, (torch.nn.RNNCellBase, torch.nn.RNNBase)):
            return
        if isinstance(module, torch.nn.RNNBase):
            if not _is_one_step(module, inputs[:1]) or not isinstance(output, tuple):
                return
            output = output[1]
        new = _state(output)
        if not new or not new[0].is_cpu or new[0].grad_fn is None:
            return
        before, count, are_detached = self._last.get(name, ((), 0, True))
        if before and are_detached:
            with isolated_compute("cpu"):
                are_detached = _are_detached(_state(inputs[1] if len(inputs) > 1 else None), before)
        kept = tuple(one.detach() for one in new)
        self._last[name] = kept, count + bool(before), are_detached

    def complete(self) -> Iterator[str]:
        """Yield the layers that were given no state with a graph in a step, which ends."""
        for name, (_, count, are_detached) in self._last.items():
            if count >= _LEAST_CALLS and are_detached:
                yield name
        self._last = {}


def _state(value: object) -> _State:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(one for one in values if isinstance(one, torch.Tensor))


def _is_one_step(module: torch.nn.RNNBase, inputs: tuple[object, ...]) -> bool:
    given = inputs[0] if inputs else None
    if type(given) is not torch.Tensor or given.dim() not in (2, 3):
        return False
    return given.shape[1 if module.batch_first and given.dim() == 3 else 0] == 1


def _are_detached(given: _State, returned: _State) -> bool:
    """Return whether what is given is what was returned, and all of it without a graph."""
    return len(given) == len(returned) > 0 and all(
        not one.requires_grad and one.shape == other.shape and torch.equal(one, other)
        for one, other in zip(given, returned, strict=True)
    )
