"""What matters in a step beside weights, gradients, outputs and losses."""

from __future__ import annotations

import torch

from ...capture.open_step import OpenStep
from .attention import Attention
from .batch import Batches
from .names import Names
from .observe import Observer
from .optimizer_state import OptimizerStates
from .parameters import Parameters
from .scalars import Scalars
from .updates import Updates


class Extras:
    """Observes batches, attention, updates and what optimizers remember, where it is wanted.

    Args:
        names: Of the models.
        parameters: Of the optimizers.
        observer: Who takes what is found.
    """

    def __init__(self, names: Names, parameters: Parameters, observer: Observer) -> None:
        self.attention = Attention(names, observer)
        self._batches = Batches(names, observer)
        self._scalars = Scalars(observer)
        self._states = OptimizerStates(parameters, observer, self._scalars)
        self._updates = Updates(parameters, self._scalars)

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """A model begins to run; see ``Batches.observe``."""
        self.attention.begin()
        self._batches.observe(step, model, inputs)

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        self._updates.before(step, optimizer)

    def after_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """It stepped."""
        self._updates.after(step)
        self._states.observe(step, optimizer)

    def finish(self) -> None:
        """A step ends: observe what is still on an accelerator."""
        self._scalars.finish()
