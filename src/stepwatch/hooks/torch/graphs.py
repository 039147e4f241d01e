"""From the slots of compiled graphs to rows of the open step."""

from __future__ import annotations

import torch

from ...capture.plan import Plans
from ...record import TensorInfo
from .arrays import dtype_name
from .graph_slots import Gathered, GraphSlots
from .losses import LossNames
from .names import Names
from .observe import Observer
from .steps import Steps


class Graphs:
    """Observes what ran inside compiled graphs.

    Args:
        plan: What is saved.
        names: Of the models.
        losses: Names of losses.
        observer: Who takes what is found.
        steps: In which step.
    """

    def __init__(
        self,
        plan: Plans,
        names: Names,
        losses: LossNames,
        observer: Observer,
        steps: Steps,
    ) -> None:
        self._names = names
        self._losses = losses
        self._observer = observer
        self._steps = steps
        #: What the graphs have.
        self.slots = GraphSlots(plan.wants)

    def runs(self, module: torch.nn.Module) -> bool:
        """Return whether a module like this one was compiled."""
        return type(module) in self.slots.roots

    def gather(self, owner: torch.nn.Module | None = None) -> bool:
        """Observe what ran since; return whether a loss was among it.

        Args:
            owner: The module that was compiled and has just run, if it is known.
        """
        saw_loss = False
        for gathered in self.slots.gather(owner):
            source = gathered.source
            known_mode = owner is not None or source.trains
            step = self._steps.current() if known_mode else self._steps.evaluation()
            if source.what == "output":
                name = self._name_of(gathered)
                kind = "outputs"
                if name is not None:
                    self._observer.returned.setdefault(name, None)
                    name = f"output/{name}{source.inner}"
            else:
                name = self._losses.name(step.mode, source.what, source.line)
                kind, saw_loss = "losses", True
            if name is not None:
                info = TensorInfo(name, kind, dtype_name(source.dtype), gathered.shape)
                self._observer.statistics(step, info, gathered.statistics)
        return saw_loss

    def _name_of(self, gathered: Gathered) -> str | None:
        module = gathered.module
        if module is None:
            return None
        name = self._names.of(module)
        if name is None:  # a function was compiled, and no hook saw the model
            self._names.add_owners(module.parameters())
            name = self._names.of(module)
        return name
