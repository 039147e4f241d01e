"""The coverage line: what of the model is captured, and what is not and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch

from .attention_calls import unseen_in
from .graph_slots import GraphSlots
from .names import Names
from .observe import Observer

_MOST_NAMED = 3


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
        line += f", no attention of {_some(blind)} (imported before the hook)"
    if slots.num_attention:
        line += ", no attention of changing shapes inside compiled graphs"
    return line


def _why_unheard(module: torch.nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return "inside a scripted module"
    return "not called in this step"


def coverage_line(parameters: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> str:
    """Return the coverage line.

    Args:
        parameters: For each parameter why it is not captured, ``None`` for those that are.
        outputs: The same for the outputs of modules.

    Example:
        >>> coverage_line({"w": None}, {"fc": None, "lstm": "never called"})
        'capturing 1 of 1 parameters, 1 of 2 outputs (never called: lstm)'
    """
    parts = []
    for what, reasons in (("parameters", parameters), ("outputs", outputs)):
        captured = sum(reason is None for reason in reasons.values())
        parts.append(f"{captured} of {len(reasons)} {what}{_missing(reasons)}")
    return "capturing " + ", ".join(parts)


def _missing(reasons: Mapping[str, str | None]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            by_reason.setdefault(reason, []).append(name)
    if not by_reason:
        return ""
    return " (" + "; ".join(f"{why}: {_some(names)}" for why, names in by_reason.items()) + ")"


def _some(names: Sequence[str] | Collection[str]) -> str:
    shown = list(names)[:_MOST_NAMED]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
