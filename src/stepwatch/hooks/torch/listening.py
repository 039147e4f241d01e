"""The hooks of torch that tell what runs, in eager code and while a compiler traces it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.loss import _Loss
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.hooks import RemovableHandle

from .closures import with_closure
from .torch_control import TorchControl
from .tracker import Tracker
from .unseen import as_it_is, unless_traced, unseen


def listen(
    tracker: Tracker, control: TorchControl, after_step: Callable[[], None]
) -> list[RemovableHandle]:
    """Let torch tell a tracker of everything that runs.

    Args:
        tracker: Who is told.
        control: Acts on the training before and after the steps of optimizers.
        after_step: Called after each step of an optimizer; it may raise.
    """
    tell_after = unseen(tracker.after_forward)
    see, compiling = tracker.graphs.slots.seeing.see, torch.compiler.is_compiling
    exporting = torch.compiler.is_exporting

    def before_optimizer(optimizer: torch.optim.Optimizer, args: Any, named: Any) -> Any:
        given = with_closure(args, named, lambda: tracker.after_closure(optimizer))
        with tracker.observer.without_gradients(given is not None):
            tracker.before_optimizer(optimizer)
        control.before_update(optimizer, args, named)
        return given

    def after_optimizer(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        control.after_update(optimizer)
        tracker.after_optimizer(optimizer)
        control.after_step()
        after_step()

    # A function of its own, so that a compiler sees constants and what it is to trace.
    def after_forward(module: torch.nn.Module, inputs: Any, *rest: Any) -> None:
        if not compiling():
            # Of a module that raised torch tells no keywords.
            keywords, output = rest if len(rest) == 2 else ({}, *rest)
            tell_after(module, (inputs, keywords), output)
        elif not exporting():
            see(type(module).__name__ if isinstance(module, _Loss) else "output", rest[-1])

    return [
        register_module_forward_pre_hook(unless_traced(tracker.before_forward)),
        register_module_forward_hook(as_it_is(after_forward), with_kwargs=True, always_call=True),
        register_optimizer_step_pre_hook(unless_traced(before_optimizer)),
        register_optimizer_step_post_hook(unless_traced(after_optimizer)),
    ]


def forget_graphs() -> bool:
    """Let what was compiled be compiled again, with the hooks in it; return whether there is any.

    A graph holds the hooks that were there when it was compiled, and no others.
    """
    compiler = sys.modules.get("torch._dynamo")
    if compiler is None or not compiler.utils.counters["stats"].get("unique_graphs"):
        return False
    torch.compiler.reset()
    return True
