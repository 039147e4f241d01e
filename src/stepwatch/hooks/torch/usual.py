"""Steps of which only losses are observed, where each goes like the one before.

To find out what belongs to which step, and what is a step, costs more than a small training step
takes. Where one model runs, one optimizer steps, and each step computes losses of its own, nothing
of it has to be found out again: a loss is one number, and the optimizer ends the step. Whatever
else happens is handed to the ``Tracker``, with what was observed of the step so far.

Where no other model has run in the whole training, torch calls no hook of ours but one, before
that model. Another one that runs then is not seen until its loss is computed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch
from torch.nn.modules import loss as losses

from ...capture.plan import STATISTICS, Plan
from ...capture.recorder import Recorder
from ...model.record import Layout, TensorInfo
from ...model.steps import Mode
from .events import Detail
from .internals import Loss, has_compiled_graphs
from .tensors import dtype_name

if TYPE_CHECKING:
    from ...config.profiler_config import ProfilerConfig
    from .collectors.loop import Loop
    from .tracker import Tracker


# Where the losses of torch that are modules are defined, and how near they call its functions.
_LOSSES_FILE, _MOST_FRAMES = losses.__file__, 4


class UsualSteps:
    """Observes TRAIN steps that go like those before; see the module.

    Args:
        tracker: Observes everything else.
        loop: Counts the optimizers' steps.
    """

    def __init__(self, tracker: Tracker, recorder: Recorder, loop: Loop) -> None:
        self._tracker, self._recorder, self._loop = tracker, recorder, loop
        self._model: Callable[[], torch.nn.Module | None] = lambda: None
        self._optimizer: Callable[[], torch.optim.Optimizer | None] = lambda: None
        self._losses: dict[TensorInfo, float] = {}
        self._layouts: dict[tuple[TensorInfo, ...], Layout] = {}
        # What is stored of the step that the optimizer is in.
        self._infos: tuple[TensorInfo, ...] = ()
        self._values: tuple[float, ...] = ()
        self._has_run = self._runs = self._loss_since_backward = False
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
            ("after_optimizer", self._after_optimizer),
            ("scheduler_step", loop.scheduled),
            ("logged", tracker.logged.observe),
        ):
            tracker.events.subscribe_at(Detail.USUAL, event, handler)

    def begin(self) -> None:
        """A TRAIN step has ended, and the next is thin: take it over if all goes as usual."""
        tracker = self._tracker
        optimizers = list(tracker.optimizers)
        self._config = config = self._recorder.profiler.config
        is_usual = (
            len(optimizers) == 1
            and sum(map(tracker.names.is_trained, tracker.names.roots)) == 1
            and tracker.steps.goes_by_optimizer
            and not tracker.has_closure
            and not has_compiled_graphs()
            and (config is None or not config.has_ranges)
        )
        if is_usual:
            plan = self._recorder.plan  # another one means that the next step is a full one
            self._always = plan.always if isinstance(plan, Plan) else ()
            self._model, self._optimizer = tracker.last_model, ref(optimizers[0])
            self._has_run = self._runs = False
            tracker.events.detail = Detail.USUAL
            model = self._model()
            is_alone = len(tracker.names.roots) == 1 and not tracker.has_own_losses
            self._is_alone = is_alone and model is not None and tracker.watch_only(model)

    def leave(self) -> None:
        """Hand the step to the tracker, with what was observed so far."""
        tracker = self._tracker
        if tracker.events.detail is not Detail.USUAL:
            return
        tracker.events.detail = Detail.LOSSES
        tracker.resume_hooks()
        model = self._model()
        if self._has_run and model is not None:
            tracker.continue_step(model, runs=self._runs)
        for info, value in self._losses.items():
            tracker.continue_loss(info, value, is_new=self._loss_since_backward)
        self._losses.clear()

    def _before_forward(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        tracker = self._tracker
        if module is self._model() and torch.is_grad_enabled() and module.training:
            self._has_run = True
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
        elif module is self._model():
            self._runs = False

    def _after_loss(
        self, name: str, value: Any, inputs: Any, keywords: Any, module: Any = None
    ) -> None:
        tracker = self._tracker
        if tracker.loss_depth:
            return
        if self._is_alone and (module := _calling_loss()) is not None:
            name = type(module).__name__
        info = tracker.observer.known_scalar(tracker.loss_name(name))
        if info is not None and self._is_usual(value, info):
            number = value.item()
            if math.isfinite(number):
                self._losses[info] = number
                self._loss_since_backward = True
                return
        is_unseen = not self._has_run
        self.leave()
        if is_unseen and isinstance(value, torch.Tensor) and not value.requires_grad:
            return  # of a model that ran before anybody could see it
        tracker.after_any_loss(name, value, inputs, keywords, module)

    def _is_usual(self, value: Any, info: TensorInfo) -> bool:
        """Return whether of a loss that was not observed in this step its value is all."""
        return (
            type(value) is torch.Tensor
            and value.is_cpu
            and value.requires_grad
            and value.shape == info.shape
            and dtype_name(value.dtype) == info.dtype
            and info not in self._losses
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
        if self._loss_since_backward:
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
        rates = self._learning_rates(optimizer)
        is_usual = optimizer is self._optimizer() and self._losses and self._has_run
        if is_usual and rates is not None and self._tracker.first_gradients.is_finite(optimizer):
            scalars = self._losses | rates
            if logged := self._tracker.logged.take():
                scalars |= {one: logged[one] for one in logged if self._has_usual_level(one)}
            self._infos, self._values = tuple(scalars), tuple(scalars.values())
            return
        self.leave()
        self._tracker.before_any_optimizer(optimizer)

    def _learning_rates(self, optimizer: torch.optim.Optimizer) -> dict[TensorInfo, float] | None:
        """Return the learning rates; ``None`` if one is no number, or was not there before."""
        groups = optimizer.param_groups
        if len(self._rates) != len(groups):
            names = (f"learning_rate/{number}" for number in range(len(groups)))
            known = [self._tracker.observer.known_scalar(name) for name in names]
            self._rates = [info for info in known if info is not None]
            if len(self._rates) != len(groups):
                return None
        rates: dict[TensorInfo, float] = {}
        for info, group in zip(self._rates, groups, strict=True):
            rate = group.get("lr")
            if type(rate) is not float or not self._has_usual_level(info):
                return None
            rates[info] = rate
        return rates

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:  # noqa: ARG002
        tracker, infos = self._tracker, self._infos
        tracker.num_optimizer_steps += 1
        self._loop.stepped()
        layout = self._layouts.get(infos)
        if layout is None:
            layout = self._layouts[infos] = Layout(infos)
        self._recorder.take_scalars(layout, self._values)
        self._losses = {}
        self._has_run = False
        if not self._recorder.thins_next(Mode.TRAIN):
            tracker.events.detail = Detail.FULL
        elif self._recorder.profiler.config is not self._config:
            tracker.events.detail = Detail.LOSSES
        else:
            return
        tracker.resume_hooks()


def _calling_loss() -> torch.nn.Module | None:
    """Return the module of torch that computes a loss by the function that was just wrapped."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is not None and frame.f_code.co_filename == _LOSSES_FILE:
            module = frame.f_locals.get("self")
            return module if isinstance(module, Loss) else None
    return None
