"""Puts recorded values in the place of a script's: tensors, weights, buffers, optimizers' state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from ....errors import StepUnavailable
from ....formats.blackbox import Frame
from ..tensors import Array, dtype_name

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def to_tensor(array: Array) -> torch.Tensor:
    """Return a tensor of its own memory with the values and the dtype of an array."""
    own = np.array(array, order="C")
    try:
        return torch.from_numpy(own)
    except TypeError:  # a dtype that numpy has no name for travels as integers of the same width
        integers = torch.from_numpy(own.view(f"i{own.itemsize}" if own.itemsize > 1 else "u1"))
        found: torch.Tensor = integers.view(getattr(torch, str(array.dtype)))
        return found


def substitute_recorded(value: Any, recorded: Mapping[str, Array], path: str = "") -> Any:
    """Return a nested value in which recorded arrays stand for the tensors at their paths.

    What was computed from what learns (it has a gradient function) stays: it is computed from
    recorded values already, and gradients must find their way through it. So stays what learns
    and was not recorded. What learns and was recorded gets the values in place.

    Args:
        value: Tuples, lists, mappings, dataclasses and tensors, as ``arrays.tensors_in`` sees
            them.
        recorded: The arrays by path.
        path: Where ``value`` lies.

    Raises:
        StepUnavailable: There is a tensor of which nothing was recorded.
    """
    if isinstance(value, torch.Tensor):
        return _recorded_tensor(value, recorded, path)
    if isinstance(value, Mapping):
        inner = {
            key: substitute_recorded(one, recorded, f"{path}/{key}") for key, one in value.items()
        }
        return _like_mapping(value, inner)
    if isinstance(value, (tuple, list)):
        parts = [substitute_recorded(one, recorded, f"{path}/{at}") for at, one in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    for key in getattr(value, "__dataclass_fields__", ()):
        setattr(value, key, substitute_recorded(getattr(value, key), recorded, f"{path}/{key}"))
    return value


def _recorded_tensor(tensor: torch.Tensor, recorded: Mapping[str, Array], path: str) -> object:
    if tensor.grad_fn is not None or (tensor.requires_grad and path not in recorded):
        return tensor
    if path not in recorded:
        raise StepUnavailable(
            f"the script gives {path}, of which nothing was recorded; recorded were "
            f"{', '.join(name for name in recorded if not name.startswith('rng/')) or 'no tensors'}"
        )
    array = recorded[path]
    if str(array.dtype) != dtype_name(tensor.dtype):
        raise StepUnavailable(
            f"{path} is {dtype_name(tensor.dtype)} in the script and was {array.dtype}"
        )
    value = to_tensor(array).to(tensor.device)
    if not tensor.requires_grad:
        return value
    if value.shape != tensor.shape:
        raise StepUnavailable(
            f"{path} has the shape {list(tensor.shape)} in the script and had {list(value.shape)}"
        )
    with torch.no_grad():
        return tensor.copy_(value)


def _like_mapping(value: Mapping[Any, Any], inner: dict[Any, Any]) -> object:
    """Return a mapping of the same kind; one that can be changed is, as a tokenizer's batch."""
    if type(value) is dict:
        return inner
    if hasattr(value, "update"):
        value.update(inner)
        return value
    return type(value)(inner)  # type: ignore[call-arg]  # no more is known of it


