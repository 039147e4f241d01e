"""What trainers update, with what, and what they remember."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from mxnet.gluon import Parameter, Trainer

from ...capture.open_step import OpenStep
from .arrays import arrays_in
from .names import Names
from .observe import Observer


class Optimizers:
    """Observes parameters, gradients, learning rates and states of trainers.

    Args:
        observer: Who takes what is found.
        names: Of the parameters.
    """

    def __init__(self, observer: Observer, names: Names) -> None:
        self._observer, self._names = observer, names
        self._numbers: WeakKeyDictionary[Trainer, int] = WeakKeyDictionary()
        self._next = 0
        self._added_to: list[Parameter] = []
        self._num_stale = 0

    def before_backward(self) -> None:
        """Gradients are about to be computed: see whether they are added to those of old."""
        added_to, self._added_to = self._added_to, []
        # One that is not zero speaks for all: it was forgotten to set them to zero.
        if any(self._is_not_zero(parameter) for parameter in added_to):
            self._num_stale += len(added_to)

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self._observer.scalar(step, "optimizer/stale_gradients", "optimizer", self._num_stale)
        self._num_stale = 0

    def before_update(self, step: OpenStep, trainer: Trainer, *, summed: bool) -> None:
        """Observe weights, and gradients as the update multiplies them.

        Args:
            step: Where to.
            trainer: It is about to update.
            summed: The gradients of all devices are one sum already.
        """
        scale = float(trainer._optimizer.rescale_grad)
        for parameter in trainer._params:
            name = self._names.of_parameter(parameter)
            self._observer.parameter(step, name, parameter, scale=scale, summed=summed)

    def after_update(self, step: OpenStep, trainer: Trainer) -> None:
        """Observe the learning rate that the update used, and what it left behind."""
        self._added_to += [one for one in trainer._params if one.grad_req == "add"]
        if trainer not in self._numbers:
            self._numbers[trainer], self._next = self._next, self._next + 1
        # MXNet asks schedules once for each parameter, so to ask once more changes nothing.
        rate = np.float64(trainer.learning_rate)
        name = f"learning_rate/{self._numbers[trainer]}"
        self._observer.scalar(step, name, "learning_rates", float(rate))
        if step.wants("optimizer_states"):
            self._states(step, trainer)

    def _is_not_zero(self, parameter: Parameter) -> bool:
        value = self._observer.reading.read(parameter._grad[0]) if parameter._grad else None
        return value is not None and bool(value.any())

    def _states(self, step: OpenStep, trainer: Trainer) -> None:
        updater = trainer._kvstore._updater if trainer._update_on_kvstore else trainer._updaters[0]
        states = getattr(updater, "states", {})
        for index, parameter in enumerate(trainer._params):
            name = f"optimizer_state/{self._names.of_parameter(parameter)}"
            for number, (_, array) in enumerate(arrays_in(states.get(index))):
                self._observer.array(step, f"{name}/{number}", "optimizer_states", array)
