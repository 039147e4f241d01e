"""MXNet has no hooks for all blocks and trainers at once: what is called is wrapped.

A wrapper calls the original with the very same arguments, returns its very result, and tells
whoever listens what passed. They are there while anybody listens, once for all hooks of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mxnet import autograd
from mxnet.gluon import Block, Trainer
from mxnet.metric import EvalMetric
from mxnet.module import Module
from mxnet.ndarray import NDArray

from ..replaced import Replaced

Original = Callable[..., Any]


class Hears:
    """Who is told what MXNet does; what is of no interest is left as it is here."""

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
        """A metric is about to be told what a module of symbols returned."""

    def after_metric(self, judge: EvalMetric) -> None:
        """A metric was told what a module of symbols returned."""

    def give_back(self) -> None:
        """Raise what is the training's: an error of its own, or an end that was asked for."""


class Patches:
    """The wrappers; who listens joins them, and leaves."""

    _listening: ClassVar[list[Hears]] = []
    _replaced: ClassVar[Replaced] = Replaced()

    @classmethod
    def join(cls, hears: Hears) -> None:
        """Tell somebody from here on."""
        if not cls._listening:
            for owner, name, wrap in (
                (Block, "__call__", _call),
                (NDArray, "backward", _backward),
                (autograd, "backward", _backward),
                (Trainer, "_allreduce_grads", _reduce),
                (Trainer, "_update", _update),
                (Module, "forward", _run),
                (Module, "update", _update_module),
                (Module, "update_metric", _judge),
            ):
                cls._replaced.put(owner, name, wrap)
        cls._listening.append(hears)

    @classmethod
    def leave(cls, hears: Hears) -> None:
        """Tell somebody no more; after the last has left all is put back."""
        if hears in cls._listening:
            cls._listening.remove(hears)
        if not cls._listening:
            cls._replaced.remove()

    @classmethod
    def tell(cls, what: str, *given: Any, **named: Any) -> None:
        """Tell all who listen, then let them give back what is the training's."""
        listening = tuple(cls._listening)
        for one in listening:
            getattr(one, what)(*given, **named)
        for one in listening:
            one.give_back()


def _call(original: Original) -> Original:
    def call(block: Block, *given: Any) -> Any:
        Patches.tell("before_call", block, given)
        try:
            output = original(block, *given)
        except BaseException:
            for one in tuple(Patches._listening):
                one.broke_off(block)
            raise
        Patches.tell("after_call", block, given, output)
        return output

    return call


def _backward(original: Original) -> Original:
    def backward(heads: Any, *given: Any, **named: Any) -> Any:
        # ``head_grads`` of the function is ``out_grad`` of the method, and next to the heads.
        gradients = named.get("head_grads", named.get("out_grad", given[0] if given else None))
        Patches.tell("before_backward", heads, gradients)
        result = original(heads, *given, **named)
        Patches.tell("after_backward")
        return result

    return backward


def _reduce(original: Original) -> Original:
    def reduce(trainer: Trainer) -> Any:
        Patches.tell("before_reduce", trainer)
        return original(trainer)

    return reduce


def _update(original: Original) -> Original:
    def update(trainer: Trainer, *given: Any, **named: Any) -> Any:
        Patches.tell("before_update", trainer)
        result = original(trainer, *given, **named)
        Patches.tell("after_update", trainer)
        return result

    return update


def _run(original: Original) -> Original:
    def forward(module: Module, data_batch: Any, is_train: bool | None = None) -> Any:
        trains = module.for_training if is_train is None else is_train
        Patches.tell("before_run", module, trains=bool(trains))
        result = original(module, data_batch, is_train)
        Patches.tell("after_run", module)
        return result

    return forward


def _update_module(original: Original) -> Original:
    def update(module: Module) -> Any:
        Patches.tell("before_module_update", module)
        result = original(module)
        Patches.tell("after_module_update", module)
        return result

    return update


def _judge(original: Original) -> Original:
    def update_metric(module: Module, eval_metric: EvalMetric, *given: Any, **named: Any) -> Any:
        Patches.tell("before_metric", eval_metric)
        result = original(module, eval_metric, *given, **named)
        Patches.tell("after_metric", eval_metric)
        return result

    return update_metric
