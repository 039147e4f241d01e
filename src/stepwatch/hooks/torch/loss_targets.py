"""Recorded targets in the place of what a script gives to functional losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .patches import exchange, functional_losses


class LossTargets:
    """Lets somebody exchange what the losses of ``torch.nn.functional`` are given.

    Args:
        exchanged: ``exchanged(name, args, kwargs)`` returns the arguments that a loss is to get.
    """

    def __init__(self, exchanged: Callable[[str, Any, Any], tuple[Any, Any]]) -> None:
        self._exchanged = exchanged
        self._depth = 0
        self._undo: list[Callable[[], None]] = []

    def attach(self) -> None:
        """Take hold of the losses."""
        for name, function in functional_losses():
            self._undo.append(exchange(function, self._maker(name)))

    def detach(self) -> None:
        """Let go of them."""
        while self._undo:
            self._undo.pop()()

    def _maker(self, name: str) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def loss(*args: Any, **kwargs: Any) -> Any:
                if torch.compiler.is_compiling() or self._depth:
                    return original(*args, **kwargs)
                self._depth += 1
                try:
                    args, kwargs = self._exchanged(name, args, kwargs)
                    return original(*args, **kwargs)
                finally:
                    self._depth -= 1

            return loss

        return make
