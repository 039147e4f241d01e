"""Wrappers around what computes attention: they tell what it was given, once it has returned."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch.nn.functional as F  # noqa: N812

from .attention import attention_rows, score_rows
from .unseen import as_it_is

_NAME = "scaled_dot_product_attention"


class AttentionWatcher(Protocol):
    """What the wrappers tell."""

    def saw_attention(self, rows: Any, given: Any, **how: Any) -> None:
        """Attention was computed; ``rows(*given, **how)`` is what is observed of it."""


def softmax_wrapper(watcher: AttentionWatcher) -> Callable[[Any], Any]:
    """Return what wraps ``torch.nn.functional.softmax``.

    By it ``nn.MultiheadAttention`` computes attention where its weights are asked for.
    """

    def make(original: Any) -> Any:
        def softmax(scores: Any, *args: Any, **kwargs: Any) -> Any:
            shares = original(scores, *args, **kwargs)
            if not torch.compiler.is_compiling():
                watcher.saw_attention(score_rows, (scores,))
            return shares

        return softmax

    return make


def replace_attention(watcher: AttentionWatcher, seeing: AttentionWatcher) -> Callable[[], None]:
    """Put a wrapper in the place of ``scaled_dot_product_attention``; return what undoes it.

    It is compiled code, so a script that has imported it by name is not seen; see ``unseen_in``.
    """
    original = getattr(F, _NAME)

    def as_if_not_there(*args: Any, **kwargs: Any) -> Any:
        # Subclasses of tensors ask whether it is this function that they are given to.
        if getattr(F, _NAME) is not wrapper:
            return original(*args, **kwargs)
        setattr(F, _NAME, original)
        try:
            return original(*args, **kwargs)
        finally:
            if wrapper.is_in_place and getattr(F, _NAME) is original:
                setattr(F, _NAME, wrapper)

    def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            if not torch.compiler.is_exporting():
                _tell(seeing, *args, **kwargs)
            return original(*args, **kwargs)
        if not wrapper.is_in_place:
            return original(*args, **kwargs)
        result = as_if_not_there(*args, **kwargs)
        _tell(watcher, *args, **kwargs)
        return result

    as_it_is(as_if_not_there)
    wrapper: Any = as_it_is(functools.wraps(original)(scaled_dot_product_attention))
    wrapper.is_in_place = True
    wrapper.__module__ = F.__name__  # where pickle finds it
    _script_as(wrapper, f"aten::{_NAME}")
    setattr(F, _NAME, wrapper)

    def undo() -> None:
        wrapper.is_in_place = False
        _script_as(wrapper, None)
        while not getattr(getattr(F, _NAME), "is_in_place", True):  # also what was left before
            setattr(F, _NAME, getattr(F, _NAME).__wrapped__)

    return undo


def unseen_in() -> list[str]:
    """Return the modules, other than torch's, that imported the function before it was wrapped."""
    original = inspect.unwrap(getattr(F, _NAME))
    return [
        name
        for name, module in sys.modules.copy().items()
        if name.partition(".")[0] != "torch"
        and getattr(module, "__dict__", {}).get(_NAME) is original
    ]


@as_it_is
def _tell(
    watcher: AttentionWatcher,
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
    watcher.saw_attention(attention_rows, given, is_causal=is_causal, scale=scale)


def _script_as(function: Any, operator: str | None) -> None:
    """Let torch.jit.script compile a function as an operator, or no longer."""
    table = torch.jit._builtins._get_builtin_table()  # type: ignore[no-untyped-call]
    if operator is None:
        table.pop(id(function), None)
    else:
        table[id(function)] = operator
