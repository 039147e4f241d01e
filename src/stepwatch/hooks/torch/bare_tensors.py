"""Models that are nothing but tensors of a script, which it updates itself, as first lessons do.

Their weights are tensors that ask for a gradient. No module runs and no optimizer holds them, so
nothing tells of them but the graph of the loss.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..script import is_script, script_variables
from .autograd import forward_order
from .models import Names, Optimizers

#: Of a script so many objects are looked through for the names of tensors, so deep.
_MOST_OBJECTS, _MOST_DEPTH = 4096, 3
# What goes through a list of tensors has such names; another one is better.
_OF_LOOP = re.compile(r"[a-z]|param(eter)?|weight|tensor")
# So many elements of the first and the last tensor tell whether they were updated.
_COMPARED = 8
# After so many backward passes without an update tensors may be others than they were.
_MOST_IDLE = 8


class BareModel(torch.nn.ParameterList):
    """Has the tensors as its parameters; it is never called."""


class BareTensors:
    """Finds tensors that are trained though no module and no optimizer holds any.

    Args:
        names: Of the models that ran.
        optimizers: All that live.
    """

    def __init__(self, names: Names, optimizers: Optimizers) -> None:
        self._names, self._optimizers = names, optimizers
        #: Has them; ``None`` until there are any.
        self.model: BareModel | None = None
        self._leaves: list[torch.Tensor] = []
        self._before: list[torch.Tensor] = []
        # Whether an update makes tensors anew, and after how many backward passes none was seen.
        self._are_made_anew, self._num_idle = False, 0

    def found(self, loss: torch.Tensor, *, looks: bool = True) -> BareModel | None:
        """Return the model of the tensors that a loss is computed of.

        Args:
            loss: About to be differentiated, or just differentiated.
            looks: Look at its graph also where the tensors are the same each time.
        """
        if not self.is_alone:
            self.model, self._leaves = None, []  # another part of the script
            return None
        looks |= self._are_made_anew or self._num_idle > _MOST_IDLE
        if self.model is not None and not looks:
            return self.model
        self._optimizers.scan()
        leaves = [] if any(True for _ in self._optimizers) else list(_leaves(loss))
        if [*map(id, leaves)] == [*map(id, self._leaves)]:
            return self.model
        if not leaves or (named := _named(leaves)) is None:
            return None
        self._are_made_anew = self.model is not None
        self._leaves = leaves
        if self.model is None:
            self.model = BareModel()
        held: dict[str, Any] = self.model._parameters
        held.clear()
        held.update(named)
        if self._names.of(self.model) is not None:
            self._names.add(self.model)
        return self.model

    @property
    def is_alone(self) -> bool:
        """Whether no model ran but that of the tensors, if there are any."""
        return all(root is self.model for root in self._names.roots)

    def keep(self) -> None:
        """Gradients were computed: remember what the tensors hold."""
        if self.model is not None:
            self._num_idle = 0 if self.are_updated() else self._num_idle + 1
            self._before = [one.clone() for one in self._some()]

    def are_updated(self) -> bool:
        """Return whether the tensors hold something else than when gradients were computed."""
        now = list(self._some())
        pairs = zip(now, self._before, strict=False)
        return len(now) != len(self._before) or not all(torch.equal(*pair) for pair in pairs)

    def _some(self) -> Iterator[torch.Tensor]:
        for leaf in (*self._leaves[:1], *self._leaves[-1:]):
            yield leaf.detach().reshape(-1)[:_COMPARED]


def _leaves(loss: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield the tensors that gradients of a loss are kept for, in the order of their use."""
    if loss.grad_fn is not None:
        for node in forward_order(loss.grad_fn):
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                yield leaf


def _named(leaves: list[torch.Tensor]) -> dict[str, torch.Tensor] | None:
    """Return the tensors by what the script calls them; ``None`` if those of a module have no name.

    What is in a list, mapping or object is called as that, and by its place there.
    """
    names = {id(leaf): "" for leaf in leaves}
    seen: set[int] = set()
    waiting: deque[tuple[str, Any, int]] = deque(
        (name, value, 0) for name, value in script_variables() if not name.startswith("__")
    )
    while waiting and len(seen) < _MOST_OBJECTS:
        name, value, depth = waiting.popleft()
        known = names.get(id(value))
        if known == "" or (known is not None and _OF_LOOP.fullmatch(known)):
            names[id(value)] = re.sub(r"\W+", "_", name)
        if depth < _MOST_DEPTH and id(value) not in seen:
            seen.add(id(value))
            waiting.extend((f"{name}_{key}", one, depth + 1) for key, one in _parts(value))
    found: dict[str, torch.Tensor] = {}
    for number, leaf in enumerate(leaves):
        name = names[id(leaf)]
        if not name and isinstance(leaf, torch.nn.Parameter):
            return None
        found[name if name and name not in found else f"tensor_{number}"] = leaf
    return found


def _parts(value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)
    else:
        module = sys.modules.get(type(value).__module__)
        if is_script(getattr(module, "__file__", None) or "<none>"):
            yield from getattr(value, "__dict__", {}).items()
