"""With which factor each loss enters what ``backward()`` is called on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

import torch

from .looking import in_transform

# Losses of one step; of more the sum is not known.
_MOST = 1024


class _Graph:
    """Lives as long as the graph of a loss."""

    __slots__ = ("__weakref__",)


class LossWeights:
    """Adds up the derivatives of what ``backward()`` is called on, by the losses of a step.

    A loss over each of four micro-batches, divided by four, makes a sum of 1. Autograd computes
    the derivatives anyway: a hook on the function that made a loss is given them. The loss itself
    stays as it is, so that it may be changed in place, saved, and differentiated as ever.
    """

    def __init__(self) -> None:
        #: Gradients are computed by ``backward()``; those of ``autograd.grad`` are not told of.
        self.is_in_backward = False
        self._found: list[float | torch.Tensor] = []
        self._graphs: WeakSet[_Graph] = WeakSet()

    @property
    def num_graphs(self) -> int:
        """Of how many losses the graph is still there."""
        return len(self._graphs)

    def watch(self, loss: torch.Tensor) -> None:
        """Look at the derivative by a loss of one element, once it is computed."""
        function: Any = loss.grad_fn if loss.requires_grad else None
        # What is differentiated several times is watched once.
        if function is None or _is_transformed() or self in function.metadata:
            return
        graph = function.metadata[self] = _Graph()
        self._graphs.add(graph)
        function.register_prehook(partial(self._note, loss.output_nr))

    def take(self, scale: torch.Tensor | None) -> float | torch.Tensor | None:
        """Return the sum since this was called last, divided by a scale; ``None`` if unknown.

        Returns:
            On an accelerator if the loss was there, shape ``[]``.
        """
        found, self._found = self._found, []
        tensors = [each for each in (*found, scale) if isinstance(each, torch.Tensor)]
        if not found or len({each.device for each in tensors if not each.is_cpu}) > 1:
            return None
        total = sum(found)
        total = total if scale is None else total / scale.detach()
        return total.reshape(()) if isinstance(total, torch.Tensor) else total

    def _note(self, place: int, gradients: Sequence[object]) -> None:
        """Called by autograd, perhaps in another thread, where nothing may be raised."""
        if not self.is_in_backward or torch.compiler.is_compiling() or _is_transformed():
            return
        gradient = gradients[place] if place < len(gradients) else None
        if type(gradient) is not torch.Tensor or gradient.numel() != 1:
            return
        try:
            seen = gradient.detach()
            # A copy, for autograd may add to it in place.
            self._found.append(float(seen) if seen.is_cpu else seen.clone())
        except Exception:  # noqa: BLE001  of gradients that are batched nothing can be read
            self._found = [math.nan]
        if len(self._found) > _MOST:
            self._found = [math.nan]


def _is_transformed() -> bool:
    """Return whether tensors are not what they seem: within vmap, or while a graph is traced."""
    is_traced = torch._C._len_torch_dispatch_stack() > 0
    return is_traced or in_transform()
