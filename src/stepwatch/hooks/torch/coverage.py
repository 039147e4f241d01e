"""The coverage line: what of the model is captured, and what is not and why."""

from __future__ import annotations

import torch

from ..coverage_line import coverage_line, some
from .attention_calls import unseen_in
from .graph_slots import GraphSlots
from .names import Names
from .observe import Observer


def coverage(names: Names, observer: Observer, slots: GraphSlots) -> str:
    """Return the coverage line of what was observed so far.

    A parameter is captured if its weight is, and its gradient if there was one. A module is
    captured if every tensor of what it returned is.

    Args:
        names: What there is.
        observer: What was seen of it.
        slots: What compiled graphs have for it.
    """
    parameters = {}
    for name, _ in names.named_parameters():
        gradient = observer.refused.get(f"gradient/{name}")
        why = observer.refused.get(name) or (gradient and f"gradient of {gradient}")
        parameters[name] = why or (None if name in observer.seen else "not reached")
    outputs = {
        name: slots.problems.get(module)
        or (observer.returned[name] if name in observer.returned else _why_unheard(module))
        for name, module in names.callable_modules().items()
    }
    line = coverage_line(parameters, outputs)
    blind = unseen_in()
    if blind:
        line += f", no attention of {some(blind)} (imported before the hook)"
    if slots.num_attention:
        line += ", no attention of changing shapes inside compiled graphs"
    return line


def _why_unheard(module: torch.nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return "inside a scripted module"
    return "not called in this step"
