"""How the training loop itself runs: its time, its passes, its optimizers and schedules.

Wall time is cut into intervals, each of one step. A TRAIN step has the time since the interval
before, up to its optimizers. Between TRAIN steps each forward that evaluates the model which is
trained has an interval of its own, so that a validation is in no TRAIN step. A teacher's forward
is time of the step around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from ....capture.open_step import OpenStep
from ....capture.profiling import Phases
from ....model.steps import Mode
from ..device import TensorVersion
from ..events import LossCall
from ..functional_dropout import leaves_dropout_on
from ..internals import (
    BatchNorm,
    Dropout,
    call_keywords,
    has_dispatch_mode,
    in_transform,
    isolated_compute,
)
from ..models import is_of_keras
from ..observe import Observer, Scalars, Summaries
from ..process import accelerate_accumulation_steps, is_one_of_several, memory_use
from ..tensors import readable

# How schedulers of torch call it.
_TOTALS = ("total_steps", "T_max", "total_iters")
#: A rate above this may be one, and its schedule the factor of it.
MOST_RATE = 0.3
# How functions that other libraries give to ``LambdaLR`` call it.
_TOTAL_OF_FUNCTION = "num_training_steps"


class Schedules:
    """The schedules of a training: how many there are, how often they stepped, where they are."""

    def __init__(self) -> None:
        self._made: WeakSet[LRScheduler] = WeakSet()
        self._stepped: WeakSet[LRScheduler] = WeakSet()
        self._num_steps = 0
        self._num_unscheduled: int | None = None
        self._planned: float | None = None
        self._level: float | None = None
        # Of each ``LambdaLR`` the largest factor of each group so far, and an initial rate that is
        # this factor as well; 0 for none.
        self._factors: WeakKeyDictionary[LRScheduler, list[float]] = WeakKeyDictionary()
        self._rates_for_factors: WeakKeyDictionary[LRScheduler, float] = WeakKeyDictionary()

    def add(self, scheduler: LRScheduler, num_optimizer_steps: int, *, is_new: bool) -> None:
        """Count a step of a schedule, or one that was made, after so many steps of optimizers."""
        if self._num_unscheduled is None:
            self._num_unscheduled = num_optimizer_steps if is_new else 0
        self._made.add(scheduler)
        if isinstance(scheduler, LambdaLR):
            self._add_factors(scheduler)
        if not is_new:
            self._stepped.add(scheduler)
            self._num_steps += 1
            self._planned = planned_steps(scheduler) or self._planned

    def _add_factors(self, scheduler: LambdaLR) -> None:
        """Note whether functions return no more than the initial rate they are multiplied by."""
        groups = scheduler.optimizer.param_groups
        rates: list[float] = [one.get("lr", 0.0) for one in groups]
        starts: list[float] = [one.get("initial_lr", 0.0) for one in groups]
        # A tensor is not waited for.
        if not all(type(one) is float for one in (*rates, *starts)) or min(starts) <= 0:
            return
        factors = [rate / start for rate, start in zip(rates, starts, strict=True)]
        before = self._factors.get(scheduler, factors)
        if len(before) == len(factors):
            factors = list(map(max, before, factors))
        self._factors[scheduler] = factors
        self._rates_for_factors[scheduler] = max(
            start if start <= MOST_RATE and math.isclose(factor, start, rel_tol=1e-9) else 0.0
            for factor, start in zip(factors, starts, strict=True)
        )

    def on_learning_rate(self, group: Mapping[str, object]) -> None:
        """Note the learning rate of a group whose schedule wrote down what it starts from.

        ``OneCycleLR`` writes down where its warm-up leads as well.
        """
        rate, base = group.get("lr"), group.get("max_lr", group.get("initial_lr"))
        if isinstance(rate, float) and isinstance(base, float) and base > 0:
            self._level = max(self._level or 0.0, rate / base)

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Yield what is observed of them in a step, by name; the level is forgotten with it."""
        level, self._level = self._level, None
        yield "scheduler_steps", self._num_steps
        if self._made:
            yield "schedulers", len(self._made)
            yield "schedulers_stepped", len(self._stepped)
        if self._num_unscheduled:
            yield "unscheduled_steps", self._num_unscheduled
        if self._planned is not None:
            yield "scheduler_total", self._planned
        if (rate := max(self._rates_for_factors.values(), default=0.0)) > 0:
            yield "rate_for_factor", rate
        if level is not None:
            yield "scheduler_level", level


