"""Keeps the arguments of functions where they and their derivatives are finite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# Far below what is computed with, and its root, inverse and square are finite in float32.
_TINY = 1e-12


class Domains(TorchFunctionMode):
    """Bounds what functions are given of which something is learned; a context manager.

    Args:
        only: The function, by a key of ``FUNCTIONS``; empty for all.
    """

    def __init__(self, only: str = "") -> None:
        super().__init__()
        self._only = only
        #: How often the argument of a function was bound, by its name.
        self.bound: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        function = _NAMES.get(name)
        if function and self._only in ("", function) and torch.is_grad_enabled():
            args = self._within(function, args)
        return func(*args, **given)

    def _within(self, function: str, args: Any) -> Any:
        position, outside, bound = FUNCTIONS[function]
        if len(args) <= position or not isinstance(value := args[position], torch.Tensor):
            return args
        if not value.is_floating_point() or not value.requires_grad:
            return args
        bad = outside(value)
        if not bad.any():
            return args
        self.bound[function] += 1
        return (*args[:position], torch.where(bad, bound(value), value), *args[position + 1 :])


def _near_zero(value: torch.Tensor) -> torch.Tensor:
    return value.abs() < _TINY


def _not_positive(value: torch.Tensor) -> torch.Tensor:
    return value < _TINY


def _tiny(value: torch.Tensor) -> torch.Tensor:
    return torch.full_like(value, _TINY)


def _overflows(value: torch.Tensor) -> torch.Tensor:
    return value.detach() > _largest(value)


def _largest(value: torch.Tensor) -> torch.Tensor:
    # half of it, so that some of them still have a sum and a product
    return torch.full_like(value, torch.finfo(value.dtype).max).log() / 2


Test = Callable[[torch.Tensor], torch.Tensor]
#: Of each function: which of its arguments, where it is outside, and what it is then instead.
FUNCTIONS: dict[str, tuple[int, Test, Test]] = {
    "sqrt": (0, _not_positive, _tiny),
    "rsqrt": (0, _not_positive, _tiny),
    "log": (0, _not_positive, _tiny),
    "division": (1, _near_zero, _tiny),
    "exp": (0, _overflows, _largest),
}
_NAMES = {
    "sqrt": "sqrt", "rsqrt": "rsqrt", "log": "log", "log2": "log", "log10": "log",
    "div": "division", "true_divide": "division", "__truediv__": "division",
    "exp": "exp", "expm1": "exp",
}  # fmt: skip
