"""Wrappers around the functions of torch that compute activations: they tell what passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Protocol

import torch
import torch.nn.functional as F  # noqa: N812

from .activity import RELU, SIGMOID, TANH

Wrap = Callable[[Any], Any]


class ActivationWatcher(Protocol):
    """What the wrappers tell."""

    def saw_activation(self, kind: str, tensor: object) -> None:
        """An activation was computed: what a ReLU returned, or what others were given."""


def activations(watcher: ActivationWatcher) -> Iterator[tuple[FunctionType, Wrap]]:
    """Yield what can be exchanged of ``torch.nn.functional``, and what makes its wrapper.

    ``torch.relu`` and its like, and the methods of tensors, are compiled code and stay unseen.
    """
    for kind in (RELU, TANH, SIGMOID):
        function = getattr(F, kind, None)
        if isinstance(function, FunctionType) and not function.__closure__:
            yield function, _wrapper(watcher, kind)


def _wrapper(watcher: ActivationWatcher, kind: str) -> Wrap:
    def make(original: Any) -> Any:
        def activation(input: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(input, *args, **kwargs)
            if not torch.compiler.is_compiling():
                watcher.saw_activation(kind, result if kind == RELU else input)
            return result

        return activation

    return make