def planned_steps(scheduler: LRScheduler) -> float | None:
    """Return for how many steps a schedule was made; ``None`` if it does not tell.

    ``OneCycleLR`` knows, and what is annealed or decayed to an end; ``LambdaLR`` if it was given
    a ``functools.partial`` with ``num_training_steps``, as transformers does.
    """
    functions = getattr(scheduler, "lr_lambdas", ())
    given = [one.keywords.get(_TOTAL_OF_FUNCTION) for one in functions if isinstance(one, partial)]
    for total in (*(getattr(scheduler, name, None) for name in _TOTALS), *given):
        if isinstance(total, (int, float)) and not isinstance(total, torch.Tensor) and total > 0:
            return float(total)
    return None


# Losses of one step; of more the sum is not known.
_MOST = 1024


class Targets(NamedTuple):
    """The targets of classes that a loss takes the mean of, or adds up.

    Args:
        num_targets: How many count, int64, shape ``[]``.
        is_mean: Whether the loss is their mean.
    """

    num_targets: torch.Tensor
    is_mean: bool


def counted_targets(call: LossCall) -> Targets | None:
    """Return the targets of a loss; ``None`` if it is of no classes, or gives these weights."""
    if call.function not in ("cross_entropy", "nll_loss") or call.class_weights is not None:
        return None
    target, reduction = readable(call.target), call.reduction
    if target is None or target.is_floating_point() or reduction not in ("mean", "sum"):
        return None
    with isolated_compute(target.device.type):
        return Targets((target != call.ignore_index).sum(), reduction == "mean")


class _Graph:
    """Lives as long as the graph of a loss."""

    __slots__ = ("__weakref__",)


class LossWeights:
    """Adds up the derivatives of what ``backward()`` is called on, by the losses of a step.

    A loss over each of four micro-batches, divided by four, makes a sum of 1. Autograd computes
    the derivatives anyway: a hook on the function that made a loss is given them. The loss itself
    stays as it is, so that it may be changed in place, saved, and differentiated as ever.
    """

    def __init__(self) -> None:
        #: Gradients are computed by ``backward()``; those of ``autograd.grad`` are not observed.
        self.is_in_backward = False
        self._found: list[float | torch.Tensor] = []
        self._of_targets: list[tuple[float | torch.Tensor, Targets]] = []
        self._graphs: WeakSet[_Graph] = WeakSet()

    @property
    def num_graphs(self) -> int:
        """Of how many losses the graph is still there."""
        return len(self._graphs)

    def watch(self, loss: torch.Tensor, targets: Targets | None = None) -> None:
        """Look at the derivative by a loss of one element, once it is computed.

        Args:
            targets: What the loss is the mean of, or the sum, if that is wanted.
        """
        function: Any = loss.grad_fn if loss.requires_grad else None
        # What is differentiated several times is watched once.
        if function is None or _is_transformed() or self in function.metadata:
            return
        graph = function.metadata[self] = _Graph()
        self._graphs.add(graph)
        function.register_prehook(partial(self._note, loss.output_nr, targets))

    def take(self, scale: torch.Tensor | None) -> float | torch.Tensor | None:
        """Return the sum since this was called last, divided by a scale; ``None`` if unknown.

        Returns:
            On an accelerator if the loss was there, shape ``[]``.
        """
        found, self._found = self._found, []
        tensors = [each for each in (*found, scale) if isinstance(each, torch.Tensor)]
        if not found or len({each.device for each in tensors if not each.is_cpu}) > 1:
            return None
        total = sum(found)
        total = total if scale is None else total / scale.detach()
        return total.reshape(()) if isinstance(total, torch.Tensor) else total

    def take_of_targets(self, scale: torch.Tensor | None) -> torch.Tensor | None:
        """Return the weight of each target, and how many there are, of each loss since last time.

        Args:
            scale: What weights are divided by.

        Returns:
            Float64, shape ``[losses, 2]``, in the order in which they were differentiated;
            ``None`` if there are fewer than two, or on several devices.
        """
        found, self._of_targets = self._of_targets, []
        if len({targets.num_targets.device for _, targets in found}) != 1 or len(found) < 2:
            return None
        device = found[0][1].num_targets.device
        with isolated_compute(device.type):
            counts = torch.stack([targets.num_targets for _, targets in found]).to(torch.float64)
            means = torch.tensor([targets.is_mean for _, targets in found], device=device)
            weights = torch.stack([
                torch.as_tensor(weight, dtype=torch.float64, device=device).reshape(())
                for weight, _ in found
            ])  # fmt: skip
            weights = weights if scale is None else weights / scale.detach().to(device)
            return torch.stack([weights / torch.where(means, counts, 1.0), counts], dim=1)

    def _note(self, index: int, targets: Targets | None, gradients: Sequence[object]) -> None:
        """Called by autograd, perhaps in another thread, where nothing may be raised."""
        if not self.is_in_backward or torch.compiler.is_compiling() or _is_transformed():
            return
        gradient = gradients[index] if index < len(gradients) else None
        if type(gradient) is not torch.Tensor or gradient.numel() != 1:
            return
        try:
            detached = gradient.detach()
            # A copy, for autograd may add to it in place.
            self._found.append(float(detached) if detached.is_cpu else detached.clone())
            if targets is not None:
                self._of_targets.append((self._found[-1], targets))
        except Exception:  # noqa: BLE001  of gradients that are batched nothing can be read
            self._found = [math.nan]
        if len(self._found) > _MOST:
            self._found, self._of_targets = [math.nan], []