class Restorer:
    """Puts a snapshot into the models and optimizers of a script, as they come to light.

    Args:
        snapshot: The state before the optimizers' step, as ``snapshot.model_state`` and
            ``snapshot.optimizer_state`` tell it.
    """

    def __init__(self, snapshot: Frame) -> None:
        meta: Any = snapshot.meta
        self._arrays = snapshot.arrays
        self._optimizers: list[dict[str, Any]] = meta["optimizers"]
        self._has_late_buffers = bool(meta.get("buffers_after_forward"))
        self._restored: set[str] = set()

    def restore_models(self, state: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Put weights and buffers back, each once.

        Args:
            state: Those of the models that are known by now, by name.

        Raises:
            StepUnavailable: One has another shape than what was recorded, or was not recorded.
        """
        for name, tensor in state:
            if name not in self._arrays:
                raise StepUnavailable(
                    f"the snapshot has no {name.removeprefix('model/')}: it is not the script that "
                    "ran, or that model had not run yet; then a later snapshot has it"
                )
            if name not in self._restored:
                self._restored.add(name)
                _restore(name, tensor, self._arrays[name])

    def restore_late_buffers(self, state: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Put back what was recorded after the forward: the replayed one has changed buffers."""
        if self._has_late_buffers:
            self._has_late_buffers = False
            self._restored.clear()
            self.restore_models(state)

    def check_complete(self) -> None:
        """Raise StepUnavailable if the script had no place for something that was recorded."""
        models = {name for name in self._arrays if name.startswith("model/")}
        missing = sorted(name.removeprefix("model/") for name in models - self._restored)
        if missing:
            raise StepUnavailable(
                f"the models of the script have no {missing[0]}, which was recorded: it is not "
                "the script that ran"
            )

    def restore_optimizer(
        self, optimizer: torch.optim.Optimizer, known: Iterable[torch.optim.Optimizer]
    ) -> None:
        """Put the state and the settings of an optimizer back.

        Args:
            optimizer: One of the script's.
            known: All of them, in the order in which they first stepped.

        Raises:
            StepUnavailable: None of its class with as many parameters was recorded, or it keeps
                something that a snapshot does not.
        """
        if not self._optimizers:
            return  # none had stepped yet: all were as the script makes them
        index = self._index_of(optimizer, list(known))
        facts = self._optimizers[index]
        for group, settings in zip(optimizer.param_groups, facts["param_groups"], strict=True):
            for name, value in settings.items():
                set_option(group, name, value)
        optimizer.state.clear()
        parameters = [(p, group) for group in optimizer.param_groups for p in group["params"]]
        for key, value in facts["state"].items():
            number, _, name = key.partition("/")
            if _is_not_kept(value):
                raise StepUnavailable(f"{facts['class']} keeps {name}, which cannot be put back")
            optimizer.state[parameters[int(number)][0]][name] = value
        prefix = f"optimizer/{index}/"
        for key, array in self._arrays.items():
            if key.startswith(prefix):
                number, _, name = key.removeprefix(prefix).partition("/")
                if "/" in name:
                    what = facts["class"]
                    raise StepUnavailable(f"{what} keeps {name}, which cannot be put back")
                parameter, group = parameters[int(number)]
                state = _on_device(name, to_tensor(array), parameter, group)
                optimizer.state[parameter][name] = state

    def _index_of(
        self, optimizer: torch.optim.Optimizer, known: list[torch.optim.Optimizer]
    ) -> int:
        """Return which of the recorded optimizers it is: others that live may never step."""
        what = _describe(optimizer)
        number = sum(_describe(other) == what for other in known[: known.index(optimizer)])
        recorded = list(map(_described, self._optimizers))
        indices = [index for index, was in enumerate(recorded) if was == what]
        if number >= len(indices):
            raise StepUnavailable(f"the script steps {what}; recorded were {', '.join(recorded)}")
        return indices[number]


def set_option(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a parameter group, in the type that it has there."""
    now = group.get(name)
    if name == "params" or _is_not_kept(value):
        return
    if isinstance(now, torch.Tensor):
        now.fill_(value)
    else:
        group[name] = tuple(value) if isinstance(now, tuple) else value


def _is_not_kept(value: Any) -> bool:
    """Return whether a snapshot holds only the type of it."""
    return isinstance(value, dict) and "not_kept" in value


def _restore(name: str, tensor: torch.Tensor, array: Array) -> None:
    if tuple(array.shape) != tuple(tensor.shape):
        raise StepUnavailable(
            f"{name.removeprefix('model/')} has the shape {list(tensor.shape)} in the script and "
            f"had {list(array.shape)}: it is not the script that ran"
        )
    with torch.no_grad():
        tensor.copy_(to_tensor(array))


def _describe(optimizer: torch.optim.Optimizer) -> str:
    """Return the class of an optimizer, and how many parameters its groups hold."""
    kind = type(optimizer)
    numbers = [len(group["params"]) for group in optimizer.param_groups]
    return f"{kind.__module__}.{kind.__qualname__} of {numbers} parameters"


def _described(facts: Mapping[str, Any]) -> str:
    numbers = [len(group["params"]) for group in facts["param_groups"]]
    return f"{facts['class']} of {numbers} parameters"


def _on_device(
    name: str, state: torch.Tensor, parameter: torch.Tensor, group: Mapping[str, Any]
) -> torch.Tensor:
    """Return state where an optimizer keeps it: a step count on the CPU, if nothing asks else."""
    if name == "step" and not (group.get("capturable") or group.get("fused")):
        return state
    return state.to(parameter.device)
