"""What matters in a step beside weights, gradients, outputs and losses."""

from __future__ import annotations

from typing import Protocol

import torch

from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from .activity import Activity
from .attention import Attention
from .batch import Batches
from .channels import Channels
from .dependence import Dependence
from .embeddings import Embeddings
from .loop import Loop
from .loss_call import LossCall
from .loss_inputs import LossInputs
from .names import Names
from .observe import Observer
from .optimizer_state import OptimizerStates
from .parameters import Parameters
from .profiled import Profiled
from .quantiles import Quantiles
from .routing import Routing
from .samples import Samples
from .scalars import Scalars
from .summaries import Summaries
from .tokens import Tokens
from .updates import Updates


class OfOutputs(Protocol):
    """Observes something of what modules return."""

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told, in a step in which a model begins to run."""

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module of this name returned."""


class Extras:
    """Observes what is given to models and losses, attention, updates and more, where it is wanted.

    Args:
        names: Of the models.
        parameters: Of the optimizers.
        observer: Who takes what is found.
        recorder: Whose profiler is told where the time goes.
    """

    def __init__(
        self, names: Names, parameters: Parameters, observer: Observer, recorder: Recorder
    ) -> None:
        self.attention = Attention(names, observer)
        self._batches = Batches(names, observer)
        self._samples = Samples(names, observer)
        self._scalars = Scalars(observer)
        self.loop = Loop(observer, self._scalars, recorder.profiler.phases)
        self._profiled = Profiled(recorder)
        self._loss_inputs = LossInputs(observer)
        self._states = OptimizerStates(parameters, observer, self._scalars)
        self._updates = Updates(parameters, self._scalars)
        summaries = Summaries(observer)
        self.activity = Activity(self.attention.innermost, summaries)
        self._channels = Channels(names, observer, summaries)
        self._dependence = Dependence(summaries)
        self._embeddings = Embeddings(names, parameters, summaries)
        self._quantiles = Quantiles(parameters, summaries)
        self._of_outputs: tuple[OfOutputs, ...] = (
            self.activity,
            self._quantiles,
            Routing(names, summaries),
            Tokens(observer, summaries),
            self._profiled.layers,
            self._dependence,
        )
        self._listening: list[OfOutputs] = []

    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""
        self.loop.after_backward()
        self._profiled.layers.after_backward()

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """A model begins to run; see ``Batches.observe``."""
        self._profiled.begin(step)
        self.attention.begin()
        self.activity.begin()
        self.loop.begin(step)
        self._batches.observe(step, model, inputs)
        self._samples.observe(step, model, inputs)
        self._channels.observe(step, model, inputs)
        self._dependence.begin(step, model, inputs)
        self._listening = [one for one in self._of_outputs if one.listens(step)]

    def enter(self, module: torch.nn.Module) -> None:
        """A module begins to run."""
        self.loop.enter(module)
        self.attention.enter(module)
        self._profiled.layers.enter(module)

    def saw_loss(self, step: OpenStep, name: str, value: torch.Tensor, call: LossCall) -> None:
        """A loss was computed, and this is how it is named."""
        self._dependence.observe(step, name, call)
        self._loss_inputs.observe(step, name, call)
        self.loop.saw_loss(step, value)

    def saw_written_loss(self, step: OpenStep, name: str, value: torch.Tensor) -> None:
        """What ``backward()`` is called on, and no loss of torch is."""
        self._dependence.observe_written(step, name, value)

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module of this name returned."""
        for one in self._listening:
            one.returned(step, module, name, given, output)

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        self._embeddings.before_update(step, optimizer)
        self._quantiles.before_update(step, optimizer)
        self._updates.before(step, optimizer)
        self.loop.updates()

    def after_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """It stepped."""
        self._updates.after(step)
        self._states.observe(step, optimizer)

    def listen(self) -> None:
        """Something may be observed from here on."""
        self._profiled.listen()

    def pause(self) -> None:
        """Nothing is observed for a while."""
        self._dependence.forget()
        self.loop.pause()
        self._profiled.pause()

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: observe what is still on an accelerator."""
        self._dependence.forget()
        self.loop.complete(step)
        self._profiled.layers.complete()
        self._scalars.finish()
