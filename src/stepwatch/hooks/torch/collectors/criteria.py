"""Which way the loss of a module of the script pushes predictions of two classes.

A criterion that a script writes itself, such as a Dice loss, is a module without parameters that is
called with a prediction and its target. What it computes is not known, but the derivative of all
that is minimized by the prediction is: where it is above zero predictions are pushed down. Looked
at are predictions that the criterion makes probabilities of, with a sigmoid: what is a distance or
a similarity may be meant to fall where the target is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ....capture.open_step import OpenStep
from ..autograd import operation
from ..internals import has_dispatch_mode, in_transform, isolated_compute
from ..observe import Scalars
from ..tensors import tensors_in
from ..written_loss import MOST_ELEMENTS, Output, comes_from, is_reshape

_COLLECTION = "loop"
#: Of a criterion so many operations are looked at.
_MOST_OPERATIONS = 400
#: So many elements of both classes are looked at.
_LEAST = 8
#: So many calls are held until gradients are computed.
_MOST_CALLS = 4


@dataclass(slots=True)
class _Call:
    """A call of a criterion.

    Args:
        name: The class of its module.
        step: In which it was called.
        prediction: What it was given, without its graph,
        target: and the target, of as many elements.
        gradient: The derivative of what is minimized, once it is known.
    """

    name: str
    step: OpenStep
    prediction: torch.Tensor
    target: torch.Tensor
    gradient: torch.Tensor | None = None


class Criteria:
    """Observes the derivatives by predictions of the criteria that a script writes itself."""

    def __init__(self, scalars: Scalars) -> None:
        self._scalars = scalars
        self._calls: list[_Call] = []

    def returned(
        self,
        step: OpenStep,
        module: torch.nn.Module,
        given: Any,
        value: object,
        outputs: Sequence[Output],
    ) -> None:
        """A module outside of any model returned.

        Args:
            given: Its positional and its keyword arguments.
            outputs: Of the models that ran since gradients were computed.
        """
        name = type(module).__name__
        is_loss = type(value) is torch.Tensor and value.numel() == 1 and value.requires_grad
        if not is_loss or in_transform() or len(self._calls) >= _MOST_CALLS:
            return
        if not step.saves(f"loop/agreement/{name}", _COLLECTION):
            return
        tensors = [one for _, one in tensors_in(given) if type(one) is torch.Tensor]
        predictions = [one for one in tensors if one.grad_fn is not None]
        targets = [one for one in tensors if not one.requires_grad]
        if len(predictions) != 1 or len(targets) != 1:
            return
        (prediction,), (target,) = predictions, targets
        size = prediction.numel()
        if size != target.numel() or not 2 * _LEAST <= size <= MOST_ELEMENTS:
            return
        function: Any = prediction.grad_fn
        is_output = any(comes_from((function, prediction.output_nr), one) for one in outputs)
        is_here = prediction.device == target.device and not target.is_complex()
        if is_output and is_here and is_probability(value, prediction):  # type: ignore[arg-type]
            call = _Call(name, step, prediction.detach(), target.detach())
            self._calls.append(call)
            function.register_prehook(partial(self._note, call, prediction.output_nr))

    def after_backward(self) -> None:
        """Gradients were computed: observe which way predictions are pushed."""
        calls, self._calls = self._calls, []
        for call in calls:
            if call.gradient is not None:
                with isolated_compute(call.target.device.type):
                    found = agreement(call.prediction, call.target, call.gradient)
                names = tuple(f"loop/{what}/{call.name}" for what in ("pushed_apart", "agreement"))
                self._scalars.add_all(call.step, names, _COLLECTION, found)

    def forget(self, *_: object) -> None:
        """Observe no more of what was called."""
        self._calls.clear()

    @staticmethod
    def _note(call: _Call, index: int, gradients: Sequence[object]) -> None:
        """Called by autograd, perhaps in another thread, where nothing may be raised."""
        gradient = gradients[index] if index < len(gradients) else None
        if type(gradient) is not torch.Tensor or gradient.layout is not torch.strided:
            return
        if not (torch.compiler.is_compiling() or has_dispatch_mode() or in_transform()):
            # A copy, for autograd may add to it in place.
            call.gradient = gradient.detach().clone()


def agreement(
    prediction: torch.Tensor, target: torch.Tensor, gradient: torch.Tensor
) -> torch.Tensor:
    """Return what share of predictions is pushed away from its target, and how both agree now.

    Args:
        prediction: Any shape.
        target: 0 and 1, of as many elements.
        gradient: The derivative of what is minimized by the prediction.

    Returns:
        float64, shape ``[2]``: the smaller share of those with target 1 that are pushed down and
        of those with target 0 that are pushed up; and the correlation of both. nan where there are
        other targets, or fewer than ``_LEAST`` of a kind.
    """
    x, slope = (one.detach().reshape(-1).to(torch.float64) for one in (prediction, gradient))
    y = target.reshape(-1).to(torch.float64)
    is_one, is_zero = y == 1, y == 0
    ones, zeros = is_one.sum(), is_zero.sum()
    is_known = (ones + zeros == len(y)) & (torch.minimum(ones, zeros) >= _LEAST)
    down, up = (is_one & (slope > 0)).sum() / ones, (is_zero & (slope < 0)).sum() / zeros
    x, y = x - x.mean(), y - y.mean()
    correlation = (x * y).sum() / ((x * x).sum() * (y * y).sum()).sqrt()
    found = torch.stack([torch.minimum(down, up).to(torch.float64), correlation])
    return torch.where(is_known, found, torch.nan)


def is_probability(loss: torch.Tensor, prediction: torch.Tensor) -> bool:
    """Return whether a prediction is a probability that is multiplied, and not only 1 minus it.

    Args:
        loss: What was computed of it.
        prediction: Logits of which nothing but a sigmoid is taken; or probabilities.
    """
    users: dict[Any, set[Any]] = {}
    waiting: list[Any] = [loss.grad_fn]
    known = set(waiting)
    while waiting:
        node = waiting.pop()
        if node is prediction.grad_fn:
            continue
        for source, _ in node.next_functions:
            if source is not None:
                users.setdefault(source, set()).add(node)
            if source is not None and source not in known:
                known.add(source)
                waiting.append(source)
        if len(known) > _MOST_OPERATIONS:
            return False
    ends: Any = prediction.grad_fn
    while is_reshape(ends) and operation(ends) != "sigmoid":
        ends = ends.next_functions[0][0]
    of_it = {prediction.grad_fn} if operation(ends) == "sigmoid" else set()
    if not of_it:
        of_it = _users(prediction.grad_fn, users)
        if not of_it or any(operation(one) != "sigmoid" for one in of_it):
            return False
    after = {user for one in of_it for user in _users(one, users)}
    return any(operation(one) == "mul" for one in after)


def _users(node: Any, users: dict[Any, set[Any]]) -> set[Any]:
    """Return what uses what a node makes, behind what only gives it another shape."""
    found: set[Any] = set()
    waiting = list(users.get(node, ()))
    while waiting:
        one = waiting.pop()
        if is_reshape(one):
            waiting += users.get(one, ())
        else:
            found.add(one)
    return found
