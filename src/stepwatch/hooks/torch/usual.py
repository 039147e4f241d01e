"""Steps of which only losses are observed, where each goes like the one before.

To find out what belongs to which step, and what is a step, costs more than a small training step
takes. Where one optimizer steps, and each step runs the same models and computes losses of its own,
nothing of it has to be found out again: a loss is one number, and the optimizer ends the step.
Whatever else happens is handed to the ``Tracker``, with what was observed of the step so far.

Where no other model has run in the whole training, torch calls no hook of ours but one, before
each of these models. Another one that runs then is not seen until its loss is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch

from ...capture.plan import STATISTICS, Plan
from ...capture.recorder import Recorder
from ...model.record import Layout, TensorInfo
from ...model.steps import Mode
from .events import Detail
from .internals import Loss, calling_loss, has_compiled_graphs
from .tensors import dtype_name

if TYPE_CHECKING:
    from ...config.profiler_config import ProfilerConfig
    from .collectors.loop import Loop
    from .tracker import Tracker


class UsualSteps:
    """Observes TRAIN steps that go like those before; see the module.

    Args:
        tracker: Observes everything else.
        loop: Counts the optimizers' steps.
    """

    def __init__(self, tracker: Tracker, recorder: Recorder, loop: Loop) -> None:
        self._tracker, self._recorder, self._loop = tracker, recorder, loop
        self._models: dict[int, ref[torch.nn.Module]] = {}  # by id
        self._last_model: ref[torch.nn.Module] | None = None  # that ran in this step
        self._optimizer: Callable[[], torch.optim.Optimizer | None] = lambda: None
        # By names, whose hashes are known.
        self._losses: dict[str, tuple[TensorInfo, float]] = {}
        self._layouts: dict[tuple[TensorInfo, ...], Layout] = {}
        self._last_layout = Layout(())
        # What is stored of the step that the optimizer is in.
        self._infos: tuple[TensorInfo, ...] = ()
        self._values: tuple[float, ...] = ()
        self._runs = self._loss_since_backward = False
        # The optimizer whose step has begun, and may compute gradients by a closure.
        self._stepping: torch.optim.Optimizer | None = None
        self._always: Container[str] = ()  # of these statistics are saved at each step
        self._rates: list[TensorInfo] = []  # the learning rates of the optimizer's groups
        self._is_alone = False  # no hook is called on any other module
        self._config: ProfilerConfig | None = None
        for event, handler in (
            ("before_forward", self._before_forward),
            ("after_forward", self._after_forward),
            ("after_loss", self._after_loss),
            ("before_backward", self._before_backward),
            ("before_scaled_step", self._before_scaled_step),
            ("before_optimizer", self._before_optimizer),
            ("after_closure", self._after_closure),
            ("after_optimizer", self._after_optimizer),
            ("scheduler_step", loop.scheduled),
            ("logged", tracker.logged.observe),
        ):
            tracker.events.subscribe_at(Detail.USUAL, event, handler)

    def begin(self) -> None:
        """A TRAIN step has ended, and the next is thin: take it over if all goes as usual."""
        tracker = self._tracker
        optimizers, models = list(tracker.optimizers), tracker.last_models
        num_trained = sum(map(tracker.names.is_trained, tracker.names.roots))
        self._config = config = self._recorder.profiler.config
        is_usual = (
            len(optimizers) == 1
            and 0 < num_trained == len(models)
            and tracker.steps.goes_by_optimizer
            and not has_compiled_graphs()
            and (config is None or not config.has_ranges)
        )
        if is_usual:
            plan = self._recorder.plan  # another one means that the next step is a full one
            self._always = plan.always if isinstance(plan, Plan) else ()
            self._models, self._optimizer = models, ref(optimizers[0])
            self._last_model, self._stepping, self._runs, self._infos = None, None, False, ()
            tracker.events.detail = Detail.USUAL
            alive = [module for one in models.values() if (module := one()) is not None]
            is_alone = len(tracker.names.roots) == len(alive) and not tracker.has_own_losses
            self._is_alone = is_alone and tracker.watch_only(alive)

    def leave(self) -> None:
        """Hand the step to the tracker, with what was observed so far."""
        tracker = self._tracker
        if tracker.events.detail is not Detail.USUAL:
            return
        tracker.events.detail = Detail.LOSSES
        tracker.resume_hooks()
        optimizer, self._stepping = self._stepping, None
        if optimizer is not None:
            with tracker.observer.without_gradients():
                tracker.before_any_optimizer(optimizer)
        model = self._last_model() if self._last_model is not None else None
        if model is not None:
            tracker.continue_step(model, runs=self._runs)
        self._last_model = None
        for info, value in self._losses.values():
            tracker.continue_loss(info, value, is_new=self._loss_since_backward)
        self._losses = {}

    def _before_forward(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        tracker = self._tracker
        known = self._known(module)
        if known is not None and torch.is_grad_enabled() and module.training:
            self._last_model = known
            if not self._is_alone:
                self._runs = tracker.pause_inside(module)
        elif isinstance(module, Loss):
            tracker.loss_depth += 1
        elif not (self._runs or tracker.loss_depth):
            self.leave()
            tracker.before_thin_forward(module, inputs)

    def _after_forward(self, module: torch.nn.Module, given: Any, output: object) -> None:
        if isinstance(module, Loss):
            self._tracker.loss_depth = max(0, self._tracker.loss_depth - 1)
            inputs, keywords = given
            self._after_loss(type(module).__name__, output, inputs, keywords, module)
        elif self._known(module) is not None:
            self._runs = False

    def _known(self, module: torch.nn.Module) -> ref[torch.nn.Module] | None:
        """Return the reference to one of the models; ``None`` of others."""
        known = self._models.get(id(module))
        return known if known is not None and known() is module else None

    def _after_loss(
        self, name: str, value: Any, inputs: Any, keywords: Any, module: Any = None
    ) -> None:
        tracker = self._tracker
        if tracker.loss_depth:
            return
        if (self._is_alone or self._runs) and (module := calling_loss()) is not None:
            name = type(module).__name__
        if self._observe(name, value):
            self._loss_since_backward = True
            return
        is_unseen = self._last_model is None
        self.leave()
        if is_unseen and isinstance(value, torch.Tensor) and not value.requires_grad:
            return  # of a model that ran before anybody could see it
        tracker.after_any_loss(name, value, inputs, keywords, module)

    def _observe(self, name: str, value: Any) -> bool:
        """Observe a loss; return whether that could be, as it is one like those before."""
        info = self._tracker.observer.known_scalar(self._tracker.loss_name(name))
        if info is None or not self._is_usual(value, info):
            return False
        number = value.item()  # on a GPU it waits for the model alone, and what is wrong is known
        if not math.isfinite(number):
            return False
        self._losses[info.name] = info, number
        return True

    def _is_usual(self, value: Any, info: TensorInfo) -> bool:
        """Return whether of a loss that was not observed in this step its value is all."""
        return (
            type(value) is torch.Tensor
            and value.requires_grad
            and value.shape == info.shape
            and dtype_name(value.dtype) == info.dtype
            and info.name not in self._losses
            and self._has_usual_level(info)
        )

    def _has_usual_level(self, info: TensorInfo) -> bool:
        """Return whether statistics, and nothing else, are saved of a tensor at this step."""
        if info.name in self._always:
            return True
        plan = self._recorder.plan
        _, mode_step = self._recorder.counter.peek(Mode.TRAIN)
        return plan.level(info.name, info.collection, Mode.TRAIN, mode_step) == STATISTICS

    def _before_backward(self, roots: object) -> None:
        # What it is called on is the loss where no function of torch computed one.
        if self._loss_since_backward or self._observe("backward", roots):
            self._loss_since_backward = False
            self._loop.num_backward_calls += 1
            self._tracker.keep_singular(roots)
            return
        self.leave()
        self._tracker.before_thin_backward(roots)

    def _before_scaled_step(self, scaler: object) -> None:
        self.leave()
        self._tracker.before_scaled_step(scaler)

    def _before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        tracker = self._tracker
        if tracker.has_closure and self._last_model is None and optimizer is self._optimizer():
            self._stepping = optimizer
        elif not self._complete(optimizer):
            self.leave()
            tracker.before_any_optimizer(optimizer)

    def _after_closure(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._complete(optimizer):
            self.leave()

    def _complete(self, optimizer: torch.optim.Optimizer) -> bool:
        """Note what is to be stored of a step whose gradients are there; return whether it is."""
        tracker = self._tracker
        is_usual = optimizer is self._optimizer() and self._losses and self._last_model is not None
        if not is_usual or tracker.parameters.are_thawed():
            return False
        if not tracker.first_gradients.is_finite(optimizer):
            return False
        rates = self._learning_rates(optimizer)
        if rates is None:
            return False
        scalars = [*self._losses.values(), *rates]
        scalars += [one for one in tracker.logged.take().items() if self._has_usual_level(one[0])]
        self._infos, self._values = zip(*scalars, strict=True)
        return True

    def _learning_rates(
        self, optimizer: torch.optim.Optimizer
    ) -> list[tuple[TensorInfo, float]] | None:
        """Return the learning rates; ``None`` if one is no number, or was not there before."""
        groups = optimizer.param_groups
        if len(self._rates) != len(groups):
            names = (f"learning_rate/{number}" for number in range(len(groups)))
            known = [self._tracker.observer.known_scalar(name) for name in names]
            self._rates = [info for info in known if info is not None]
            if len(self._rates) != len(groups):
                return None
        rates = []
        for info, group in zip(self._rates, groups, strict=True):
            rate = group.get("lr")
            if type(rate) is not float or not self._has_usual_level(info):
                return None
            rates.append((info, rate))
        return rates

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        tracker, infos = self._tracker, self._infos
        if not infos:  # its closure was not called
            self.leave()
            tracker.after_any_optimizer(optimizer)
            return
        tracker.num_optimizer_steps += 1
        self._loop.stepped()
        layout = self._last_layout
        if layout.tensors != infos:  # which are the very same at most steps
            layout = self._last_layout = self._layouts.setdefault(infos, Layout(infos))
        self._recorder.take_scalars(layout, self._values)
        self._infos, self._losses = (), {}
        self._last_model = self._stepping = None
        if not self._recorder.thins_next(Mode.TRAIN):
            tracker.events.detail = Detail.FULL
            self._loop.skipped()
            tracker.keep_gradients_of(optimizer)
        elif self._recorder.profiler.config is not self._config:
            tracker.events.detail = Detail.LOSSES
        else:
            return
        tracker.resume_hooks()
