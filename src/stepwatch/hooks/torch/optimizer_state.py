"""What optimizers remember of each parameter: momentum, variances, how often they stepped."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ...capture.open_step import OpenStep
from .observe import Observer
from .parameters import Parameters
from .scalars import Scalars
from .sharded import is_distributed


class OptimizerStates:
    """Observes the state of optimizers, as it is once they have stepped.

    Args:
        parameters: Of the optimizers.
        observer: Who takes the tensors.
        scalars: Who takes the numbers.
    """

    def __init__(self, parameters: Parameters, observer: Observer, scalars: Scalars) -> None:
        self._parameters = parameters
        self._observer = observer
        self._scalars = scalars

    def observe(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """Observe each tensor of the state, whatever it is called, and ``step``.

        Lists, such as the history of LBFGS, and numbers other than ``step`` are left out.
        """
        if not step.wants("optimizer_states"):
            return
        states = optimizer.state
        for one in self._parameters.of(optimizer):
            state = states.get(one.parameter)
            if isinstance(state, Mapping):  # other people's optimizers may hold anything
                for key, value in state.items():
                    self._observe(step, f"optimizer_state/{one.weight.name}/{key}", value)

    def _observe(self, step: OpenStep, name: str, value: object) -> None:
        if name in step:  # two groups hold the parameter
            return
        if isinstance(value, torch.Tensor):
            if value.dim() or is_distributed(value):
                self._observer.tensor(step, name, value, "optimizer_states")
            else:
                self._scalars.add(step, name, "optimizer_states", value)
        elif name.endswith("/step") and isinstance(value, (int, float)):
            self._observer.scalar(step, name, value, "optimizer_states")