def _is_transformed() -> bool:
    """Return whether tensors are not what they seem: within vmap, or while a graph is traced."""
    return has_dispatch_mode() or in_transform()


_COLLECTION, _EVALUATIONS, _OF_TARGETS = "loop", "evaluations", "supervision"
#: At every so many TRAIN steps it is read how much memory is used.
MEMORY_EVERY = 10
# Dropout that other libraries call by these names.
_DROPS = ("DropPath", "StochasticDepth")


class Loop:
    """Observes the training loop, in the collection ``loop``.

    Args:
        observer: Takes what is observed.
        scalars: Takes numbers on a device.
        summaries: Takes tensors on a device.
        phases: What the time of a step went into.
        epoch: Tells how often the data have been gone through, if that is known.
        begun_pass: Tells which evaluation since the last TRAIN step begins, 0 for none.
    """

    def __init__(
        self,
        observer: Observer,
        scalars: Scalars,
        summaries: Summaries,
        phases: Phases,
        epoch: Callable[[], float | None],
        begun_pass: Callable[[], int],
    ) -> None:
        self._observer, self._phases = observer, phases
        self._epoch, self._begun_pass = epoch, begun_pass
        self._scalars, self._summaries = scalars, summaries
        self._weights, self._num_summed = LossWeights(), 0
        self._depends: dict[type, bool] = {}
        self._leaves_on: dict[type, bool] = {}
        self._num_modules, self._in_eval, self._dropout = 0, list[torch.nn.Module](), 0.0
        self._num_left_on = self._num_normalizing = 0
        # What the model was given when it was last evaluated in full, and whether it was so again.
        self._given: list[TensorVersion] = []
        self._is_given_again = False
        # How many normalizations had no statistics to go by; those that have, or are trained in
        # eval mode without, and need no look.
        self._num_unfilled = 0
        self._filled: WeakSet[torch.nn.Module] = WeakSet()
        self._began_at: float | None = None
        self._is_training = False
        self._waited_s: float | None = None
        self._backward_at: float | None = None
        self._num_backwards = self._num_optimizer_steps = 0
        self._num_unused = self._num_lost = 0
        self._schedules = Schedules()
        #: Calls of ``backward()`` so far, also in steps of which only losses are observed.
        self.num_backward_calls = 0
        #: Of how many micro-batches a trainer is asked to accumulate the gradients, if it says so.
        self.accumulation_steps: int | None = None
        #: What a gradient scaler multiplied the losses of the open step by.
        self.loss_scale: torch.Tensor | None = None

    def pause(self) -> None:
        """Nothing is observed from here on: the time that passes belongs to no step."""
        self._began_at, self._is_training = None, False
        self._phases.pause()

    def begin(self, step: OpenStep, _: object = None, inputs: Sequence[object] = ()) -> None:
        self._num_modules, self._in_eval, self._dropout = 0, [], 0.0
        self._num_unfilled = self._num_left_on = self._num_normalizing = 0
        given = inputs if step.mode is not Mode.TRAIN else ()
        tensors = [one for one in map(readable, given) if one is not None]
        self._is_given_again = len(tensors) == len(self._given) > 0 and all(
            before.is_same(one) for before, one in zip(self._given, tensors, strict=True)
        )
        self._given = [TensorVersion(one) for one in tensors]
        self._is_training |= step.mode is Mode.TRAIN
        self._phases.turn("forward")

    def enter(self, module: torch.nn.Module) -> None:
        """A module inside of the model begins to run."""
        kind = type(module)
        if kind not in self._depends:
            self._depends[kind] = _depends_on_mode(kind)
            self._leaves_on[kind] = leaves_dropout_on(kind)
        self._num_left_on += self._leaves_on[kind] and not module.training
        if not self._depends[kind]:
            return
        if is_of_keras(kind):
            self._enter_keras(module)
            return
        share = getattr(module, "p", True)  # of a normalization nothing is dropped
        if share:
            self._num_modules += 1
            if not module.training:
                self._in_eval.append(module)
            if module.training and type(share) is float:
                self._dropout = max(self._dropout, share)
            self._num_normalizing += module.training and share is True
        if not module.training and isinstance(module, BatchNorm) and module not in self._filled:
            weight = module.weight
            is_trained_so = torch.is_grad_enabled() and weight is not None and weight.requires_grad
            if self._is_training and is_trained_so:
                self._filled.add(module)
                return
            is_unfilled = _is_unfilled(module)  # asked once of most: it waits for a device
            if is_unfilled is not None:
                self._num_unfilled += is_unfilled
            else:
                self._filled.add(module)

    def _enter_keras(self, layer: torch.nn.Module) -> None:
        """A layer of Keras begins to run: as it is called, whatever ``train()`` was called on."""
        from ...keras.layers import depends_on_mode, is_in_training

        if depends_on_mode(layer):
            self._num_modules += 1
            if not is_in_training(layer, bool(call_keywords().get("training"))):
                self._in_eval.append(layer)

    def leave(self, step: OpenStep, model: torch.nn.Module, *, is_trained: bool) -> None:
        """A model returned.

        Args:
            is_trained: Whether this model is the one, or one of those, that are trained.
        """
        evaluates = is_trained and step.mode is not Mode.TRAIN and not self._is_training
        if evaluates and not step.has_only_losses:
            self._phases.end(step.mode)
        if evaluates and step.wants(_EVALUATIONS) and (number := self._begun_pass()):
            self._observer.numbers(step, {"evaluation/number": number}, _EVALUATIONS)
        if not step.wants(_COLLECTION):
            if evaluates:
                self._end_interval(None)
            return
        numbers: dict[str, float] = {}
        num_in_eval = len(self._in_eval)
        if num_in_eval and step.mode is Mode.TRAIN:  # what is frozen as a whole is to stay so
            frozen = _frozen_parts(model)
            num_in_eval = sum(id(one) not in frozen for one in self._in_eval)
            self._num_modules -= len(self._in_eval) - num_in_eval
        if self._num_modules:
            numbers["loop/modules"] = self._num_modules
            if step.mode is Mode.TRAIN:
                numbers["loop/modules_in_eval"] = num_in_eval
            else:
                numbers["loop/modules_in_train"] = self._num_modules - num_in_eval
                if self._num_unfilled:
                    numbers["loop/modules_unfilled"] = self._num_unfilled
            if self._dropout:
                numbers["loop/dropout"] = self._dropout
                if step.mode is not Mode.TRAIN and not self._num_normalizing:
                    numbers["loop/draws"] = float(self._is_given_again)
        if evaluates:
            if self._num_left_on:
                numbers["loop/modules_left_on"] = self._num_left_on
            self._end_interval(numbers)
        if numbers:
            self._observer.numbers(step, numbers, _COLLECTION)

    def on_loss(self, step: OpenStep, name: str, value: torch.Tensor, call: LossCall) -> None:  # noqa: ARG002
        # Of what is written out nobody sees by what it was divided.
        if step.mode is Mode.TRAIN and step.wants(_COLLECTION) and not call.is_written_out:
            self._num_summed += call.reduction == "sum"
            targets = counted_targets(call) if step.wants(_OF_TARGETS) else None
            self._weights.watch(value, targets)

    def before_backward(self) -> None:
        self._weights.is_in_backward = True
        self._phases.turn("backward")
        if self._backward_at is None:
            self._backward_at = perf_counter()

    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""
        self._weights.is_in_backward = False
        self._phases.turn("other")
        self._num_backwards += 1
        self._num_unused += 1

    def zeroed(self) -> None:
        """Gradients were set to zero: what no optimizer used of them is lost."""
        self._num_lost += self._num_unused
        self._num_unused = 0

    def waited(self, seconds: float) -> None:
        self._waited_s = (self._waited_s or 0.0) + seconds
        self._phases.waited(seconds)

    def scheduled(self, scheduler: LRScheduler, is_new: bool) -> None:
        self._schedules.add(scheduler, self._num_optimizer_steps, is_new=is_new)

    def on_learning_rate(self, group: Mapping[str, object]) -> None:
        """A parameter group is about to be updated whose learning rate a schedule sets."""
        self._schedules.on_learning_rate(group)

    def updates(self, *_: object) -> None:
        """An optimizer is about to step, and was observed."""
        self._phases.turn("optimizer")

    def stepped(self) -> None:
        self._phases.turn("other")
        self.passed()

    def passed(self, count: int = 1) -> None:
        """Optimizers have stepped, in steps whose time is not observed."""
        self._num_optimizer_steps += count
        self._num_unused = 0

    def skipped(self) -> None:
        """Steps went by whose time was not observed: that of the next begins now."""
        self._phases.skip()
        self._end_interval(None)

    def complete(self, step: OpenStep) -> None:
        if step.has_only_losses:
            self._phases.skip()
        else:
            self._phases.end(Mode.TRAIN)
        weights, num_backwards = self._weights.take(self.loss_scale), self._num_backwards
        of_targets = self._weights.take_of_targets(self.loss_scale)
        num_lost, self._num_lost = self._num_lost, 0
        num_summed, self._num_summed = self._num_summed, 0
        self.loss_scale, self._num_backwards, self._is_training = None, 0, False
        if not step.wants(_COLLECTION):
            self._end_interval(None)
            return
        numbers: dict[str, float] = {}
        self._end_interval(numbers)
        numbers["loop/backwards"] = num_backwards
        # What says nothing in an ordinary training is left out: each number costs microseconds.
        if num_lost:
            numbers["loop/backwards_lost"] = num_lost
        if num_summed:
            numbers["loop/summed_losses"] = num_summed
        if step.mode_step % MEMORY_EVERY == 0:
            numbers.update((f"loop/{name}", value) for name, value in memory_use())
        num_graphs = self._weights.num_graphs
        if num_graphs > 1:
            numbers["loop/graphs"] = num_graphs
        if num_backwards and isinstance(weights, torch.Tensor):
            self._observer.numbers(step, numbers, _COLLECTION)
            self._scalars.add(step, "loop/loss_weight", _COLLECTION, weights)
            numbers = {}
        elif num_backwards and not isinstance(weights, torch.Tensor):
            numbers["loop/loss_weight"] = math.nan if weights is None else weights
        if of_targets is not None and num_backwards > 1:
            self._summaries.add(step, _OF_TARGETS, "micro_batches/targets", of_targets)
        asked = self.accumulation_steps or accelerate_accumulation_steps() or 1
        if asked > 1:
            numbers["loop/accumulation_steps"] = asked
            numbers["loop/backward_calls"] = self.num_backward_calls
        numbers["loop/optimizer_steps"] = self._num_optimizer_steps
        if (epoch := self._epoch()) is not None:
            numbers["loop/epoch"] = epoch
        for name, value in self._schedules.numbers():
            numbers[f"loop/{name}"] = value
        self._observer.numbers(step, numbers, _COLLECTION)

    def _end_interval(self, numbers: dict[str, float] | None) -> None:
        """Let the time that passed be that of a step, or of none.

        Args:
            numbers: What is observed of the step, by name.
        """
        now = perf_counter()
        if numbers is not None and self._began_at is not None:
            numbers["loop/step_seconds"] = now - self._began_at
            if self._waited_s is not None:
                numbers["loop/data_wait_seconds"] = self._waited_s
            if self._backward_at is not None and is_one_of_several():
                numbers["loop/forward_seconds"] = self._backward_at - self._began_at
        self._began_at, self._backward_at = now, None
        self._waited_s = None if self._waited_s is None else 0.0


