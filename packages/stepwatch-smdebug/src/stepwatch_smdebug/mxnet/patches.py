"""MXNet has no hooks for all blocks and trainers at once: what is called is wrapped.

A wrapper calls the original with the same arguments, returns its result, and reports to the
listeners. The wrappers are there while there are listeners, once for all hooks of a process.
"""

from __future__ import annotations

from typing import Any

from mxnet import autograd
from mxnet.gluon import Block, Trainer
from mxnet.metric import EvalMetric
from mxnet.module import Module
from mxnet.ndarray import NDArray

from stepwatch.hooks.patching import Function, ListenerPatches, ListenerWrapper


class CallListener:
    """What MXNet does, as methods to override; those that are not do nothing."""

    def before_call(self, block: Block, given: tuple[object, ...]) -> None:
        """A block is about to run."""

    def after_call(self, block: Block, given: tuple[object, ...], output: object) -> None:
        """A block returned."""

    def broke_off(self, block: Block) -> None:
        """A block raised."""

    def before_backward(self, heads: object, head_gradients: object) -> None:
        """Gradients are about to be computed."""

    def after_backward(self) -> None:
        """Gradients were computed."""

    def before_reduce(self, trainer: Trainer) -> None:
        """A trainer is about to add up gradients, and perhaps to update with them."""

    def before_update(self, trainer: Trainer) -> None:
        """A trainer is about to update."""

    def after_update(self, trainer: Trainer) -> None:
        """A trainer has updated."""

    def before_run(self, module: Module, *, trains: bool) -> None:
        """A module of symbols is about to run."""

    def after_run(self, module: Module) -> None:
        """A module of symbols ran."""

    def before_module_update(self, module: Module) -> None:
        """A module of symbols is about to be updated."""

    def after_module_update(self, module: Module) -> None:
        """A module of symbols was updated."""

    def before_metric(self, judge: EvalMetric) -> None:
        """A metric is about to get what a module of symbols returned."""

    def after_metric(self, judge: EvalMetric) -> None:
        """A metric got what a module of symbols returned."""

    def give_back(self) -> None:
        """Raise what is the training's: an error of its own, or an end that was requested."""


Listeners = list[CallListener]


def _report(listeners: Listeners, what: str, *given: Any, **named: Any) -> None:
    """Call all listeners, then let them give back what is the training's."""
    listening = tuple(listeners)
    for one in listening:
        getattr(one, what)(*given, **named)
    for one in listening:
        one.give_back()


def _call(original: Function, listeners: Listeners) -> Function:
    def call(block: Block, *given: Any) -> Any:
        _report(listeners, "before_call", block, given)
        try:
            output = original(block, *given)
        except BaseException:
            for one in tuple(listeners):
                one.broke_off(block)
            raise
        _report(listeners, "after_call", block, given, output)
        return output

    return call


def _backward(original: Function, listeners: Listeners) -> Function:
    def backward(heads: Any, *given: Any, **named: Any) -> Any:
        # ``head_grads`` of the function is ``out_grad`` of the method, and next to the heads.
        gradients = named.get("head_grads", named.get("out_grad", given[0] if given else None))
        _report(listeners, "before_backward", heads, gradients)
        result = original(heads, *given, **named)
        _report(listeners, "after_backward")
        return result

    return backward


def _around(before: str, after: str | None = None) -> ListenerWrapper[CallListener]:
    """Return what wraps a method and reports its owner before the call, and after it."""

    def wrap(original: Function, listeners: Listeners) -> Function:
        def call(owner: Any, *given: Any, **named: Any) -> Any:
            _report(listeners, before, owner)
            result = original(owner, *given, **named)
            if after is not None:
                _report(listeners, after, owner)
            return result

        return call

    return wrap


def _run(original: Function, listeners: Listeners) -> Function:
    def forward(module: Module, data_batch: Any, is_train: bool | None = None) -> Any:
        trains = module.for_training if is_train is None else is_train
        _report(listeners, "before_run", module, trains=bool(trains))
        result = original(module, data_batch, is_train)
        _report(listeners, "after_run", module)
        return result

    return forward


def _evaluate(original: Function, listeners: Listeners) -> Function:
    def update_metric(module: Module, eval_metric: EvalMetric, *given: Any, **named: Any) -> Any:
        _report(listeners, "before_metric", eval_metric)
        result = original(module, eval_metric, *given, **named)
        _report(listeners, "after_metric", eval_metric)
        return result

    return update_metric


#: There is one, because each function is wrapped once for all hooks of a process.
PATCHES: ListenerPatches[CallListener] = ListenerPatches(
    (
        (Block, "__call__", _call),
        (NDArray, "backward", _backward),
        (autograd, "backward", _backward),
        (Trainer, "_allreduce_grads", _around("before_reduce")),
        (Trainer, "_update", _around("before_update", "after_update")),
        (Module, "forward", _run),
        (Module, "update", _around("before_module_update", "after_module_update")),
        (Module, "update_metric", _evaluate),
    )
)
