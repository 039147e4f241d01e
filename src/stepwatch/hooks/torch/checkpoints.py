"""Checkpoints that are made because something was found."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from ...errors import ConfigError
from ...finding import Finding
from ...store import Store
from .names import Names
from .sharded import is_distributed
from .training_state import models_of

Function = TypeVar("Function", bound=Callable[[Finding], object])

_of_scripts: list[Callable[[Finding], object]] = []


def on_checkpoint(function: Function) -> Function:
    """Have a function called when an action makes a checkpoint, instead of Stepwatch's own.

    It is called in the training thread, between two steps, with the finding. Where no hook
    watches, nothing calls it. The last one that is given counts.

    Example:
        >>> @on_checkpoint
        ... def save(finding):
        ...     print(f"saving at step {finding.step}")
    """
    _of_scripts[:] = [function]
    return function


def of_script() -> Callable[[Finding], object] | None:
    """Return the function that the script has given, if it has."""
    return _of_scripts[0] if _of_scripts else None


def copied_state(names: Names, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Any]:
    """Return the state of models and optimizers, with copies of all tensors on the CPU.

    Raises:
        ConfigError: A parameter is spread over several processes.
    """
    models = models_of(names, optimizers)
    if any(is_distributed(p) for model in models.values() for p in model.parameters()):
        raise ConfigError(
            "parameters are spread over several processes; give on_checkpoint a function that "
            "saves them"
        )
    return {
        "models": {name: _copied(model.state_dict()) for name, model in models.items()},
        "optimizers": [_copied(optimizer.state_dict()) for optimizer in optimizers],
    }


def store_checkpoint(store: Store, key: str, state: dict[str, Any]) -> str:
    """Write a checkpoint as ``torch.load`` reads it, and return where."""
    file = io.BytesIO()
    torch.save(state, file)
    store.put(key, file.getbuffer())
    return f"saved as {key} in the run"


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return copy.deepcopy(value)