def _is_unfilled(module: BatchNorm) -> bool | None:
    """Return whether a normalization has statistics of a new layer, but weights that were trained.

    Returns:
        ``None`` where it has other statistics, or keeps none.
    """
    mean, variance = module.running_mean, module.running_var
    if mean is None or variance is None or torch.nn.parameter.is_lazy(mean):
        return None
    with isolated_compute(mean.device.type):
        if bool(mean.any()) or bool((variance != 1).any()):
            return None
        weight, bias = module.weight, module.bias
        return weight is not None and bool((weight != 1).any() | bias.any())


def _depends_on_mode(kind: type) -> bool:
    """Return whether modules of a class compute something else in training than in evaluation."""
    return issubclass(kind, (Dropout, BatchNorm)) or kind.__name__ in _DROPS or is_of_keras(kind)


def _frozen_parts(model: torch.nn.Module) -> set[int]:
    """Return the ``id`` of each module that lies in one of several layers none of which is trained.

    A normalization that is frozen alone is part of what is trained.
    """
    found: set[int] = set()
    for part in model.modules():
        if id(part) in found or next(part.children(), None) is None:
            continue
        if any(one.requires_grad for one in part.parameters()):
            continue
        if next(part.parameters(), None) is not None:
            found.update(map(id, part.modules()))
    return found
