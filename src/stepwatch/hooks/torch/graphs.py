"""From the slots of compiled graphs to rows of the open step."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from ...capture.open_step import OpenStep
from ...capture.plan import Plans
from ...record import TensorInfo
from ...statistics import COUNT, NEGINF
from .arrays import dtype_name
from .device import Words
from .graph_slots import Gathered, GraphSlots, Source
from .losses import LossNames
from .names import Names
from .observe import Observer
from .seeing import ATTENTION
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
            known_mode = owner is not None or gathered.source.trains
            step = self._steps.current() if known_mode else self._steps.evaluation()
            saw_loss |= self._observe(step, gathered)
        for sources, rows in self.slots.gather_remote(owner):
            step = self._steps.current()
            note = partial(self._note, step, owner, sources)
            self._observer.defer(step, rows.view(torch.int64).reshape(-1), note)
            saw_loss |= any(source.line is not None for source in sources)
        return saw_loss

    def _note(
        self, step: OpenStep, owner: torch.nn.Module | None, sources: list[Source], words: Words
    ) -> None:
        slots = words.view(np.float64).reshape(len(sources), -1)
        for source, slot in zip(sources, slots, strict=True):
            if slot[0]:  # its graph ran
                self._observe(step, self.slots.gathered(source, slot, owner))

    def _observe(self, step: OpenStep, gathered: Gathered) -> bool:
        """Observe what a slot held; return whether it was a loss."""
        source, name, kind = gathered.source, None, "losses"
        shape, statistics = gathered.shape, gathered.statistics
        if source.what not in ("output", ATTENTION):
            name = self._losses.name(step.mode, source.what, source.line)
        elif (module := self._name_of(gathered)) is not None:
            name, kind = f"{source.what}/{module}{source.inner}", "outputs"
            if source.what == ATTENTION:
                kind, statistics[COUNT] = ATTENTION, statistics[COUNT] - statistics[NEGINF]
                shape, statistics[NEGINF] = (int(statistics[COUNT]),), 0  # what was hidden
            else:
                self._observer.returned.setdefault(module, None)
        if name is not None:
            info = TensorInfo(name, kind, dtype_name(source.dtype), shape)
            self._observer.statistics(step, info, statistics)
        return kind == "losses" and name is not None

    def _name_of(self, gathered: Gathered) -> str | None:
        module = gathered.module
        if module is None:
            return None
        name = self._names.of(module)
        if name is None:  # a function was compiled, and no hook saw the model
            self._names.add_owners(module.parameters())
            name = self._names.of(module)
        return name
