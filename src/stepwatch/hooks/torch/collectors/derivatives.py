"""Derivatives by what a model was given, as a physics-informed network takes them.

Of derivatives that can be differentiated again, the functions that made them are marked in the
graph. So it can be told later whether a tensor is such a derivative, and whether a loss is made of
one, with no reference that keeps a graph alive.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...script import script_frames
from ..autograd import MOST_NODES, operation, piecewise_derivatives
from ..internals import in_backward, in_transform, isolated_compute
from ..models import Names, Optimizers
from ..observe import Observer, Scalars

COLLECTION = "setup"
#: In the metadata of a function: it made what was differentiated, or the derivative.
_MARK, _DERIVED, _DERIVATIVE = "stepwatch", "derived", "derivative"
# What takes a part of one tensor, adds it up, or multiplies it by a constant.
_SELECTIONS = frozenset({
    *("select", "slice", "narrow", "index", "unbind", "split", "split_with_sizes", "unsafe_split"),
    *("view", "reshape_alias", "unsafe_view", "alias", "squeeze", "unsqueeze", "expand"),
    *("t", "transpose", "permute", "clone", "sum", "mean", "neg", "mul", "div"),
})  # fmt: skip
# So many of these one after the other.
_MOST_SELECTIONS = 16


# What people call a penalty on gradients, as that of a Wasserstein GAN.
_PENALTY = re.compile(r"penal|(?<![a-z])gp(?![a-z])", re.IGNORECASE)


def _penalties() -> Iterator[str]:
    """Yield the function of the script that leads here, if it makes what it calls a penalty."""
    for frame in script_frames(1):
        code = frame.f_code
        is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
        words = (code.co_name, *code.co_varnames) if is_function else code.co_names
        if any(map(_PENALTY.search, words)):
            yield code.co_name if is_function else "the script"


class Derivatives:
    """Observes them in the collection ``setup``, of models that train.

    Args:
        names: Of the parameters: a derivative by one is another matter.
        optimizers: What these hold is trained, too.
        current: Returns the step to which what happens now belongs.
    """

    def __init__(
        self,
        names: Names,
        optimizers: Optimizers,
        observer: Observer,
        scalars: Scalars,
        current: Callable[[], OpenStep],
    ) -> None:
        self._names, self._optimizers = names, optimizers
        self._observer, self._scalars, self._current = observer, scalars, current
        # How many elements of second derivatives are not zero in this step, by activations.
        self._curved: dict[str, torch.Tensor] = {}
        # Whether a derivative of a derivative was computed in this step without a graph of its own.
        self._has_no_graph = False
        # What the gradients of this step were computed of.
        self._marks: set[str] = set()
        self._is_known = False
        # The last step that has such a derivative, and how many in a row do.
        self._last, self._streak = -1, 0

    def taken(
        self,
        outputs: object,
        inputs: object,
        derivatives: Sequence[torch.Tensor | None],
        *,
        makes_graph: bool,
    ) -> None:
        """``torch.autograd.grad`` returned.

        Args:
            makes_graph: Whether the derivatives can be differentiated again.
        """
        step = self._current()
        if in_transform() or step.mode is not Mode.TRAIN:
            return
        given = _listed(outputs)
        if not makes_graph:
            if not self._has_no_graph and not in_backward():
                by_inputs = not self._is_trained(_listed(inputs))
                self._has_no_graph = by_inputs and any(map(_is_derivative, _functions(given)))
                if by_inputs and step.wants(COLLECTION):
                    numbers = {f"setup/constant_penalty/{one}": 1.0 for one in _penalties()}
                    self._observer.numbers(step, numbers, COLLECTION)
            return
        if step.wants(COLLECTION):
            self._count_curved(given, derivatives)
        for function in _functions(given):
            for one in _selected(function):
                one.metadata.setdefault(_MARK, _DERIVED)
        for function in _functions(derivatives):
            function.metadata[_MARK] = _DERIVATIVE

    def _count_curved(self, given: Iterable[object], derivatives: Iterable[object]) -> None:
        """Count how many derivatives are not zero, if they are of derivatives of corners."""
        activations = piecewise_derivatives(given)
        if not activations:
            return
        key = f"setup/second_derivative/{'+'.join(activations)}"
        for one in derivatives:
            if type(one) is torch.Tensor:
                with isolated_compute(one.device.type):
                    count = one.detach().count_nonzero()
                    self._curved[key] = self._curved[key] + count if key in self._curved else count

    def before_backward(self, roots: object) -> None:
        """Gradients are about to be computed: see whether they are those of a derivative."""
        if self._has_no_graph:
            found = _marks_behind([roots] if isinstance(roots, torch.Tensor) else _listed(roots))
            self._is_known = found is not None
            self._marks |= found or set()

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        curved, self._curved = self._curved, {}
        # Where what was differentiated is part of the loss, and no derivative is, it may be that
        # the curve of a fit is printed.
        is_lost = self._has_no_graph and self._is_known
        is_lost &= _DERIVATIVE in self._marks or _DERIVED not in self._marks
        self._has_no_graph, self._is_known, self._marks = False, False, set()
        is_next = step.mode_step == self._last + 1
        self._streak = is_lost * (1 + self._streak * is_next)
        self._last = step.mode_step
        if not step.wants(COLLECTION):
            return
        for name, count in curved.items():
            self._scalars.add(step, name, COLLECTION, count)
        if self._streak > 1:
            self._observer.scalar(step, "setup/without_graph", self._streak, COLLECTION)

    def _is_trained(self, tensors: Iterable[object]) -> bool:
        """Return whether some are parameters, or held by an optimizer."""
        known = self._names.parameters
        held = {
            id(one)
            for optimizer in self._optimizers
            for group in optimizer.param_groups
            for one in group["params"]
        }
        return any(
            isinstance(one, torch.nn.Parameter) or id(one) in known or id(one) in held
            for one in tensors
        )


def _listed(given: Any) -> Sequence[object]:
    return (given,) if isinstance(given, torch.Tensor) else tuple(given)


def _functions(tensors: Iterable[object]) -> Iterator[Any]:
    """Yield what made the tensors that have a graph."""
    for one in tensors:
        if isinstance(one, torch.Tensor) and one.grad_fn is not None:
            yield one.grad_fn


def _selected(function: Any) -> Iterator[Any]:
    """Yield a function, and those before it of which it selects or adds up what they made."""
    for _ in range(_MOST_SELECTIONS):
        yield function
        before = [one for one, _ in function.next_functions if one is not None]
        if len(before) != 1 or operation(function) not in _SELECTIONS:
            return
        function = before[0]


def _is_derivative(function: Any) -> bool:
    return any(one.metadata.get(_MARK) == _DERIVATIVE for one in _selected(function))


def _marks_behind(roots: Iterable[object]) -> set[str] | None:
    """Return the marks in the graph of some tensors; ``None`` where it is too large to search."""
    left = list(_functions(roots))
    seen, found = set(left), set[str]()
    while left:
        if len(seen) > MOST_NODES:
            return None
        function = left.pop()
        if mark := function.metadata.get(_MARK):
            found.add(mark)
        for one, _ in function.next_functions:
            if one is not None and one not in seen:
                seen.add(one)
                left.append(one)
    return found
