"""Steps of which only losses are observed, where each goes like the one before.

To find out what belongs to which step, and what is a step, costs more than a small training step
takes. Where each optimizer steps once, and each step runs the same models and computes losses of
its own, nothing of it has to be found out again: a loss is one number, and the last optimizer ends
the step. Where some optimizers step more often than others, as a critic's, the step ends as well
before one of them steps again, and what ran since belongs to the next. Where a trainer logs after
the step, that is held until something runs. Whatever else happens is handed to the ``Tracker``,
with what was observed so far.

Where the same models run, losses are computed in the same lines and optimizers step in the same
order as in the step before, the kernel follows the next steps up to one that may be a full one, and
gives them back together. Where a step goes otherwise it gives back what there was of it, and all
goes on here.

A model that runs without gradients, as one that acts or gives targets, is an EVAL step, which is
counted. Torch calls no hook of ours but one, before each of the models that ever ran, or were put
into eval mode. Another one that runs then is not seen until its loss is computed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np
import torch

from ...capture.budget import RISING_WEIGHT
from ...capture.plan import STATISTICS, Plan
from ...capture.recorder import Recorder
from ...model.record import Layout, TensorInfo
from ...model.steps import Mode
from .events import Detail, EventKind
from .internals import Loss, calling_loss, has_compiled_graphs
from .tensors import dtype_name

if TYPE_CHECKING:
    from ...config.profiler_config import ProfilerConfig
    from .collectors.loop import Loop
    from .tracker import Tracker


class _Part(NamedTuple):
    """What was observed of a step up to the step of one of its optimizers.

    Args:
        model: That ran last; ``None`` where none did since the optimizer before.
        losses: Each with what is known of it; several may have one name.
        rates: The learning rates of the optimizer's groups.
    """

    model: ref[torch.nn.Module] | None
    losses: list[tuple[TensorInfo, float]]
    optimizer: ref[torch.optim.Optimizer]
    rates: list[tuple[TensorInfo, float]]


class _Call(NamedTuple):
    """The call of a loss, as it was made before.

    Args:
        depth: So many frames out of ``_is_made_again`` the script makes it.
        code: Where in the script,
        instruction: and there.
        dtype: Of the loss.
        info: What is known of it.
    """

    depth: int
    code: CodeType
    instruction: int
    dtype: torch.dtype
    info: TensorInfo


class _Event(NamedTuple):
    """An event of a step, as the kernel is to find it again; see ``_kernel.StepMatcher.learn``.

    Args:
        kind: What it is.
        known: The model or the optimizer.
        infos: What is known of the numbers that it brings.
        name: Of a loss, what computes it,
        call: and where.
        place: Before an optimizer's step, where it holds the gradient that speaks for all.
    """

    kind: EventKind
    known: ref[Any] | None = None
    infos: tuple[TensorInfo, ...] = ()
    name: str = ""
    call: _Call | None = None
    place: tuple[int, int] | None = None

    def for_kernel(self) -> tuple[object, ...]:
        """Return it as the kernel takes it."""
        group, index = self.place or (-1, -1)
        if self.call is None:
            return self.kind, self.known, "", None, len(self.infos), 0, group, index
        depth, code, instruction, dtype, _ = self.call
        return self.kind, code, self.name, dtype, instruction, depth - _INSIDE, group, index


# So many frames of the hook are between a loss's wrapper and what looks for the script's frame; of
# the kernel there are none.
_INSIDE = 3
# Of so many calls of one function for losses it is known where they were made.
_MOST_CALLS = 4
_NO_CALLS: list[_Call] = []
# Steps are given back when the first of them has taken so long, seconds: somebody may be looking.
_FOLLOWED_S = 0.05
# After a step that was followed and went otherwise so many are not; twice as many each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 4, 1024


class UsualSteps:
    """Observes TRAIN steps that go like those before; see the module.

    Args:
        tracker: Observes everything else.
        loop: Counts the optimizers' steps.
    """

    def __init__(self, tracker: Tracker, recorder: Recorder, loop: Loop) -> None:
        self._tracker, self._recorder, self._loop = tracker, recorder, loop
        self._models: dict[int, ref[torch.nn.Module]] = {}  # that are trained, by id
        self._roots: dict[int, ref[torch.nn.Module]] = {}  # these, and all others that ran
        self._optimizers: dict[int, ref[torch.optim.Optimizer]] = {}  # by id
        # The parts of this step that are over, and of the one that is not: the model that ran
        # last, the losses, and once the optimizer is in its step, its learning rates.
        self._parts: list[_Part] = []
        self._last_model: ref[torch.nn.Module] | None = None
        self._losses: list[tuple[TensorInfo, float]] = []
        self._rates: list[tuple[TensorInfo, float]] | None = None
        # By what was observed in a step, the layout of what is stored of it; ``None`` where losses
        # have one name, of which statistics are stored.
        self._layouts: dict[tuple[TensorInfo, ...], Layout | None] = {}
        self._last_infos: tuple[TensorInfo, ...] = ()
        self._last_layout: Layout | None = Layout(())
        # What ran without gradients in the EVAL step that is open, and whether nothing ran since.
        self._evaluated: list[ref[torch.nn.Module]] = []
        self._evaluates = False
        self._runs = self._loss_since_backward = False
        self._calls: dict[str, list[_Call]] = {}  # by what computes the loss, the last ones
        # The optimizer whose step has begun, and may compute gradients by a closure.
        self._stepping: torch.optim.Optimizer | None = None
        # Whether a step is held, of which all parts are over; and what was saved in it then.
        self._is_held = False
        self._saved: list[tuple[TensorInfo, float]] = []
        self._saved_infos: dict[str, TensorInfo] = {}  # of numbers that are no tensors
        self._always: Container[str] = ()  # of these statistics are saved at each step
        self._rate_infos: dict[int, list[TensorInfo]] = {}  # by the id of the optimizer
        self._is_uneven = False  # some optimizers step more often than others
        self._are_apart = False
        self._is_alone = False  # no hook is called on any other module
        self._config: ProfilerConfig | None = None
        # The events of this step so far, ``None`` where it cannot be followed; those that the
        # kernel knows, and the layout of the numbers that they bring.
        self._events: list[_Event] | None = None
        self._known_events: list[_Event] = []
        self._known_layout = Layout(())
        self._paused, self._pause = 0, _FIRST_PAUSE
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
            ("put_in_eval", self._put_in_eval),
        ):
            tracker.events.subscribe_at(Detail.USUAL, event, handler)

    def begin(self) -> None:
        """A TRAIN step is over or held, and the next is thin: take it over if all goes as usual."""
        tracker = self._tracker
        optimizers, models = tracker.steps.awaited, tracker.last_models
        self._is_uneven |= tracker.steps.is_uneven
        num_trained = sum(map(tracker.names.is_trained, tracker.names.roots))
        self._config = config = self._recorder.profiler.config
        is_usual = (
            optimizers
            and 0 < num_trained == len(models)
            and tracker.steps.goes_by_optimizer
            and not has_compiled_graphs()
            and (config is None or not config.has_ranges)
        )
        if is_usual:
            plan = self._recorder.plan  # another one means that the next step is a full one
            self._always = plan.always if isinstance(plan, Plan) else ()
            self._models = models
            if self._optimizers.keys() != {id(one) for one in optimizers}:
                self._rate_infos = {}
            self._optimizers = {id(one): ref(one) for one in optimizers}
            self._calls = {}
            self._begin_step()
            self._is_held = tracker.steps.is_held
            tracker.events.detail = Detail.USUAL
            roots = tracker.names.roots
            known = {id(one) for one in roots}
            if self._roots.keys() != known | models.keys():
                self._roots = {**{id(one): ref(one) for one in roots}, **models}
                # What runs may be a part of a model that never runs itself.
                self._are_apart = models.keys() <= known and _are_apart(roots)
            may_be_alone = self._are_apart and not tracker.has_own_losses
            self._is_alone = may_be_alone and tracker.watch_only(roots, tracker.unrun)

    def _begin_step(self) -> None:
        self._parts, self._losses, self._rates = [], [], None
        self._last_model, self._stepping, self._runs = None, None, False
        self._evaluated, self._evaluates = [], False
        self._saved, self._is_held = [], False
        self._tracker.steps.is_usual_held = False
        self._events = self._new_events()

    def leave(self) -> None:
        """Hand the step to the tracker, with what was observed so far."""
        tracker = self._tracker
        if tracker.events.detail is not Detail.USUAL:
            return
        self.settle()
        if any(part.optimizer() is None for part in self._parts) and self._is_held:
            self._release()  # nothing can be added for an optimizer that is gone
        tracker.events.detail = Detail.LOSSES
        tracker.resume_hooks()
        for part in self._parts:
            self._hand_on(part.model, part.losses)
            if (stepped := part.optimizer()) is not None:
                tracker.continue_optimizer(stepped, part.rates)
        for info, value in self._saved:
            tracker.steps.current().add(info, np.asarray(value, info.dtype))
        if self._stepping is not None:
            with tracker.observer.without_gradients():
                tracker.before_any_optimizer(self._stepping)
        if not self._evaluates:
            self._hand_on_evaluated()
        self._hand_on(
            *(self._last_model, self._losses),
            runs=self._runs and not self._evaluates,
            is_new=self._loss_since_backward,
        )
        if self._evaluates:
            self._hand_on_evaluated(runs=self._runs)
        self._begin_step()

    def _hand_on_evaluated(self, *, runs: bool = False) -> None:
        """Hand the open EVAL step on; ``runs``: its last model does."""
        for number, known in enumerate(self._evaluated, 1):
            if (alive := known()) is not None:
                is_last = number == len(self._evaluated)
                self._tracker.continue_step(alive, Mode.EVAL, runs=runs and is_last)

    def _hand_on(
        self,
        model: ref[torch.nn.Module] | None,
        losses: list[tuple[TensorInfo, float]],
        *,
        runs: bool = False,
        is_new: bool = False,
    ) -> None:
        alive = model() if model is not None else None
        if alive is not None:
            self._tracker.continue_step(alive, Mode.TRAIN, runs=runs)
        for info, value in losses:
            self._tracker.continue_loss(info, value, is_new=is_new)

    def _before_forward(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        if self._is_held:
            self._release()
        tracker = self._tracker
        known = self._models.get(id(module))
        is_known = known is not None and known() is module
        if is_known and torch.is_grad_enabled() and module.training:
            may_end = self._is_uneven and self._last_model is None and self._parts
            if may_end and not self._recorder.thins_next(Mode.TRAIN, ahead=1):
                self.leave()
                tracker.before_thin_forward(module, inputs)
                return
            self._last_model, self._evaluates = known, False
            if not self._is_alone:
                self._runs = tracker.pause_inside(module)
            elif self._events is not None:
                self._events.append(_Event(EventKind.FORWARD, known))
        elif isinstance(module, Loss):
            tracker.loss_depth += 1
        elif not (self._runs or tracker.loss_depth or self._passes_evaluation(module, inputs)):
            self.leave()
            tracker.before_thin_forward(module, inputs)

    def _put_in_eval(self, module: torch.nn.Module) -> None:
        if self._is_alone and self._tracker.may_run(module):
            self._tracker.watch_also(module)

    def _passes_evaluation(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> bool:
        """Count a model that runs without gradients; return whether that was all to be done."""
        known = self._roots.get(id(module))
        if known is None or known() is not module or torch.is_grad_enabled():
            return False
        tracker = self._tracker
        num_trained = tracker.steps.num_trained
        if tracker.steps.mode is not None or tracker.rows.begins_pass(num_trained):
            return False
        if tracker.widens_evaluation(inputs, num_trained):
            return False
        if any(one is known for one in self._evaluated):
            self._end_evaluation()
        if not (self._evaluated or self._recorder.thins_next(Mode.EVAL)):
            return False
        self._evaluated.append(known)
        self._evaluates, self._events = True, None
        if not self._is_alone:
            self._runs = tracker.pause_inside(module)
        return True

    def _end_evaluation(self) -> None:
        if self._evaluated:
            self._recorder.counter.next(Mode.EVAL)
            self._evaluated, self._evaluates = [], False

    def _after_forward(self, module: torch.nn.Module, given: Any, output: object) -> None:
        if isinstance(module, Loss):
            self._tracker.loss_depth = max(0, self._tracker.loss_depth - 1)
            inputs, keywords = given
            self._after_loss(type(module).__name__, output, inputs, keywords, module)
        elif id(module) in self._roots:
            self._runs = False

    def _after_loss(
        self, name: str, value: Any, inputs: Any, keywords: Any, module: Any = None
    ) -> None:
        if self._is_held:
            self._release()
        tracker = self._tracker
        if tracker.loss_depth:
            return
        called = name
        calls = self._calls.get(called, _NO_CALLS)
        if calls and (call := next(filter(_is_made_again, calls), None)) is not None:
            info = call.info
            is_usual = value.__class__ is torch.Tensor and value.requires_grad
            is_usual = is_usual and info.name in self._always
            if is_usual and value.dtype is call.dtype and not value.dim():
                number = value.item()
                if math.isfinite(number):
                    self._losses.append((info, number))
                    self._loss_since_backward = True
                    if self._events is not None:
                        self._events.append(_Event(EventKind.LOSS, None, (info,), called, call))
                    return
        self._events = None
        if (self._is_alone or self._runs) and (module := calling_loss()) is not None:
            name = type(module).__name__
        if self._observe(name, value):
            self._loss_since_backward = True
            if (found := tracker.losses.calling_frame()) is not None:
                depth, frame = found
                place = depth + 1, frame.f_code, frame.f_lasti
                call = _Call(*place, value.dtype, self._losses[-1][0])
                self._calls[called] = [call, *calls][:_MOST_CALLS]
            return
        is_unseen = self._last_model is None and not self._evaluated
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
        self._losses.append((info, number))
        return True

    def _is_usual(self, value: Any, info: TensorInfo) -> bool:
        """Return whether of a loss that was not observed in this step its value is all."""
        return (
            type(value) is torch.Tensor
            and value.requires_grad
            and value.shape == info.shape
            and dtype_name(value.dtype) == info.dtype
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
        if self._is_held:
            self._release()
        # What it is called on is the loss where no function of torch computed one.
        if self._loss_since_backward or self._observe("backward", roots):
            if not self._loss_since_backward or self._tracker.singular.paths:
                self._events = None
            elif self._events is not None:
                self._events.append(_Event(EventKind.BACKWARD))
            self._loss_since_backward = False
            self._loop.num_backward_calls += 1
            if self._tracker.singular.paths:
                self._tracker.keep_singular(roots)
            return
        self.leave()
        self._tracker.before_thin_backward(roots)

    def _before_scaled_step(self, scaler: object) -> None:
        if self._is_held:
            self._release()
        self.leave()
        self._tracker.before_scaled_step(scaler)

    def _before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        if self._is_held:
            self._release()
        tracker = self._tracker
        if self._evaluated:
            self._end_evaluation()
        if self._is_uneven and any(part.optimizer() is optimizer for part in self._parts):
            self._end_before()
        if tracker.has_closure and self._last_model is None and self._is_awaited(optimizer):
            self._stepping, self._events = optimizer, None
        elif not self._complete(optimizer):
            self.leave()
            tracker.before_any_optimizer(optimizer)
        elif self._events is not None and self._rates is not None:
            infos = tuple(info for info, _ in self._rates)
            place = tracker.first_gradients.place(optimizer)
            known = self._optimizers[id(optimizer)]
            self._events.append(_Event(EventKind.BEFORE_OPTIMIZER, known, infos, place=place))

    def _end_before(self) -> None:
        """An optimizer is about to step again: what ran since belongs to the next step."""
        if self._last_model is not None and self._losses:
            self._store(self._take_parts())

    def _after_closure(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._complete(optimizer):
            self.leave()

    def _is_awaited(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether the step is over only when this optimizer has stepped."""
        known = self._optimizers.get(id(optimizer))
        if known is None or known() is not optimizer:
            return False
        return not self._parts or all(part.optimizer is not known for part in self._parts)

    def _complete(self, optimizer: torch.optim.Optimizer) -> bool:
        """Note what is to be stored of a part whose gradients are there; return whether it is."""
        tracker, parts = self._tracker, self._parts
        has_losses, has_run = bool(self._losses), self._last_model is not None
        if parts:
            has_losses |= any(part.losses for part in parts)
            has_run |= any(part.model is not None for part in parts)
        if not (has_losses and has_run and self._is_awaited(optimizer)):
            return False
        if tracker.parameters.are_thawed() or not tracker.first_gradients.is_finite(optimizer):
            return False
        rates = self._learning_rates(optimizer)
        if rates is None:
            return False
        self._rates = rates
        return True

    def _learning_rates(
        self, optimizer: torch.optim.Optimizer
    ) -> list[tuple[TensorInfo, float]] | None:
        """Return the learning rates; ``None`` if one is no number, or was not there before."""
        groups = optimizer.param_groups
        infos = self._rate_infos.get(id(optimizer))
        if infos is None or len(infos) != len(groups):
            numbers = (number for number, _ in self._tracker.optimizers.numbered_groups(optimizer))
            known = [self._tracker.observer.known_scalar(f"learning_rate/{one}") for one in numbers]
            infos = [info for info in known if info is not None]
            if len(infos) != len(groups):
                return None
            self._rate_infos[id(optimizer)] = infos
        rates = []
        for info, group in zip(infos, groups, strict=True):
            rate = group.get("lr")
            if type(rate) is not float:
                return None
            if info.name not in self._always and not self._has_usual_level(info):
                return None
            rates.append((info, rate))
        return rates

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        tracker = self._tracker
        if self._rates is None:  # its closure was not called
            self.leave()
            tracker.after_any_optimizer(optimizer)
            return
        known = self._optimizers[id(optimizer)]
        part = self._end_part(known)
        if self._events is not None:
            self._events.append(_Event(EventKind.AFTER_OPTIMIZER, known))
        if len(self._optimizers) == 1 and not tracker.steps.hold:
            self._store(part.losses + part.rates)
        else:
            self._parts.append(part)
            if len(self._parts) < len(self._optimizers):
                return
            if tracker.steps.hold:
                if self._recorder.thins_next(Mode.TRAIN, ahead=1):
                    self._is_held = tracker.steps.is_usual_held = True
                else:
                    self.leave()
                return
            self._store(self._take_parts())
        self._go_on(optimizer)

    def _end_part(self, optimizer: ref[torch.optim.Optimizer]) -> _Part:
        """Return what was observed up to the step of an optimizer, which is over, and forget it."""
        self._tracker.num_optimizer_steps += 1
        self._loop.passed()
        part = _Part(self._last_model, self._losses, optimizer, self._rates or [])
        self._last_model, self._losses, self._rates, self._stepping = None, [], None, None
        return part

    def _go_on(self, optimizer: torch.optim.Optimizer | None) -> None:
        """A step is stored that ended with this optimizer's: the next one begins."""
        tracker = self._tracker
        if not self._recorder.thins_next(Mode.TRAIN):
            tracker.events.detail = Detail.FULL
            self._loop.skipped()
            if optimizer is not None:
                tracker.keep_gradients_of(optimizer)
        elif self._recorder.profiler.config is not self._config:
            tracker.events.detail = Detail.LOSSES
        else:
            self._follow()
            return
        tracker.resume_hooks()

    # Steps that the kernel follows

    def _new_events(self) -> list[_Event] | None:
        """Return where to note the events of a step, ``None`` where it cannot be followed."""
        tracker = self._tracker
        can_be = (
            tracker.matcher is not None
            and self._is_alone
            and not (self._is_uneven or tracker.steps.hold)
            and tracker.parameters.are_all_held
        )
        return [] if can_be else None

    def _follow(self) -> None:
        """Have the next steps followed as long as they go like the one that is over."""
        events, self._events = self._events, self._new_events()
        matcher, recorder = self._tracker.matcher, self._recorder
        if not events or self._events is None or matcher is None:
            return
        if self._paused:
            self._paused -= 1
            return
        if events is not self._known_events and not self._learn(events):
            return
        budget = recorder.budget
        conditions: list[tuple[object, str, object]] = [
            (self._tracker, "active", True),
            (self._tracker.singular, "paths", []),
            (recorder, "plan", recorder.plan),
            (recorder.profiler, "config", self._config),
            (budget, "thin_until", budget.thin_until),
        ]
        if recorder.black_box is not None:
            conditions.append((recorder.black_box, "wanted", recorder.black_box.wanted))
        num_thin = budget.thin_until - recorder.counter.peek(Mode.TRAIN)[1]
        losses = budget.mean_loss, budget.most_loss, RISING_WEIGHT
        matcher.follow(max(1, num_thin), *losses, _FOLLOWED_S, tuple(conditions))

    def _learn(self, events: list[_Event]) -> bool:
        """Tell the kernel which events a step has; return whether it can follow such steps."""
        infos = tuple(info for event in events for info in event.infos)
        can_be = (
            events[0].kind is EventKind.FORWARD
            and self._tracker.events.has_single_subscribers
            and all(info.name in self._always for info in infos)
            and bool(infos)
            and infos[0].collection == "losses"
        )
        layout = self._layout(infos) if can_be else None
        if layout is None:
            return False
        assert self._tracker.matcher is not None
        self._tracker.matcher.learn(self._tracker, tuple(one.for_kernel() for one in events))
        self._known_events, self._known_layout = events, layout
        return True

    def followed(self) -> None:
        """Steps were followed to the last that may be: store them, and go on."""
        events = self._known_events
        self._take_followed()
        self._pause = _FIRST_PAUSE
        self._events = events
        known = events[-1].known
        self._go_on(known() if known is not None else None)

    def settle(self) -> None:
        """Take back the steps that are followed, and what there is of the one that is not over."""
        matcher = self._tracker.matcher
        if matcher is None or not matcher.is_active:
            return
        self._paused, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        at, numbers = self._take_followed()
        self._events, left = None, iter(numbers)
        for event in self._known_events[:at]:
            values = [(info, next(left)) for info in event.infos]
            if event.kind is EventKind.FORWARD:
                self._last_model, self._evaluates = event.known, False
            elif event.kind is EventKind.LOSS:
                self._losses += values
                self._loss_since_backward = True
            elif event.kind is EventKind.BACKWARD:
                self._loss_since_backward = False
                self._loop.num_backward_calls += 1
            elif event.kind is EventKind.BEFORE_OPTIMIZER:
                self._rates = values
            elif event.known is not None:
                self._parts.append(self._end_part(event.known))

    def _take_followed(self) -> tuple[int, tuple[float, ...]]:
        """Store the steps that were followed to their end.

        Returns:
            How many events there were of the step that was not, and the numbers that they brought.
        """
        assert self._tracker.matcher is not None
        steps, at, numbers, mean_loss, spent_s = self._tracker.matcher.take()
        if steps:
            kinds = [event.kind for event in self._known_events]
            num_optimizers = len(steps) * kinds.count(EventKind.AFTER_OPTIMIZER)
            self._tracker.num_optimizer_steps += num_optimizers
            self._loop.passed(num_optimizers)
            self._loop.num_backward_calls += len(steps) * kinds.count(EventKind.BACKWARD)
            self._recorder.take_thin_steps(self._known_layout, steps, spent_s)
            self._recorder.budget.note_mean_loss(mean_loss)
        else:
            self._recorder.budget.spent_s += spent_s
        return at, numbers

    def _release(self) -> None:
        """Something runs: store the step that is held, here or by the tracker."""
        if self._tracker.steps.is_held:
            self._is_held = False
            self._tracker.steps.release()
            return
        scalars = self._take_parts() + self._saved
        self._saved, self._is_held = [], False
        self._tracker.steps.is_usual_held = False
        self._store(scalars)
        if self._recorder.profiler.config is not self._config:
            self.leave()

    @property
    def has_begun(self) -> bool:
        """Whether anything was observed of a step that is not stored."""
        self.settle()
        return bool(self._parts or self._losses or self._last_model is not None)

    def saves(self, name: str, kind: str, value: object) -> bool:
        """Add a number to the step that is held; return whether it could be."""
        if isinstance(value, torch.Tensor):
            info = self._tracker.observer.known_scalar(name)
            if value.dim() or not value.is_cpu:  # an accelerator would have to be waited for
                return False
        else:
            info = self._saved_infos.get(name)
            if not isinstance(value, np.ndarray) or value.shape or value.dtype.kind not in "fiub":
                return False
            if info is None or info.dtype != value.dtype.name:
                info = self._saved_infos[name] = TensorInfo(name, kind, value.dtype.name, ())
        is_usual = info is not None and self._has_usual_level(info)
        if info is None or not is_usual or any(info is one for one, _ in self._saved):
            return False
        self._saved.append((info, float(value)))
        return True

    def _take_parts(self) -> list[tuple[TensorInfo, float]]:
        """Return what was observed in the parts that are over, and forget them."""
        parts, self._parts = self._parts, []
        return [one for part in parts for one in (*part.losses, *part.rates)]

    def _store(self, scalars: list[tuple[TensorInfo, float]]) -> None:
        """Store a step in which these numbers were observed, and those that were logged."""
        if logged := self._tracker.logged.take():
            scalars += [one for one in logged.items() if self._has_usual_level(one[0])]
        infos, values = zip(*scalars, strict=True)
        if infos != self._last_infos:  # which are the very same at most steps
            self._last_infos, self._last_layout = infos, self._layout(infos)
        if self._last_layout is not None:
            self._recorder.take_scalars(self._last_layout, values)
        else:
            self._recorder.take_repeated(scalars)

    def _layout(self, infos: tuple[TensorInfo, ...]) -> Layout | None:
        """Return the layout of numbers, ``None`` where some have one name."""
        if infos not in self._layouts:
            names = {info.name for info in infos}
            self._layouts[infos] = Layout(infos) if len(names) == len(infos) else None
        return self._layouts[infos]


def _is_made_again(call: _Call) -> bool:
    """Return whether a call of a loss that was just observed is made where that one was."""
    try:
        frame = sys._getframe(call.depth)
    except ValueError:  # fewer frames than then
        return False
    return frame.f_code is call.code and frame.f_lasti == call.instruction


def _are_apart(models: Sequence[torch.nn.Module]) -> bool:
    """Return whether none is part of another."""
    parts = {id(one) for model in models for one in model.modules() if one is not model}
    return parts.isdisjoint(map(id, models))
