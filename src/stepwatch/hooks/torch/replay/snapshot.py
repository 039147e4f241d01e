"""What a training step starts from: its batch, random numbers, and the state before it.

Everything is a flat mapping of names to arrays and, beside it, facts as JSON:

- ``rng/torch``, ``rng/numpy``, ``rng/python``, ``rng/cuda/<device>``: where random numbers stand;
- ``model/<name>``: parameters and buffers of the models that are trained;
- ``optimizer/<which>/<parameter>/<state>``: what an optimizer keeps, its parameters counted over
  all its groups as in ``optimizer.state_dict()``.

Random generators are only read. Of an accelerator tensors are copied without waiting for it; their
arrays are made later, on another thread, which does wait.
"""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.parameter import is_lazy

from ..process import is_cuda_used
from ..tensors import dtype_name, tensors_in, to_numpy, unsupported

Array = npt.NDArray[np.generic]


class Copies:
    """Tensors as they are now: views of what is on the CPU, copies of what is elsewhere.

    Args:
        room: How many bytes may be copied; what does not fit is left out and said so.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._views: dict[str, Array] = {}
        self._made: dict[str, Callable[[], Array]] = {}
        self._events: dict[torch.device, Any] = {}
        #: Dtype and shape of each tensor by name and, where it was left out, why.
        self.described: dict[str, dict[str, object]] = {}
        self.size_bytes = 0

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Copy a tensor, if that can be done and there is room."""
        why = why_not_copied(tensor)
        # Not asked for of what may have none.
        shape = list(tensor.shape) if why is None else []
        self.described[name] = {"dtype": dtype_name(tensor.dtype), "shape": shape}
        size_bytes = 0 if why is not None else size_of(tensor)
        if size_bytes > self._room - self.size_bytes:
            why = f"{size_bytes} bytes are too many"
        if why is not None:
            self.described[name]["left_out"] = why
            return
        self.size_bytes += size_bytes
        if tensor.is_cuda:
            self._made[name] = self._copy(tensor.detach())
        else:
            self._views[name] = to_numpy(tensor)

    @property
    def are_here(self) -> bool:
        """Whether nothing is still on its way from an accelerator."""
        return not self._made

    def hold(self) -> None:
        """Copy what is on the CPU as well: it may change in place before it is asked for."""
        self._views = {name: np.array(view) for name, view in self._views.items()}

    def arrays(self) -> dict[str, Array]:
        for event in self._events.values():
            event.synchronize()
        return self._views | {name: made() for name, made in self._made.items()}

    def _copy(self, tensor: torch.Tensor) -> Callable[[], Array]:
        # From pinned memory, which torch does not give away again before the copy is done.
        host = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
        host.copy_(tensor, non_blocking=True)
        stream = torch.cuda.current_stream(tensor.device)
        if tensor.device not in self._events:
            self._events[tensor.device] = stream.record_event()
        self._events[tensor.device].record(stream)
        return lambda: to_numpy(host)


def why_not_copied(tensor: torch.Tensor) -> str | None:
    """Return why the values of a tensor cannot be copied, ``None`` if they can."""
    if type(tensor) is not torch.Tensor and is_lazy(
        tensor
    ):  # first: of such a one nothing else may be asked
        return "not initialized"
    why = unsupported(tensor)
    if why is None and tensor.layout is not torch.strided:
        return f"{tensor.layout} layout".replace("torch.", "")
    return why


def size_of(tensor: torch.Tensor) -> int:
    return tensor.nbytes


def random_states() -> tuple[dict[str, object], dict[str, Array]]:
    """Return where the global random generators stand: facts, and arrays by name.

    Those of torch, NumPy (if it is the Mersenne twister) and Python, and of each CUDA device if
    CUDA is used. A generator that a script has made for itself is not known.
    """
    version, numbers, gauss = random.getstate()
    arrays: dict[str, Array] = {"rng/python": np.frombuffer(array("I", numbers), np.uint32)}
    numbers_of_torch = torch.get_rng_state()
    if unsupported(numbers_of_torch) is None:  # inside of a transform it is no plain tensor
        arrays["rng/torch"] = numbers_of_torch.numpy()
    facts: dict[str, object] = {"python": {"version": version, "gauss": gauss}}
    state: dict[str, Any] = dict(np.random.get_state(legacy=False))
    if state["bit_generator"] == "MT19937":
        arrays["rng/numpy"] = state["state"]["key"]
        known = {name: state[name] for name in ("bit_generator", "has_gauss", "gauss")}
        facts["numpy"] = {**known, "pos": state["state"]["pos"]}
    if is_cuda_used():
        for device, cuda in enumerate(torch.cuda.get_rng_state_all()):
            arrays[f"rng/cuda/{device}"] = cuda.numpy()
    return facts, arrays


def set_random_states(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Put the global random generators where ``random_states`` found them."""
    numbers = tuple(int(number) for number in arrays["rng/python"])
    random.setstate((facts["python"]["version"], numbers, facts["python"]["gauss"]))
    if "rng/torch" in arrays:
        torch.set_rng_state(torch.from_numpy(np.array(arrays["rng/torch"])))
    if "numpy" in facts:
        inner = {"key": np.array(arrays["rng/numpy"]), "pos": facts["numpy"]["pos"]}
        np.random.set_state({**facts["numpy"], "state": inner})
    for name, state in arrays.items():
        if name.startswith("rng/cuda/"):
            device = int(name.rpartition("/")[2])
            torch.cuda.set_rng_state(torch.from_numpy(np.array(state)), device)


def optimizer_state(
    index: int, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, object], dict[str, torch.Tensor]]:
    """Return what an optimizer keeps: facts, and tensors by name.

    Args:
        index: Which optimizer it is.

    Returns:
        Facts: ``class``; ``param_groups`` with their settings and the numbers of their
        ``params``; ``state`` with the numbers that are no tensors, by parameter and name.
    """
    state: dict[str, object] = {}
    tensors: dict[str, torch.Tensor] = {}
    groups: list[dict[str, object]] = []
    number = 0
    for group in optimizer.param_groups:
        first = number
        for number, parameter in enumerate(group["params"], first):
            kept = optimizer.state.get(parameter, {})  # get: it is a defaultdict
            for name, value in kept.items():
                found = dict(tensors_in(value, f"optimizer/{index}/{number}/{name}"))
                tensors |= found
                if not found:
                    state[f"{number}/{name}"] = _plain(value)
        number = first + len(group["params"])
        groups.append({**options_of(group), "params": list(range(first, number))})
    kind = type(optimizer)
    name = f"{kind.__module__}.{kind.__qualname__}"
    return {"class": name, "param_groups": groups, "state": state}, tensors


def options_of(group: Mapping[str, object]) -> dict[str, object]:
    """Return the options of a parameter group as JSON can hold them."""
    return {name: _plain(value) for name, value in group.items() if name != "params"}


def _plain(value: object) -> object:
    """Return a value as JSON can hold it; ``{"not_kept": type}`` for what it cannot."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return value  # Python's JSON knows these
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return {"not_kept": type(value).__name__}
    return value
