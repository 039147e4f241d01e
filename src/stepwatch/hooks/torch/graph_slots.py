"""What runs inside compiled graphs: its statistics are part of the graph, and are taken from there.

A hook that a compiler traces adds the statistics of a tensor to a *slot*, a tensor of ours that
the graph changes in place. No value of the model leaves the graph, and nothing breaks it. A graph
that several modules share, as the blocks of a model that are compiled one by one, has one set of
slots: they are emptied after each of these modules.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.modules.loss import _Loss

from .graph_statistics import EMPTY, Rows, shape_of, statistics_of
from .seeing import ATTENTION, Seeing
from .traced import Traced, traced_tensor

_log = logging.getLogger("stepwatch")
Module = torch.nn.Module
_CHUNK = 256

# To which collection belongs what is seen, if it is no loss.
_KINDS = {"output": "outputs", ATTENTION: ATTENTION}


def is_host(device: torch.device) -> bool:
    """Return whether what a device holds can be read without a transfer."""
    return device.type == "cpu"


@dataclass(frozen=True, slots=True)
class Source:
    """Whose statistics a slot holds.

    Args:
        what: ``output``, ``attention``, or the name of a functional loss or of a class of losses.
        inner: Where in a nested output the tensor lies, such as ``/logits``.
        module: The innermost module that ran.
        root: The module that was compiled, if it was one.
        path: From the root to the module; ``None`` if it is no part of it.
        line: The line of the script.
        dtype: The tensor's.
        num_axes: How many axes it has.
        device: Where it is.
        trains: Whether gradients were computed.
    """

    what: str
    inner: str
    module: weakref.ref[Module] | None
    root: weakref.ref[Module] | None
    path: str | None
    line: object
    dtype: torch.dtype
    num_axes: int
    device: torch.device
    trains: bool

    def is_of(self, owner: Module | None) -> bool:
        """Return whether a graph of this ran for ``owner``, or for a function if that is none."""
        root = self.root() if self.root is not None else None
        return root is None if owner is None else type(owner) is type(root)

    def module_of(self, owner: Module | None) -> Module | None:
        """Return the module for which the graph ran, if it ran for ``owner``."""
        root = self.root() if self.root is not None else None
        is_like = owner is not None and owner is not root and type(owner) is type(root)
        module = self.module() if self.module is not None else None
        if owner is not None and is_like and self.path is not None:
            # One of the same class may have other parts; then the graph ran for another.
            with suppress(AttributeError):
                part = owner.get_submodule(self.path)
                return part if type(part) is type(module) else module
        return module


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a slot held."""

    source: Source
    module: Module | None
    shape: tuple[int, ...]
    statistics: Rows


