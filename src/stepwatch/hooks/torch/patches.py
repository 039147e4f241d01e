"""What has no hook of its own is wrapped: functional losses, backward, clipping, scaling.

A wrapper calls the original with the very same arguments, returns its very result, and tells
the hook what passed. Inside a graph that is being compiled or scripted it is not there.

Scripts hold functional losses by themselves (``from torch.nn.functional import cross_entropy``)
and models that are pickled hold them too, so these stay the very functions that they are: only
their code is exchanged. So is that of the functions that clip.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Protocol

import torch
from torch.utils.data import dataloader

from .activation_calls import ActivationWatcher, activations
from .attention_calls import AttentionWatcher, replace_attention, softmax_wrapper
from .loader import LoaderWatcher, loader_wrapper
from .schedulers import SchedulerWatcher, scheduler_steps, scheduler_wrapper
from .seeing import Seeing
from .unseen import as_it_is, seen_through, unseen
from .zeroing import ZeroingWatcher, zeroing_wrapper

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


class Watcher(
    AttentionWatcher, ActivationWatcher, LoaderWatcher, SchedulerWatcher, ZeroingWatcher, Protocol
):
    """What the wrappers tell."""

    def before_loss(self, name: str, inputs: tuple[object, ...], keywords: Any = None) -> None:
        """A functional loss is about to be computed."""

    def saw_loss(self, name: str, value: object, inputs: tuple[Any, ...], keywords: Any) -> None:
        """A functional loss returned."""

    def before_backward(self, roots: object) -> None:
        """Gradients are about to be computed."""

    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""

    def gradient_norm(self, parameters: Any) -> object:
        """Return the norm of the gradients of some parameters, if it can be told."""

    def saw_clipping(self, bound: str, limit: Any, before: object, after: object = None) -> None:
        """Gradients were clipped to a limit, and had these norms."""

    def before_scaled_step(self, scaler: object) -> int:
        """A gradient scaler is about to step an optimizer; return how many steps there were."""

    def after_scaled_step(self, optimizer: torch.optim.Optimizer, steps_before: int) -> None:
        """It did, or skipped it."""


class Patches:
    """The wrappers, while they are in place.

    Args:
        watcher: Who is told.
        seeing: What a compiler traces instead.
        with_activations: Whether it wants to be told of them.
    """

    def __init__(self, watcher: Watcher, seeing: Seeing, *, with_activations: bool) -> None:
        self._undo: list[Callable[[], None]] = []
        watcher = _Unseen(watcher)
        for name, function in functional_losses():
            self._enter(function, _loss_wrapper(watcher, seeing, name))
        softmax: Any = torch.nn.functional.softmax
        self._enter(softmax, softmax_wrapper(watcher))
        for function, make in activations(watcher) if with_activations else ():
            self._enter(function, make)
        self._undo.append(replace_attention(watcher, seeing))
        self._wrap(torch.autograd, "backward", _backward_wrapper(watcher))
        # Around what all clipping by the norm comes to, inside of its @no_grad.
        clip_grad = torch.nn.utils.clip_grad
        self._enter(_inner(clip_grad._clip_grads_with_norm_), _norm_clipping_wrapper(watcher))
        self._enter(_inner(clip_grad.clip_grad_value_), _value_clipping_wrapper(watcher))
        if hasattr(torch.amp, "GradScaler"):
            self._wrap(torch.amp.GradScaler, "step", _scaler_wrapper(watcher))
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self._wrap(owner, "zero_grad", zeroing_wrapper(watcher))
        self._wrap(dataloader._BaseDataLoaderIter, "__next__", loader_wrapper(watcher))
        scheduling = scheduler_wrapper(watcher)
        for kind, name in scheduler_steps():
            self._wrap(kind, name, scheduling)

    def remove(self) -> None:
        """Put the originals back, but for what somebody else wrapped in the meantime."""
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put a wrapper in the place of a function."""
        original = getattr(owner, name)
        wrapper: Any = as_it_is(functools.wraps(original)(make(original)))
        _let_script_see(wrapper, original)
        setattr(owner, name, wrapper)

        def undo() -> None:
            if getattr(owner, name) is wrapper:
                setattr(owner, name, original)

        self._undo.append(undo)

    def _enter(self, function: FunctionType, make: Callable[[Any], Any]) -> None:
        self._undo.append(exchange(function, make))


