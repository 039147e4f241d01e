"""What has no hook of its own is wrapped: losses, backward, clipping, loaders, schedules and more.

A wrapper calls the original with the very same arguments, returns its very result, and emits an
event. Inside a graph that is being compiled or scripted it is not there.

Scripts hold functions of ``torch.nn.functional`` by themselves (``from torch.nn.functional import
cross_entropy``) and models that are pickled hold them too, so these stay the very functions that
they are: only their code is exchanged. So is that of the functions that clip. Attention is compiled
code and has none to exchange; what has imported it by name before the hook is not observed.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from types import FunctionType
from typing import Any
from weakref import WeakSet

import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.parallel import DistributedDataParallel
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

from .attention_rows import attention_rows, score_rows
from .checkpoint_calls import CheckpointCalls
from .collectors.activations import RELU, SIGMOID, TANH
from .events import Events
from .graphs import GraphProbe
from .internals import (
    clipping_by_norm,
    clipping_by_value,
    dynamo_skip_frame,
    is_initial_step,
    let_script_compile,
    loader_iterator,
    reducers,
    replace_code,
    scheduler_step_name,
    script_as,
    summing,
)

#: The metric that a schedule is told is saved as ``metric/PLATEAU/MODE``.
PLATEAU = "ReduceLROnPlateau"

Emit = Callable[..., None]
#: Makes, of a function, what is called instead.
Wrapper = Callable[[Any], Any]

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
#: What layers and scripts give parameters their first values by, in place.
INITIALIZERS = (
    *("uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "orthogonal_"),
    *("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"),
)
# The place of ``create_graph`` among the arguments of ``torch.autograd.grad``.
_CREATE_GRAPH = 4
_ATTENTION = "scaled_dot_product_attention"


class Patches:
    """The wrappers, while they are in place.

    Args:
        events: Emits what they notice.
        probe: What a compiler traces instead.
        drawn: Given each iterator of a ``DataLoader`` that is asked for a batch.
        drawn_ahead: Given each of these, and the rows that its sampler has drawn.
        with_activations: Whether activations are observed.
    """

    def __init__(
        self,
        events: Events,
        probe: GraphProbe,
        drawn: Callable[[Any], None] = lambda _: None,
        drawn_ahead: Callable[[Any, Any], None] = lambda *_: None,
        *,
        with_activations: bool,
    ) -> None:
        self._undo: list[Callable[[], None]] = []
        self._events, self._emits = events, dict[str, Emit]()
        emit = self._emit
        before_loss, after_loss = emit("before_loss"), emit("after_loss")
        for name, function in functional_losses():
            self._enter(function, _loss_wrapper(before_loss, after_loss, probe, name))
        softmax: Any = F.softmax
        self._enter(softmax, _softmax_wrapper(emit("attention")))
        for kind in (RELU, TANH, SIGMOID) if with_activations else ():
            # ``torch.relu`` and its like, and methods of tensors, are compiled code: not observed.
            self._enter(_exchangeable(kind), _activation_wrapper(emit("activation"), kind))
        self._undo.append(_replace_attention(emit("attention"), probe))
        backward = _backward_wrapper(emit("before_backward"), emit("after_backward"))
        self._wrap(torch.autograd, "backward", backward)
        gradients: Any = torch.autograd.grad
        derivatives = _gradient_wrapper(emit("differentiated"))
        if getattr(gradients, "__closure__", None):  # somebody else stands in its place
            self._wrap(torch.autograd, "grad", derivatives)
        else:
            self._enter(gradients, derivatives)
        self._enter(clipping_by_norm(), _norm_clipping_wrapper(emit("norm_clipped")))
        by_value = _value_clipping_wrapper(emit("before_value_clipping"), emit("value_clipped"))
        self._enter(clipping_by_value(), by_value)
        if hasattr(torch.amp, "GradScaler"):
            scaled = _scaler_wrapper(emit("before_scaled_step"), emit("after_scaled_step"))
            self._wrap(torch.amp.GradScaler, "step", scaled)
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self._wrap(owner, "zero_grad", _zero_grad_wrapper(emit("zero_grad")))
        self._wrap(torch.nn.Module, "eval", _eval_wrapper(emit("put_in_eval")))
        if (iterator := loader_iterator()) is not None:
            self._wrap(iterator, "__next__", loader_wrapper(emit("loader_wait"), drawn))
            if hasattr(iterator, "_next_index"):
                self._wrap(iterator, "_next_index", _sampler_wrapper(drawn_ahead))
        self._enter(summing(), _summing_wrapper(emit("all_reduced")))
        self._wrap(DistributedDataParallel, "__init__", _first_argument_wrapper(emit("wrapped")))
        made = _first_argument_wrapper(emit("optimizer_made"))
        self._wrap(torch.optim.Optimizer, "__init__", made)
        for name in INITIALIZERS:
            self._wrap(torch.nn.init, name, _returned_wrapper(emit("initialized")))
        if (reducer := reducers()) is not None:
            name = "prepare_for_backward"
            self._wrap(reducer, name, _first_argument_wrapper(emit("reducer_prepared")))
        scheduler = _scheduler_wrapper(emit("scheduler_step"), emit("logged"))
        for scheduler_class, name in scheduler_steps():
            self._wrap(scheduler_class, name, scheduler)
        self._undo.append(CheckpointCalls(events).remove)

    def remove(self) -> None:
        """Put the originals back, but for what somebody else wrapped in the meantime."""
        while self._undo:
            self._undo.pop()()

    def _emit(self, event: str) -> Emit:
        """Return what a wrapper calls for an event; no compiler looks into it."""
        if event not in self._emits:
            self._emits[event] = self._events.source(event)
        return self._emits[event]

    def _wrap(self, owner: Any, name: str, make: Wrapper) -> None:
        original = getattr(owner, name)
        stored = vars(owner).get(name, original)  # of a class in C not what it gives to others
        wrapper: Any = dynamo_skip_frame(functools.wraps(original)(make(original)))
        let_script_compile(wrapper, original)
        setattr(owner, name, wrapper)

        def undo() -> None:
            if getattr(owner, name) is wrapper:
                setattr(owner, name, stored)

        self._undo.append(undo)

    def _enter(self, function: FunctionType | None, make: Wrapper) -> None:
        if function is not None:
            self._undo.append(replace_code(function, make))


def functional_losses() -> Iterator[tuple[str, FunctionType]]:
    """Yield the losses of ``torch.nn.functional`` that can be exchanged, by name."""
    for name in LOSSES:
        if (function := _exchangeable(name)) is not None:
            yield name, function


def _exchangeable(name: str) -> FunctionType | None:
    function = getattr(F, name, None)
    return function if isinstance(function, FunctionType) and not function.__closure__ else None


def _loss_wrapper(before: Emit, after: Emit, probe: GraphProbe, name: str) -> Wrapper:
    def make(original: Any) -> Any:
        def loss(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                value = original(*args, **kwargs)
                if not torch.compiler.is_exporting():
                    probe.record(name, value)
                return value
            before(name, args, kwargs)
            value = original(*args, **kwargs)
            after(name, value, args, kwargs)
            return value

        return loss

    return make


def _softmax_wrapper(emit: Emit) -> Wrapper:
    """By softmax ``nn.MultiheadAttention`` computes attention where its weights are asked for."""

    def make(original: Any) -> Any:
        def softmax(scores: Any, *args: Any, **kwargs: Any) -> Any:
            shares = original(scores, *args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(score_rows, (scores,))
            return shares

        return softmax

    return make


def _activation_wrapper(emit: Emit, kind: str) -> Wrapper:
    def make(original: Any) -> Any:
        def activation(input: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(input, *args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(kind, result if kind == RELU else input)
            return result

        return activation

    return make


def _backward_wrapper(before: Emit, after: Emit) -> Wrapper:
    def make(original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(tensors, *args, **kwargs)
            before(tensors)
            try:
                return original(tensors, *args, **kwargs)
            finally:
                after()

        return backward

    return make


def _gradient_wrapper(emit: Emit) -> Wrapper:
    """Emit what derivatives were taken of and by, these, and whether they have a graph."""

    def make(original: Any) -> Any:
        def grad(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            if not torch.compiler.is_compiling():
                outputs = args[0] if args else kwargs.get("outputs")
                inputs = args[1] if len(args) > 1 else kwargs.get("inputs")
                makes_graph = any(args[_CREATE_GRAPH : _CREATE_GRAPH + 1])
                makes_graph |= bool(kwargs.get("create_graph"))
                emit(outputs, inputs, found, makes_graph=makes_graph)
            return found

        return grad

    return make


def _norm_clipping_wrapper(emit: Emit) -> Wrapper:
    def make(original: Any) -> Any:
        def clip_grads_with_norm_(
            parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any
        ) -> Any:
            result = original(parameters, max_norm, total_norm, *args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(max_norm, total_norm)
            return result

        return clip_grads_with_norm_

    return make


def _value_clipping_wrapper(before: Emit, after: Emit) -> Wrapper:
    def make(original: Any) -> Any:
        def clip_grad_value_(parameters: Any, clip_value: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(parameters, clip_value, *args, **kwargs)
            if not isinstance(parameters, torch.Tensor):
                parameters = list(parameters)  # it may be a generator
            before(parameters)
            result = original(parameters, clip_value, *args, **kwargs)
            after(parameters, clip_value)
            return result

        return clip_grad_value_

    return make


def _summing_wrapper(emit: Emit) -> Wrapper:
    def make(original: Any) -> Any:
        def all_reduce(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(tensor)
            return result

        return all_reduce

    return make


def _scaler_wrapper(before: Emit, after: Emit) -> Wrapper:
    def make(original: Any) -> Any:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before(scaler)
            result = original(scaler, optimizer, *args, **kwargs)
            after(optimizer)
            return result

        return step

    return make


def _zero_grad_wrapper(emit: Emit) -> Wrapper:
    """Gradients are set to zero, or to none, by optimizers and by modules."""

    def make(original: Any) -> Any:
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(owner, *args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(owner)
            return result

        return zero_grad

    return make


def _returned_wrapper(emit: Emit) -> Wrapper:
    """Emit what a function returned."""

    def make(original: Any) -> Any:
        def function(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(result)
            return result

        return function

    return make


def _eval_wrapper(emit: Emit) -> Wrapper:
    """Emit each module once, as it is put into eval mode."""
    seen: WeakSet[torch.nn.Module] = WeakSet()

    def make(original: Any) -> Any:
        def method(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(module, *args, **kwargs)
            # What a class of the script compares, or hashes, itself is not asked.
            is_plain = getattr(type(module), "__hash__", None) is object.__hash__
            if not torch.compiler.is_compiling() and is_plain and module not in seen:
                seen.add(module)
                emit(module)
            return result

        return method

    return make


def _first_argument_wrapper(emit: Emit) -> Wrapper:
    """Emit what a method was called on, once it returned."""

    def make(original: Any) -> Any:
        def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(owner, *args, **kwargs)
            if not torch.compiler.is_compiling():
                emit(owner)
            return result

        return method

    return make


def loader_wrapper(
    emit: Callable[[float], None], drawn: Callable[[Any], None] = lambda _: None
) -> Wrapper:
    """Return what wraps ``__next__`` of the iterators of ``DataLoader``.

    A data set that itself reads from a loader is part of the wait for its own.

    Args:
        emit: Given how many seconds the next batch, or the end, was waited for.
        drawn: Given the iterator.
    """
    depth = 0

    def make(original: Any) -> Any:
        def __next__(iterator: Any) -> Any:  # noqa: N807  so that it is called as it was
            nonlocal depth
            depth += 1
            began = perf_counter()
            try:
                return original(iterator)
            finally:
                depth -= 1
                if not depth:
                    drawn(iterator)
                    emit(perf_counter() - began)

        return __next__

    return make


def _sampler_wrapper(drawn_ahead: Callable[[Any, Any], None]) -> Wrapper:
    """Return what wraps ``_next_index`` of the iterators of ``DataLoader``."""

    def make(original: Any) -> Any:
        def _next_index(iterator: Any) -> Any:
            rows = original(iterator)
            drawn_ahead(iterator, rows)
            return rows

        return _next_index

    return make


def scheduler_steps() -> Iterator[tuple[type[LRScheduler], str]]:
    """Yield the classes of torch that have a ``step`` of their own, and what to wrap of each."""
    for kind in vars(lr_scheduler).values():
        if isinstance(kind, type) and issubclass(kind, LRScheduler) and "step" in vars(kind):
            yield kind, scheduler_step_name(kind)


def _scheduler_wrapper(emit: Emit, log: Emit) -> Wrapper:
    """Emit the calls of the script, and the first, by which a scheduler makes itself.

    The steps of the schedulers that another one is made of are its own business.

    Args:
        emit: Of ``scheduler_step``.
        log: Of ``logged``, with the metric that a schedule is told.
    """
    depth = 0

    def make(original: Any) -> Any:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if torch.compiler.is_compiling():
                return original(scheduler, *args, **kwargs)
            depth += 1
            try:
                result = original(scheduler, *args, **kwargs)
            finally:
                depth -= 1
            if not depth:
                emit(scheduler, is_initial_step(scheduler))
                if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
                    metric = args[0] if args else kwargs.get("metrics")
                    log(iter(((f"{PLATEAU}/{scheduler.mode}", metric),)))
            return result

        return step

    return make


def _replace_attention(emit: Emit, probe: GraphProbe) -> Callable[[], None]:
    """Put a wrapper in the place of ``scaled_dot_product_attention``; return what undoes it.

    It is compiled code, so a script that has imported it by name is not seen; see
    ``unpatched_importers``.
    """
    original = getattr(F, _ATTENTION)

    def as_if_not_there(*args: Any, **kwargs: Any) -> Any:
        # Subclasses of tensors ask whether it is this function that they are given to.
        if getattr(F, _ATTENTION) is not wrapper:
            return original(*args, **kwargs)
        setattr(F, _ATTENTION, original)
        try:
            return original(*args, **kwargs)
        finally:
            if wrapper.is_in_place and getattr(F, _ATTENTION) is original:
                setattr(F, _ATTENTION, wrapper)

    def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            if not torch.compiler.is_exporting():
                _report_call(probe.on_attention, *args, **kwargs)
            return original(*args, **kwargs)
        if not wrapper.is_in_place:
            return original(*args, **kwargs)
        result = as_if_not_there(*args, **kwargs)
        _report_call(emit, *args, **kwargs)
        return result

    dynamo_skip_frame(as_if_not_there)
    wrapper: Any = dynamo_skip_frame(functools.wraps(original)(scaled_dot_product_attention))
    wrapper.is_in_place = True
    wrapper.__module__ = F.__name__  # where pickle finds it
    script_as(wrapper, f"aten::{_ATTENTION}")
    setattr(F, _ATTENTION, wrapper)

    def undo() -> None:
        wrapper.is_in_place = False
        script_as(wrapper, None)
        while not getattr(getattr(F, _ATTENTION), "is_in_place", True):  # also what was left before
            setattr(F, _ATTENTION, getattr(F, _ATTENTION).__wrapped__)

    return undo


def unpatched_importers() -> list[str]:
    """Return the modules, other than torch's, that imported the function before it was wrapped."""
    original = inspect.unwrap(getattr(F, _ATTENTION))
    return [
        name
        for name, module in sys.modules.copy().items()
        if name.partition(".")[0] != "torch"
        and getattr(module, "__dict__", {}).get(_ATTENTION) is original
    ]


@dynamo_skip_frame
def _report_call(
    emit: Emit,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> None:
    """Say what the function was given; its parameters have their names."""
    del value, dropout_p, enable_gqa
    given = (query, key) if attn_mask is None else (query, key, attn_mask)
    emit(attention_rows, given, is_causal=is_causal, scale=scale)
