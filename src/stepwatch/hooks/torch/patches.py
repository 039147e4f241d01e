"""What has no hook of its own is wrapped: functional losses, backward, clipping, scaling.

A wrapper calls the original with the very same arguments, returns its very result, and tells
the hook what passed. Inside a graph that is being compiled or scripted it is not there.

Scripts hold functional losses by themselves (``from torch.nn.functional import cross_entropy``)
and models that are pickled hold them too, so these stay the very functions that they are: only
their code is exchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

import torch

LOSSES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
)


class Watcher(Protocol):
    """What the wrappers tell."""

    def saw_loss(self, name: str, value: object) -> None:
        """A functional loss returned."""

    def before_backward(self, roots: object) -> None:
        """Gradients are about to be computed."""

    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""

    def saw_clipping(self, norm: object, max_norm: object) -> None:
        """Gradients were clipped by their norm."""

    def before_scaled_step(self) -> int:
        """A gradient scaler is about to step an optimizer; return how many steps there were."""

    def after_scaled_step(self, optimizer: torch.optim.Optimizer, steps_before: int) -> None:
        """It did, or skipped it."""


class Patches:
    """The wrappers, while they are in place.

    Args:
        watcher: Who is told.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._undo: list[Callable[[], None]] = []
        for name in LOSSES:
            function = getattr(torch.nn.functional, name, None)
            if isinstance(function, FunctionType) and not function.__closure__:
                self._enter(function, _loss_wrapper(watcher, name))
        self._wrap(torch.autograd, "backward", _backward_wrapper(watcher))
        for module in (torch.nn.utils, torch.nn.utils.clip_grad):
            self._wrap(module, "clip_grad_norm_", _clipping_wrapper(watcher))
        if hasattr(torch.amp, "GradScaler"):
            self._wrap(torch.amp.GradScaler, "step", _scaler_wrapper(watcher))

    def remove(self) -> None:
        """Put the originals back, but for what somebody else wrapped in the meantime."""
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put a wrapper in the place of a function."""
        original = getattr(owner, name)
        wrapper: Any = functools.wraps(original)(make(original))
        _let_script_see(wrapper, original)
        setattr(owner, name, wrapper)

        def undo() -> None:
            if getattr(owner, name) is wrapper:
                setattr(owner, name, original)

        self._undo.append(undo)

    def _enter(self, function: FunctionType, make: Callable[[Any], Any]) -> None:
        """Make a function call a wrapper of what it was; it stays the same object."""
        original = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__
        )
        original.__kwdefaults__ = function.__kwdefaults__
        functools.update_wrapper(original, function)
        del original.__dict__["__wrapped__"]
        attributes = dict(function.__dict__)
        wrapper = make(original)
        function.__code__ = _call.__code__
        function.__defaults__ = None
        function.__kwdefaults__ = {"_stepwatch": wrapper}
        # For inspect, and so for torch.jit.script: signature and source are those of the original.
        function.__dict__["__wrapped__"] = original

        def undo() -> None:
            if (function.__kwdefaults__ or {}).get("_stepwatch") is wrapper:
                function.__code__ = original.__code__
                function.__defaults__ = original.__defaults__
                function.__kwdefaults__ = original.__kwdefaults__
                function.__dict__.clear()
                function.__dict__.update(attributes)

        self._undo.append(undo)


def _call(*args: Any, _stepwatch: Any, **kwargs: Any) -> Any:
    return _stepwatch(*args, **kwargs)


def _let_script_see(wrapper: Any, original: Any) -> None:
    """Let torch.jit.script compile the original in the wrapper's place."""
    # By string: a class would mangle the names.
    setattr(wrapper, "__original_fn", original)
    setattr(wrapper, "__script_if_tracing_wrapper", True)


def _loss_wrapper(watcher: Watcher, name: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def loss(*args: Any, **kwargs: Any) -> Any:
            value = original(*args, **kwargs)
            if not torch.compiler.is_compiling():
                watcher.saw_loss(name, value)
            return value

        return loss

    return make


def _backward_wrapper(watcher: Watcher) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(tensors, *args, **kwargs)
            watcher.before_backward(tensors)
            try:
                return original(tensors, *args, **kwargs)
            finally:
                watcher.after_backward()

        return backward

    return make


def _clipping_wrapper(watcher: Watcher) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def clip_grad_norm_(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
            norm = original(parameters, max_norm, *args, **kwargs)
            if not torch.compiler.is_compiling():
                watcher.saw_clipping(norm, max_norm)
            return norm

        return clip_grad_norm_

    return make


def _scaler_wrapper(watcher: Watcher) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = watcher.before_scaled_step()
            result = original(scaler, optimizer, *args, **kwargs)
            watcher.after_scaled_step(optimizer, before)
            return result

        return step

    return make
