"""What a compiler calls of ours without looking into it.

While a compiled model runs, every Python function that is called outside of its graph is a frame
that the compiler would compile, ours too. These run as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeVar

import torch

try:  # asked twice for each module that runs
    from torch._C._dynamo.eval_frame import get_eval_frame_callback as _callback
except ImportError:  # another version of torch
    _callback = None  # type: ignore[assignment]  # asked for below

Function = TypeVar("Function", bound=Callable[..., Any])


def unseen(function: Function) -> Function:
    """Return a function that no compiler looks into."""
    disabled: Any = torch.compiler.disable(function)  # type: ignore[no-untyped-call]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _may_compile():  # else it costs less without
            return disabled(*args, **kwargs)
        return function(*args, **kwargs)

    return as_it_is(call)  # type: ignore[return-value]  # same signature


def unless_traced(function: Function) -> Function:
    """Return a function that does nothing where a compiler traces it, and is unseen elsewhere."""
    disabled: Any = torch.compiler.disable(function)  # type: ignore[no-untyped-call]

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if torch.compiler.is_compiling():
            return None
        return disabled(*args) if _may_compile() else function(*args)

    return as_it_is(call)  # type: ignore[return-value]  # same signature


def as_it_is(function: Function) -> Function:
    """Let a function run as it is where it is called by itself; traced where it is inlined."""
    with suppress(ImportError, AttributeError, TypeError):  # another version of torch
        from torch._C._dynamo import eval_frame as compiler

        skip = compiler._FrameExecStrategy(
            compiler._FrameAction.SKIP, compiler._FrameAction.DEFAULT
        )
        compiler.set_code_exec_strategy(function.__code__, skip)
    return function


def seen_through(function: FunctionType, original: FunctionType) -> Callable[[FunctionType], None]:
    """Let a compiler look into a function of torch that it would take into its graph as it is.

    Args:
        function: It calls a wrapper of what it was.
        original: What it was; this is taken into the graph instead.

    Returns:
        What undoes it; it is given what becomes the original again.
    """
    with suppress(ImportError, AttributeError, KeyError):  # another version of torch
        from torch._dynamo.trace_rules import get_torch_obj_rule_map
        from torch._dynamo.variables import UserFunctionVariable

        rules = get_torch_obj_rule_map()
        rules[original], rules[function] = rules[function], UserFunctionVariable

        def undo(holder: FunctionType) -> None:
            if original in rules:
                rules[holder] = rules.pop(original)

        return undo
    return lambda _: None


def _may_compile() -> bool:
    """Return whether a compiler looks at the frames of this thread."""
    return _callback is None or _callback() not in (None, False)
