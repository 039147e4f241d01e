"""What was seen in a traced function, as one more output of it.

What the numbers are of is in the structure of the output, which a compiled function keeps beside
its graph: whichever of its graphs runs, its output says what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from ...record import TensorInfo
from .words import Words


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["words", "whole", "inner"],
    meta_fields=["infos", "whole_of", "trains", "is_loop"],
)
@dataclass(frozen=True)
class Seen:
    """What was seen in a traced function.

    Args:
        words: The statistics, shape ``[infos, WIDTH]``, int32; ``None`` if there are none.
        whole: Full values of some of the tensors.
        inner: What was seen in loops inside.
        infos: The tensors.
        whole_of: Of which of them ``whole`` is, by place.
        trains: Whether gradients were computed.
        is_loop: Whether all arrays have one more axis in front: the turns of a loop.
    """

    words: Any = None
    whole: tuple[Any, ...] = ()
    inner: tuple[Seen, ...] = ()
    infos: tuple[TensorInfo, ...] = ()
    whole_of: tuple[int, ...] = ()
    trains: bool = False
    is_loop: bool = False

    def __bool__(self) -> bool:
        return bool(self.infos or self.inner or self.trains)

    @property
    def kinds(self) -> set[str]:
        """The collections of all tensors."""
        return {info.collection for info in self.infos}.union(*(one.kinds for one in self.inner))

    def as_loop(self) -> Seen:
        """Return it as that of a loop, each of whose turns gave this."""
        return replace(self, is_loop=bool(self))

    def turns(self) -> Sequence[Seen]:
        """Return what was seen in each turn of a loop."""
        leaves, structure = jax.tree.flatten(self)
        for_one = [structure.unflatten(turn) for turn in zip(*leaves, strict=True)]
        return [replace(turn, is_loop=False) for turn in for_one]


@dataclass(frozen=True)
class Part:
    """Something of one step: tensors with their words, and full values by place."""

    infos: tuple[TensorInfo, ...]
    words: Words
    whole: dict[int, Any]


def steps_in(seen: Seen) -> list[list[Part]]:
    """Return the steps of what was seen, in order: one, or those of a loop that trains.

    Args:
        seen: With arrays of NumPy.
    """
    if seen.is_loop:
        seen = Seen(inner=(seen,), trains=seen.trains)
    steps: list[list[Part]] = []
    parts: list[Part] = []
    if seen.infos:
        whole = dict(zip(seen.whole_of, seen.whole, strict=True))
        parts.append(Part(seen.infos, seen.words, whole))
    for inner in seen.inner:
        for turn in inner.turns() if inner.is_loop else [inner]:
            *before, last = steps_in(turn)
            if inner.is_loop and inner.trains:
                steps += [*before, last]
            else:
                steps += before
                parts += last
    if steps and seen.trains:  # what is outside of the loop comes with its last turn
        steps[-1] += parts
        return steps
    return [*steps, parts]


def on_host(seen: Seen) -> Seen:
    """Return the same with arrays of NumPy; waits until they are computed."""
    # A script may have forbidden transfers that are not asked for by name, for itself.
    with jax.transfer_guard_device_to_host("allow"):
        return jax.tree.map(_on_host, seen)  # type: ignore[no-any-return]


def _on_host(value: Any) -> Any:
    if getattr(value, "is_fully_addressable", True):
        return np.asarray(value)
    return np.asarray(value.addressable_data(0))  # of several processes: it is the same in each
