"""When a script sets gradients to zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch


class ZeroingWatcher(Protocol):
    """What the wrapper tells."""

    def saw_zeroing(self) -> None:
        """Gradients were set to zero, or to none."""


def zeroing_wrapper(watcher: ZeroingWatcher) -> Callable[[Any], Any]:
    """Return what wraps ``zero_grad`` of optimizers and of modules."""

    def make(original: Any) -> Any:
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(owner, *args, **kwargs)
            if not torch.compiler.is_compiling():
                watcher.saw_zeroing()
            return result

        return zero_grad

    return make
