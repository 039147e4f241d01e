"""Updates that an optimizer is kept from making, because the gradients of the batch are bad.

An optimizer of torch passes over a parameter without a gradient: no moment, no step count and no
weight decay of it changes. So gradients are taken away while it steps, and given back after. What
the forward of the batch has left in buffers, such as running means, is undone as well.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import ref

import torch

from ...capture.control import Skips
from ...errors import ConfigError
from .ranks import distributed_rank

# Before so many norms are known none is far from the others.
LEAST_NORMS = 16
MOST_NORMS = 64
# A buffer that was the same after so many steps is taken for a constant.
_LOOKS = 8

Gradients = list[tuple[torch.Tensor, torch.Tensor]]


class BadUpdates:
    """Leaves out updates from gradients that are not finite, or far too large.

    It waits for an accelerator, once for each update.

    Args:
        spike: Also leave out those whose gradients have more than so many times the median norm
            of the last 64 updates; ``None`` for no such limit.
        skips: Asked whether an update that is bad is to be left out.

    Raises:
        ConfigError: Several processes train together.
    """

    def __init__(self, spike: float | None, skips: Skips) -> None:
        _, size = distributed_rank()
        if size > 1:
            raise ConfigError(
                f"{size} processes train together, and each would decide for itself what to skip"
            )
        self._spike, self._skips = spike, skips
        self._norms: dict[int, deque[float]] = {}
        self._taken: dict[int, Gradients] = {}
        self._buffers = _Buffers()

    def before(
        self,
        optimizer: torch.optim.Optimizer,
        args: Sequence[object],
        named: Mapping[str, object],
        step: int,
    ) -> bool:
        """Take the gradients away if they are bad; return whether they were.

        Args:
            optimizer: It is about to step.
            args: What its ``step`` is given, itself first.
            named: What its ``step`` is given by name.
            step: The global step.

        Raises:
            ConfigError: The optimizer computes its gradients while it steps.
        """
        if any(callable(value) for value in (*args[1:], *named.values())):
            raise ConfigError(
                f"{type(optimizer).__name__} is given a closure and computes gradients while it "
                "steps; its updates cannot be skipped"
            )
        if getattr(optimizer, "found_inf", None) is not None:
            return False  # a gradient scaler has told it whether to skip
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        given = [(p, p.grad) for p in parameters if p.grad is not None]
        why, measured = self._judge(id(optimizer), [gradient for _, gradient in given])
        if not why or not self._skips(step, why, measured):
            return False
        self._buffers.put_back()
        self._taken[id(optimizer)] = given
        for parameter, _ in given:
            parameter.grad = None
        return True

    def after(self, optimizer: torch.optim.Optimizer) -> None:
        """It has stepped: give the gradients back."""
        for parameter, gradient in self._taken.pop(id(optimizer), ()):
            if parameter.grad is None:
                parameter.grad = gradient

    def after_step(self, models: Iterable[torch.nn.Module]) -> None:
        """A step of these models is over: keep what is in their buffers."""
        self._buffers.keep(models)

    def _judge(self, optimizer: int, gradients: Sequence[torch.Tensor]) -> tuple[str, float]:
        """Return why gradients are bad, empty if they are not, and what was measured."""
        plain = [g._values() if g.is_sparse else g for g in map(torch.Tensor.detach, gradients)]
        plain = [gradient for gradient in plain if gradient.numel()]
        largest = largest_magnitude(plain)
        if not math.isfinite(largest):
            return "the gradients are not finite", largest
        if self._spike is None:
            return "", largest
        norm = norm_of(plain, largest)
        norms = self._norms.setdefault(optimizer, deque(maxlen=MOST_NORMS))
        usual = statistics.median(norms) if len(norms) >= LEAST_NORMS else math.inf
        if norm > self._spike * usual:
            return f"the gradients have the norm {norm:.4g}, usual is {usual:.4g}", norm
        norms.append(norm)
        return "", norm


@dataclass(slots=True)
class _Buffer:
    tensor: ref[torch.Tensor]
    values: torch.Tensor
    looks: int = 0
    has_changed: bool = False


class _Buffers:
    """Copies of the buffers of models, but for those that stay what they are, such as masks."""

    def __init__(self) -> None:
        self._kept: dict[int, _Buffer] = {}

    def keep(self, models: Iterable[torch.nn.Module]) -> None:
        """Copy the buffers as they are."""
        for buffer in (buffer for model in models for buffer in model.buffers()):
            kept = self._kept.get(id(buffer))
            # What is gone may have left its number to another.
            if kept is None or kept.tensor() is not buffer or kept.values.shape != buffer.shape:
                self._kept[id(buffer)] = _Buffer(ref(buffer), buffer.detach().clone())
            elif kept.has_changed:
                kept.values.copy_(buffer.detach())
            elif kept.looks < _LOOKS:
                # Its version does not tell: batch normalization changes buffers without it.
                kept.looks += 1
                kept.has_changed = not torch.equal(kept.values, buffer)
                kept.values.copy_(buffer.detach())

    def put_back(self) -> None:
        """Make the buffers what they were."""
        with torch.no_grad():
            for kept in self._kept.values():
                buffer = kept.tensor()
                if buffer is not None and (kept.has_changed or kept.looks < _LOOKS):
                    buffer.copy_(kept.values)


def largest_magnitude(tensors: Sequence[torch.Tensor]) -> float:
    """Return the largest magnitude in dense tensors; nan if one is in them, 0.0 for none."""
    if not tensors:
        return 0.0
    device = tensors[0].device
    each = [torch.linalg.vector_norm(one, math.inf).double().to(device) for one in tensors]
    return float(torch.stack(each).max())


def norm_of(tensors: Sequence[torch.Tensor], largest: float) -> float:
    """Return the 2-norm of dense tensors together.

    Args:
        tensors: Of any shapes, at least one element each.
        largest: The largest magnitude, finite: they are divided by it, so that no square
            overflows.
    """
    if largest == 0:
        return 0.0
    device = tensors[0].device
    each = [torch.linalg.vector_norm(one / largest).double().to(device) for one in tensors]
    return largest * float(torch.linalg.vector_norm(torch.stack(each)))