def functional_losses() -> Iterator[tuple[str, FunctionType]]:
    """Yield the losses of ``torch.nn.functional`` that can be exchanged, by name."""
    for name in LOSSES:
        function = getattr(torch.nn.functional, name, None)
        if isinstance(function, FunctionType) and not function.__closure__:
            yield name, function


class _Unseen:
    """A watcher into whose methods no compiler looks."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def __getattr__(self, name: str) -> Any:
        method = unseen(getattr(self._watcher, name))
        setattr(self, name, method)
        return method


def exchange(function: FunctionType, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Make a function call a wrapper of what it was; it stays the same object.

    Args:
        function: Without a closure.
        make: Returns the wrapper of what it is given.

    Returns:
        What undoes it.
    """
    original = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    attributes = dict(function.__dict__)
    functools.update_wrapper(original, function)
    original.__dict__.pop("__wrapped__")
    original.__dict__.update(attributes)  # another hook's original, if there is one
    wrapper = as_it_is(make(original))
    function.__code__ = _call.__code__
    function.__defaults__ = None
    function.__kwdefaults__ = {"_stepwatch": wrapper}
    # For inspect, and so for torch.jit.script: signature and source are those of the original.
    function.__dict__["__wrapped__"] = original
    see_no_more = seen_through(function, original)

    def undo() -> None:
        holder = function
        # Another hook may have come after, and hold what calls this wrapper.
        while (holder.__kwdefaults__ or {}).get("_stepwatch") is not wrapper:
            holder = holder.__dict__.get("__wrapped__")  # type: ignore[assignment]
            if not isinstance(holder, FunctionType):
                return
        see_no_more(holder)
        holder.__code__ = original.__code__
        holder.__defaults__ = original.__defaults__
        holder.__kwdefaults__ = original.__kwdefaults__
        holder.__dict__.clear()
        holder.__dict__.update(original.__dict__)

    return undo


def _call(*args: Any, _stepwatch: Any, **kwargs: Any) -> Any:
    return _stepwatch(*args, **kwargs)


def _let_script_see(wrapper: Any, original: Any) -> None:
    """Let torch.jit.script compile the original in the wrapper's place."""
    # By string: a class would mangle the names.
    setattr(wrapper, "__original_fn", original)
    setattr(wrapper, "__script_if_tracing_wrapper", True)


def _loss_wrapper(watcher: Watcher, seeing: Seeing, name: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def loss(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                value = original(*args, **kwargs)
                if not torch.compiler.is_exporting():
                    seeing.see(name, value)
                return value
            watcher.before_loss(name, args, kwargs)
            value = original(*args, **kwargs)
            watcher.saw_loss(name, value, args, kwargs)
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


def _inner(function: Any) -> FunctionType:
    inner: FunctionType = function.__wrapped__
    return inner


def _norm_clipping_wrapper(watcher: Watcher) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def clip_grads_with_norm_(
            parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any
        ) -> Any:
            result = original(parameters, max_norm, total_norm, *args, **kwargs)
            if not torch.compiler.is_compiling():
                watcher.saw_clipping("max_norm", max_norm, total_norm)
            return result

        return clip_grads_with_norm_

    return make


def _value_clipping_wrapper(watcher: Watcher) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def clip_grad_value_(parameters: Any, clip_value: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(parameters, clip_value, *args, **kwargs)
            if not isinstance(parameters, torch.Tensor):
                parameters = list(parameters)  # it may be a generator
            before = watcher.gradient_norm(parameters)
            result = original(parameters, clip_value, *args, **kwargs)
            after = watcher.gradient_norm(parameters)
            watcher.saw_clipping("clip_value", clip_value, before, after)
            return result

        return clip_grad_value_

    return make


def _scaler_wrapper(watcher: Watcher) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = watcher.before_scaled_step(scaler)
            result = original(scaler, optimizer, *args, **kwargs)
            watcher.after_scaled_step(optimizer, before)
            return result

        return step

    return make
