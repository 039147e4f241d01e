"""Where in the script the parts of a training were made: its layers, losses and optimizers.

A place is ``FILE:LINE``, of the innermost frame that is no installed package's. It is noted when
torch registers a layer with its owner and when an optimizer is made, and once for each loss: never
while a model runs.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch

from ...script import script_place
from ..models import Names

# Of a larger model the places of the layers near its root are kept.
_MOST = 2000


class Sources:
    """Notes places, and says which parts have which.

    Args:
        names: Of the modules.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._children: WeakKeyDictionary[torch.nn.Module, dict[str, str]] = WeakKeyDictionary()
        self._places: dict[str, str] = {}
        self._num_optimizers = 0

    def registered(self, owner: torch.nn.Module, name: str, part: torch.nn.Module | None) -> None:
        """Note where a module became a part of another."""
        if part is not None and (place := script_place()):
            self._children.setdefault(owner, {})[name] = place

    def made_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Note where an optimizer was made."""
        del optimizer
        self._num_optimizers += 1
        name = "optimizer" if self._num_optimizers == 1 else f"optimizer/{self._num_optimizers}"
        self._keep(name)

    def on_loss(self, step: object, name: str, *_: object) -> None:
        """Note where a loss is computed, the first time."""
        del step
        if name not in self._places:
            self._keep(name)

    def _keep(self, name: str) -> None:
        if len(self._places) < _MOST:
            self._places[name] = script_place()

    def places(self) -> dict[str, str]:
        """Return the place of each part by its name; of a part made where its owner was, none.

        Losses have the names of their tensors, optimizers are ``optimizer``, ``optimizer/2``, and
        modules have theirs after ``module/``.
        """
        found = {name: place for name, place in self._places.items() if place}
        for root in self._names.roots:
            made: dict[str, str] = {}
            for path, owner in root.named_modules():
                for name, place in self._children.get(owner, {}).items():
                    made[f"{path}.{name}" if path else name] = place
                    part = getattr(owner, name, None)
                    known = self._names.of(part) if isinstance(part, torch.nn.Module) else None
                    if known and place != made.get(path) and len(found) < _MOST:
                        found[f"module/{known}"] = place
        return found
