"""What is being compiled where a compiler calls us: which module, which tensor, for whom."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .graph_statistics import DTYPES, MOST_AXES
from .looking import in_transform
from .losses import OURS, TORCH


@dataclass(frozen=True, slots=True)
class Traced:
    """A tensor that is being traced.

    Args:
        module: The innermost module that runs.
        root: The module that is compiled; ``None`` where a function is.
        line: The innermost line of the script.
        tensor: What stands for the tensor; it has no values.
        problem: Why its statistics cannot be taken into the graph; empty if they can.
        is_fixed: Whether it has this shape whenever the graph runs.
    """

    module: torch.nn.Module | None
    root: torch.nn.Module | None
    line: object
    tensor: torch.Tensor
    problem: str
    is_fixed: bool


def traced_tensor() -> Traced | None:
    """Return what the calling function's variable ``tensor`` stands for, while it is traced.

    To be called by a function that the compiler calls for a constant.
    """
    frames = list(_traced_frames())
    found = [
        frame.symbolic_locals["tensor"] for frame in frames if "tensor" in frame.symbolic_locals
    ]
    if not found:
        return None
    tensor = found[0].realize().proxy.node.meta["example_value"]
    modules = [module for frame in frames if (module := _module_of(frame)) is not None]
    problem = _place_problem(frames[-1]) or _problem(tensor)
    root = _module_of(frames[-1])
    is_fixed = all(type(size) is int for size in tensor.shape)
    module = modules[0] if modules else None
    return Traced(module, root, _script_line(frames), tensor, problem, is_fixed)


def _traced_frames() -> Iterator[Any]:
    """Yield the frames that are traced, the innermost first."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "invoke_and_store_as_constant":
        frame = frame.f_back  # type: ignore[assignment]
    traced: Any = frame.f_locals.get("tx") if frame is not None else None
    while traced is not None:
        yield traced
        traced = getattr(traced, "parent", None)


def _module_of(frame: Any) -> torch.nn.Module | None:
    """Return the module whose method a frame runs, or which a hook of ours is told of."""
    for name in ("self", "module", *frame.f_code.co_varnames[:1]):
        value = _value(frame.symbolic_locals.get(name))
        if isinstance(value, torch.nn.Module):
            return value
    return None


def _value(variable: Any) -> object:
    """Return what a variable stands for, if that is known; to ask a lazy one would add a guard."""
    if hasattr(variable, "original_value"):
        variable = variable.realize() if variable.is_realized() else variable.original_value()
    try:
        return getattr(variable, "value", variable)
    except Exception:  # noqa: BLE001  a list that holds a tensor says so
        return None


def _script_line(frames: list[Any]) -> object:
    for frame in frames:
        file = frame.f_code.co_filename
        if not file.startswith((OURS, TORCH)):
            return file, frame.lineno
    return None


def _problem(tensor: torch.Tensor) -> str:
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols

    if type(tensor) is not FakeTensor or tensor.layout is not torch.strided:
        return f"{type(tensor).__name__} inside a compiled graph"
    if tensor.dtype not in DTYPES:
        return f"{str(tensor.dtype).removeprefix('torch.')} inside a compiled graph"
    if tensor.ndim > MOST_AXES or has_free_unbacked_symbols(tensor):
        return "shape inside a compiled graph"
    return "empty" if tensor.numel() == 0 else ""


def _place_problem(frame: Any) -> str:
    """Return why nothing may be changed at this place of a graph."""
    if in_transform():
        return "inside vmap or grad"
    tracer = frame.output.current_tracer
    while tracer.parent is not None:
        if "checkpoint" not in str(tracer.source_target).lower():
            return f"inside {tracer.source_target} of a compiled graph"
        tracer = tracer.parent
    return ""