class GraphSlots:
    """The slots of all graphs that were compiled while a hook was there.

    Args:
        wants: Whether anything of a collection is ever saved.
    """

    def __init__(self, wants: Callable[[str], bool] = lambda _: True) -> None:
        self._wants = wants
        self._sources: list[Source] = []
        self._remote: dict[torch.device, dict[Source, torch.Tensor]] = {}
        self._empty: dict[torch.device, torch.Tensor] = {}
        self._names: dict[Source, str] = {}
        self._tensors = _Tensors()
        self._chunks: list[Rows] = []
        #: The classes of modules that were compiled.
        self.roots: set[type[Module]] = set()
        #: Why what was met in a graph is not seen, by module.
        self.problems: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        #: How often attention was compiled of shapes that may change, which is not seen.
        self.num_attention = 0
        self.seeing = Seeing(self._slot, self._has_fixed_shape, self._tensors)

    def gather(self, owner: Module | None) -> Iterator[Gathered]:
        """Yield what graphs added since, and empty their slots.

        Args:
            owner: The module that has just run, if one has: a graph ran for it or a part of it.
        """
        for first, chunk in zip(range(0, len(self._sources), _CHUNK), self._chunks, strict=True):
            for row in np.flatnonzero(chunk[:, 0]).tolist():
                source = self._sources[first + row]
                slot = chunk[row].copy()
                chunk[row] = EMPTY
                yield self.gathered(source, slot, owner)

    def clear(self) -> None:
        """Forget what graphs added since."""
        for chunk in self._chunks:
            chunk[:] = EMPTY
        for device, slots in self._remote.items():
            torch._foreach_copy_(list(slots.values()), [self._empty[device]] * len(slots))

    def gather_remote(self, owner: Module | None) -> Iterator[tuple[list[Source], torch.Tensor]]:
        """Yield the same of an accelerator, as it is there, shape ``[sources, SLOT_WIDTH]``.

        Which slots are empty is not known there: those are taken of which a graph has run, which
        are the ones like ``owner``; without one those of functions.
        """
        for device, slots in self._remote.items():
            mine = {source: slot for source, slot in slots.items() if source.is_of(owner)}
            if mine:
                tensors = list(mine.values())
                rows = torch.stack(tensors)
                torch._foreach_copy_(tensors, [self._empty[device]] * len(tensors))
                yield list(mine), rows

    def gathered(self, source: Source, slot: Rows, owner: Module | None) -> Gathered:
        """Return what a slot held, shape ``[SLOT_WIDTH]``."""
        shape = shape_of(slot, source.num_axes)
        return Gathered(source, source.module_of(owner), shape, statistics_of(slot[None])[0])

    def _slot(self, what: str, inner: str) -> str:
        """Return the name of the slot of what is being traced; nothing if it cannot have one."""
        try:
            traced = traced_tensor() if self._wants(_KINDS.get(what, "losses")) else None
            if traced is None:
                return ""
            if traced.problem:
                if traced.module is not None and traced.problem != "empty":
                    self.problems[traced.module] = traced.problem
                return ""
            if isinstance(traced.module, _Loss) and what != type(traced.module).__name__:
                return ""  # the functional one inside of it
            if traced.root is not None:
                self.roots.add(type(traced.root))
            return self._place(_source(what, inner, traced))
        except Exception:  # noqa: BLE001  a compiler must not fail for us, nor a training with it
            _log.debug("what is compiled is not seen", exc_info=True)
            return ""

    def _has_fixed_shape(self) -> bool:
        """Return whether what is being traced has one shape only, and attention is wanted."""
        if not self._wants(ATTENTION):
            return False
        try:
            traced = traced_tensor()
            fixed = traced is not None and traced.is_fixed and not traced.problem
        except Exception:  # noqa: BLE001  as in ``_slot``
            fixed = False
        self.num_attention += not fixed
        return fixed

    def _place(self, source: Source) -> str:
        if source not in self._names:
            slot = self._new_slot(source)
            torch._dynamo.mark_static(slot)
            self._names[source] = f"slot_{len(self._names)}"
            setattr(self._tensors, self._names[source], slot)
        return self._names[source]

    def _new_slot(self, source: Source) -> torch.Tensor:
        if not is_host(source.device):
            slot = torch.from_numpy(EMPTY.copy()).to(source.device)
            self._remote.setdefault(source.device, {})[source] = slot
            self._empty.setdefault(source.device, slot.clone())
            return slot
        number = len(self._sources)
        if number % _CHUNK == 0:
            self._chunks.append(np.tile(EMPTY, (_CHUNK, 1)))
        self._sources.append(source)
        # A storage of its own: a compiler minds inputs that share one.
        return torch.from_numpy(self._chunks[-1][number % _CHUNK])


class _Tensors:
    """The slots as attributes: a compiler takes one for an input of its graph."""


def _source(what: str, inner: str, traced: Traced) -> Source:
    module, root, tensor = traced.module, traced.root, traced.tensor
    path = None
    if root is not None:
        path = next((path for path, part in root.named_modules() if part is module), None)
    return Source(
        what,
        inner,
        None if module is None else weakref.ref(module),
        None if root is None else weakref.ref(root),
        path,
        None if what in _KINDS else traced.line,
        tensor.dtype,
        tensor.ndim,
        tensor.device,
        torch.is_grad_enabled(),
    )
