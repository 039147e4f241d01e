"""What this process holds of a tensor that is spread over several.

A ``DTensor`` is looked at only where it lies. Nothing here starts a collective: another process
may be elsewhere in its training, and both would wait for ever.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import torch

from ...record import TensorInfo

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_DTENSOR = "torch.distributed.tensor"
_COLLECTIVES = "torch.distributed._functional_collectives"
# What fully_shard and replicate put before the class of a module.
_SWAPPED = ("FSDPModule", "ReplicateModule")


class Part(NamedTuple):
    """What this process holds of a tensor.

    Args:
        tensor: The local part, detached; the tensor itself where it is no distributed one.
        offset: Where it begins in the whole tensor; ``None`` where it is the whole.
        missing: Why it cannot be observed, ``None`` if it can.
    """

    tensor: torch.Tensor
    offset: tuple[int, ...] | None = None
    missing: str | None = None


def is_distributed(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is spread over processes, or what a collective is still to fill."""
    if type(tensor) in _PLAIN:
        return False
    return _is_a(tensor, _DTENSOR, "DTensor") or _is_pending(tensor)


def part_of(tensor: torch.Tensor) -> Part:
    """Return what this process holds of a tensor of any kind.

    The result of a collective that is under way is not waited for: another process may wait for
    what this one does next.
    """
    if not is_distributed(tensor):
        return Part(tensor)
    if _is_pending(tensor):
        return _settled(tensor)
    spread: Any = tensor
    local, _, missing = _settled(spread._local_tensor)
    if missing is not None:
        return Part(local, missing=missing)
    if any(placement.is_partial() for placement in spread.placements):
        return Part(local, missing="a sum that is still spread over the workers")
    if spread.device_mesh.get_coordinate() is None:
        return Part(local, missing="held by other workers")
    if all(placement.is_replicate() for placement in spread.placements):
        return Part(local)
    return Part(local, _offset(spread.shape, spread.device_mesh, spread.placements))


@lru_cache(maxsize=1 << 16)
def placed(info: TensorInfo, offset: tuple[int, ...]) -> TensorInfo:
    """Return what is known of a tensor, of which this process holds the part from ``offset``."""
    return replace(info, offset=offset)


def class_of(module: torch.nn.Module) -> type[torch.nn.Module]:
    """Return the class of a module as its author wrote it.

    ``fully_shard`` puts a class of its own, ``FSDPLinear``, in the place of ``Linear``.
    """
    kind = type(module)
    while len(kind.__bases__) == 2 and kind.__bases__[0].__name__ in _SWAPPED:
        kind = kind.__bases__[1]
    return kind


class OwnParameters:
    """The parameters of models as optimizers hold them.

    While a module runs, and with some settings until the next backward, ``fully_shard`` has whole
    parameters in the place of the sharded ones.
    """

    def __init__(self) -> None:
        self._sharded: WeakKeyDictionary[torch.nn.Module, dict[str, ref[torch.nn.Parameter]]]
        self._sharded = WeakKeyDictionary()

    def of(self, model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Yield every parameter of a model with its path, as ``named_parameters`` does."""
        known = self._sharded.setdefault(model, {})
        for path, parameter in model.named_parameters():
            if is_distributed(parameter):
                known[path] = ref(parameter)
            sharded = known[path]() if path in known else None
            yield path, parameter if sharded is None else sharded


@lru_cache(maxsize=1 << 16)
def _offset(shape: torch.Size, mesh: object, placements: tuple[object, ...]) -> tuple[int, ...]:
    # There is no public name for it; checkpoints are laid out by it.
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    _, offset = compute_local_shape_and_global_offset(shape, mesh, placements)  # type: ignore[arg-type]
    return tuple(int(start) for start in offset)


def _settled(tensor: torch.Tensor) -> Part:
    """Return a tensor as a plain one, if what fills it is known to be over."""
    with torch.no_grad():
        if _is_pending(tensor):
            filled: Any = tensor
            if not filled.completed:
                return Part(tensor, missing="a collective that is under way")
            tensor = filled.elem
        return Part(tensor.detach())


def _is_pending(tensor: torch.Tensor) -> bool:
    return _is_a(tensor, _COLLECTIVES, "AsyncCollectiveTensor")


def _is_a(tensor: torch.Tensor, module: str, name: str) -> bool:
    """Return whether a tensor is of a class; there is none while its module is not imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(tensor, kind)
