"""What is replaced in JAX while a hook is attached, and put back after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from ..replaced import Replaced
from .modules import ModuleCalls
from .transforms import Scan, seeing_checkpoint, seeing_gradient, seeing_jit
from .watching import watcher


class Patches:
    """Replaces what makes functions out of functions; made once for all hooks."""

    def __init__(self) -> None:
        self.modules = ModuleCalls(watcher)
        self._replaced = Replaced()

    def put(self) -> None:
        """Replace."""
        value_and_grad = jax.value_and_grad
        replacements: list[tuple[Any, str, Callable[[Any], Any]]] = [
            (jax, "jit", seeing_jit),
            (jax, "grad", lambda transform: seeing_gradient(transform, value_and_grad)),
            (jax, "value_and_grad", lambda transform: seeing_gradient(transform, transform)),
            (jax, "checkpoint", seeing_checkpoint),
            (jax, "remat", seeing_checkpoint),
            (jax.lax, "scan", Scan),
        ]
        for module, name, make in replacements:
            self._replaced.put(module, name, make)
        self.modules.wrap()

    def remove(self) -> None:
        """Put back, but for what somebody else has replaced since."""
        self._replaced.remove()
        self.modules.remove()


#: Those of this process.
PATCHES = Patches()
