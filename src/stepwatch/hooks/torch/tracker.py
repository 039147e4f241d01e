"""From the events of torch to observations, each in the step to which it belongs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from operator import methodcaller
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np
import torch

from ...capture.budget import FULL_STEPS
from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...model.record import TensorInfo
from ...model.steps import Mode
from ..data_helpers import FOLDS
from .autograd import SingularOperations, find_non_finite, operation
from .bare_tensors import BareTensors
from .collectors.activations import Activity, Quantiles, Routing
from .collectors.attention import Attention
from .collectors.averaging import GradientAveraging
from .collectors.batch import Batches, Channels, Samples
from .collectors.checkpoints import Checkpoints
from .collectors.criteria import Criteria
from .collectors.dependence import Dependence
from .collectors.derivatives import Derivatives
from .collectors.diffusion import NoiseLevels
from .collectors.embedding import Embeddings, LookedUp, Tokens
from .collectors.log_terms import LogTerms
from .collectors.logged import LoggedScalars
from .collectors.loop import Loop
from .collectors.loss import LossInputs
from .collectors.loss_graphs import LossGraphs
from .collectors.optimizer import Clipping, OptimizerStates, Updates
from .collectors.pairs import PulledPairs
from .collectors.policy import Policies
from .collectors.profiling import ProfileCollector
from .collectors.setup import Setup
from .collectors.sources import Sources
from .collectors.supervision import Supervision
from .collectors.waiting import WaitingOptimizers
from .events import Detail, Events, HookGuard, LossCall, Subscriber
from .graphs import Graphs
from .internals import Loss, calling_loss, in_transform, loss_scale
from .left_gradients import LeftGradients
from .models import (
    MOST_ADOPTED,
    AccumulatedGradients,
    FirstGradients,
    GradientsByHand,
    Names,
    Optimizers,
    Parameters,
    TorchLossNames,
    parameters_of,
    unwrap,
)
from .observe import Observer, Scalars, Summaries, has_non_finite
from .replay.feed import BlackBoxFeed
from .replay.rows import DrawnRows
from .steps import Steps
from .tensors import TrackedParameter
from .usual import UsualSteps
from .written_loss import Output, outputs_in, written_loss

# Of so many outputs a script may write out a loss.
_MOST_OUTPUTS = 4
# What makes one loss of several terms.
_TERMS = ("add", "sub", "rsub")


class Tracker(HookGuard):
    """Observes what torch does in the right step, and lets collectors observe the rest.

    Args:
        model: The only model to observe; by default every model that runs.
        on_step: Called after each step with its mode.
        hold: Hold a TRAIN step that is over until something runs; see ``Steps``.
    """

    def __init__(
        self,
        recorder: Recorder,
        model: torch.nn.Module | None = None,
        on_step: Callable[[Mode], None] = lambda _: None,
        *,
        hold: bool = False,
        strict: bool = False,
    ) -> None:
        super().__init__(strict=strict)
        self.names = Names()
        self.observer = Observer()
        self.optimizers = Optimizers(self._is_ours)
        self.parameters = Parameters(self.names, self.optimizers)
        self.steps = Steps(
            *(recorder, self.observer, self.optimizers, self._complete, self._complete_by_hand),
            self._on_end,
            hold=hold,
        )
        self._recorder, self._on_step, self._only = recorder, on_step, model
        if model is not None:
            self.names.add(model)
        #: Names losses by where the script computes them.
        self.losses = TorchLossNames()
        self.graphs = Graphs(
            recorder.plan,
            self.names,
            self.losses,
            self.observer,
            self.steps.current,
            self.steps.evaluation,
            lambda: self.events.detail is Detail.FULL,
        )
        #: What loaders gave last.
        self.rows = DrawnRows()
        self._black_box = BlackBoxFeed(recorder, self.names, self.optimizers, self.rows)
        self.root: torch.nn.Module | None = None
        self._stepping: list[torch.optim.Optimizer] = []
        self._stepping_parameters: list[TrackedParameter] = []
        self._loss_since_backward = False
        #: Of the models that ran in full since gradients were computed.
        self._outputs: deque[Output] = deque(maxlen=_MOST_OUTPUTS)
        self.loss_depth = self.num_optimizer_steps = 0
        self._num_stale: float = 0  # nan where that is not known
        self._num_turns = FOLDS.num_turns  # of folds, when a model was trained last
        self._passed_over = False  # whether an optimizer ever stepped in a step that was thinned
        self._is_idle = True  # no model had run when it was paused
        self._left_gradients = LeftGradients()
        self._num_left: int | None = None  # of the step, where that is known
        self._num_before_scaler = 0
        self._loss_scale: torch.Tensor | None = None
        self._carried: WeakKeyDictionary[torch.optim.Optimizer, AccumulatedGradients] = (
            WeakKeyDictionary()
        )
        # The same of the parameters that a script updates itself.
        self._carried_by_hand = GradientsByHand()
        #: Tell a backward pass that did not stay finite of a step that is not observed in full.
        self.first_gradients = FirstGradients()
        #: Of the graph of the loss, for when its gradients are not finite.
        self.singular = SingularOperations()
        self._budget = recorder.budget
        #: The models that ran to be trained since the last TRAIN step, by their ``id``.
        self.last_models: dict[int, ref[torch.nn.Module]] = {}
        # And since the last step of an optimizer, which are of the step after where that ends.
        self._new_models: dict[int, ref[torch.nn.Module]] = {}
        #: Whether an optimizer computed gradients within its step.
        self.has_closure = False
        # Models that have parameters, or are the only one.
        self._models: WeakSet[torch.nn.Module] = WeakSet()
        #: Turns off the hooks on modules inside of one until it returned, and on again.
        self.pause_inside: Callable[[torch.nn.Module], bool] = lambda _: False
        #: Turns off all hooks on modules but the one before each model, until they are on again.
        self.watch_only: Callable[[Sequence[torch.nn.Module], Sequence[torch.nn.Module]], bool] = (
            lambda *_: False
        )
        #: Turns on the hook before one more model, where it is before each model alone.
        self.watch_also: Callable[[torch.nn.Module], None] = lambda _: None
        # What was put into eval mode, and did not run inside of a model.
        self._evaluable: WeakSet[torch.nn.Module] = WeakSet()
        self.resume_hooks: Callable[[], None] = lambda: None
        #: Whether a loss was computed by a module that is none of torch's own.
        self.has_own_losses = False
        self.events = Events(self, recorder.budget)
        self._subscribe(recorder)

    def _subscribe(self, recorder: Recorder) -> None:
        """Make the collectors; subscribers of one event are called in the order of its line."""
        names, parameters, observer = self.names, self.parameters, self.observer
        current, scalars, summaries = self.steps.current, Scalars(observer), Summaries(observer)
        self._attention = attention = Attention(names, observer, current)
        self._loop = loop = Loop(
            *(observer, scalars, summaries, recorder.profiler.phases, self.rows.epoch),
            lambda: self.rows.begun_pass(self.steps.num_trained),
        )
        self._profile = profile = ProfileCollector(recorder)
        activity = Activity(attention.innermost, current, summaries)
        quantiles = Quantiles(parameters, summaries)
        self._bare = BareTensors(names, self.optimizers)
        self._dependence = dependence = Dependence(summaries)
        samples = Samples(names, observer)
        clipping = Clipping(observer, current)
        supervision = Supervision(
            observer, lambda steps: recorder.budget.observe_later_in_full(steps, "last tokens")
        )
        self._batches = Batches(names, observer)
        self.checkpoints = checkpoints = Checkpoints(
            *(recorder, names, observer, self.optimizers, lambda: self.steps.num_trained),
            lambda: recorder.budget.observe_next_in_full("checkpoint"),
        )
        self._averaging = averaging = GradientAveraging(
            parameters,
            observer,
            lambda: self._follow_wrappers(averaging),
        )
        self._policies = policies = Policies(names, observer)
        self._setup = setup = Setup(names, observer, LossGraphs())
        looked_up = LookedUp(observer)
        self._pairs = pairs = PulledPairs(
            observer, lambda steps: recorder.budget.observe_later_in_full(steps)
        )
        noise = NoiseLevels(observer)
        self._criteria = criteria = Criteria(scalars)
        self._log_terms = log_terms = LogTerms(names, scalars)
        self._waiting = waiting = WaitingOptimizers(names, self.optimizers, observer)
        self._derivatives = derivatives = Derivatives(
            names, self.optimizers, observer, scalars, current
        )
        #: Where in the script the parts of the training were made.
        self.sources = sources = Sources(names)
        self._updates = updates = Updates(parameters, scalars)
        self.logged = logged = LoggedScalars(observer, self.events.source("logged"))
        layers = profile.layers
        # What is known of a step without its optimizers.
        of_any_step = (
            *(dependence.forget, supervision.forget, policies.forget, setup.complete),
            *(looked_up.complete, pairs.complete, noise.complete),
        )
        for event, *subscribers in (
            # Of torch
            ("before_forward", self._before_forward),
            ("after_forward", self._after_forward),
            ("before_loss", self._before_loss),
            ("after_loss", self._after_loss),
            ("before_backward", self._before_backward, self._observe_graph),
            ("after_backward", self._after_backward),
            ("before_scaled_step", self.before_scaled_step),
            ("after_scaled_step", self._after_scaled_step),
            ("before_optimizer", self.before_any_optimizer),
            ("after_closure", self._after_closure),
            ("after_optimizer", self.after_any_optimizer),
            ("zero_grad", self._on_zero_grad),
            ("scheduler_step", loop.scheduled, checkpoints.scheduled),
            ("loader_wait", loop.waited),
            ("wrapped", averaging.wrapped),
            ("reducer_prepared", averaging.prepared),
            ("all_reduced", averaging.summed),
            ("differentiated", self._differentiated, derivatives.taken),
            ("norm_clipped", clipping.norm_clipped),
            ("before_value_clipping", clipping.before_value_clipping),
            ("value_clipped", clipping.value_clipped),
            ("logged", logged.observe),
            ("attention", attention.observe),
            ("activation", activity.called),
            # Of steps
            (
                "model_begins",
                *(profile.begin, attention.begin, activity.begin, loop.begin),
                *(self._batches.observe, samples.observe),
                *(Channels(names, observer, summaries).observe, dependence.begin),
                *(supervision.begin, checkpoints.begin, setup.begin, noise.begin, logged.look),
            ),
            ("module_begins", loop.enter, attention.enter, layers.enter),
            (
                "loss",
                *(dependence.observe, LossInputs(observer).observe, supervision.observe),
                *(noise.observe, loop.on_loss, sources.on_loss, samples.observe_loss),
            ),
            ("composed_loss", dependence.observe_composed, sources.on_loss),
            (
                "backward_ends",
                *(loop.after_backward, layers.after_backward, supervision.after_backward),
                *(waiting.after_backward, criteria.after_backward, log_terms.after_backward),
            ),
            (
                "update_begins",
                Embeddings(names, parameters, summaries).before_update,
                *(quantiles.before_update, updates.before, loop.updates, checkpoints.updates),
                setup.before_update,
            ),
            ("update_ends", updates.after, OptimizerStates(parameters, observer, scalars).observe),
            (
                "step_ends",
                *(checkpoints.complete, loop.complete, *of_any_step, logged.complete),
                *(derivatives.complete, layers.complete, waiting.complete, scalars.finish),
            ),
            ("step_by_hand_ends", *of_any_step),
            (
                "pauses",
                *(dependence.forget, supervision.forget, policies.forget, pairs.forget),
                *(loop.pause, profile.pause, criteria.forget, log_terms.forget),
            ),
        ):
            self.events.subscribe(event, *subscribers)
        for event, subscriber in (
            ("before_forward", self.before_thin_forward),
            ("after_forward", self._after_thin_forward),
            ("after_loss", self._after_loss),
            ("before_backward", self.before_thin_backward),
            ("after_backward", self._after_thin_backward),
            ("before_scaled_step", self.before_scaled_step),
            ("after_scaled_step", self._after_scaled_step),
            ("before_optimizer", self.before_any_optimizer),
            ("after_optimizer", self.after_any_optimizer),
            ("scheduler_step", loop.scheduled),
            ("differentiated", self._differentiated),
            ("logged", logged.observe),
        ):
            self.events.subscribe_at(Detail.LOSSES, event, subscriber)
        self.events.subscribe("put_in_eval", self._evaluable.add)
        for detail in (Detail.LOSSES, Detail.USUAL):
            self.events.subscribe_at(detail, "put_in_eval", self._evaluable.add)
        of_checkpoints: tuple[tuple[str, Subscriber], ...] = (
            ("checkpoint_saved", checkpoints.saved),
            ("checkpoint_read", checkpoints.read),
            ("before_weights", checkpoints.before_weights),
            ("after_weights", checkpoints.after_weights),
            ("pretrained", checkpoints.pretrained),
            ("initialized", checkpoints.initialized),
            ("optimizer_loaded", checkpoints.optimizer_loaded),
            ("scheduler_loaded", checkpoints.scheduler_loaded),
        )
        for event, take in of_checkpoints:
            self.events.subscribe(event, take)
            for detail in (Detail.LOSSES, Detail.USUAL):
                self.events.subscribe_at(detail, event, take)
        self.events.subscribe("module_registered", sources.registered)
        self.events.subscribe("optimizer_made", sources.made_optimizer, self.optimizers.made)
        for detail in (Detail.LOSSES, Detail.USUAL):
            self.events.subscribe_at(detail, "optimizer_made", self.optimizers.made)
        for detail in (Detail.LOSSES, Detail.USUAL):
            self.events.subscribe_at(detail, "wrapped", averaging.wrapped)
            self.events.subscribe_at(detail, "reducer_prepared", averaging.prepared)
        self._usual = UsualSteps(self, recorder, loop)
        FOLDS.listen(self._usual.leave)
        # What modules return is observed by those that want it in a step, which is asked once.
        self._output_observers: tuple[tuple[Callable[[OpenStep], bool], Subscriber], ...] = (
            (methodcaller("wants", "activity"), activity.returned),
            (methodcaller("wants", "quantiles"), quantiles.returned),
            (methodcaller("wants", "routing"), Routing(names, summaries).returned),
            (methodcaller("wants", "tokens"), Tokens(observer, summaries).returned),
            (layers.listens, layers.returned),
            (dependence.listens, dependence.returned),
            (supervision.listens, supervision.returned),
            (policies.listens, policies.returned),
            (setup.listens, setup.returned),
            (looked_up.listens, looked_up.returned),
            (pairs.listens, pairs.returned),
            (noise.listens, noise.returned),
        )
        self._observe_output: list[Subscriber] = []
        self._module_begins = self.events.subscribers("module_begins")

    def _follow_wrappers(self, averaging: GradientAveraging) -> None:
        """Let it be known what becomes of gradients: there is a wrapper that averages them."""
        for event, subscriber in (
            ("module_begins", averaging.enter),
            ("backward_ends", averaging.after_backward),
            ("update_begins", averaging.before_update),
            ("update_ends", averaging.after_update),
            ("step_ends", averaging.complete),
        ):
            self.events.subscribe(event, subscriber)
        for detail in (Detail.LOSSES, Detail.USUAL):
            self.events.subscribe_at(detail, "after_optimizer", averaging.after_update)

    def attach(self) -> None:
        self._profile.listen()
        self._averaging.scan()
        self.optimizers.may_miss()
        self.active = True

    def detach(self) -> None:
        """Observe no more, until ``attach``."""
        self.active = False
        self._usual.leave()
        self.logged.remove()
        self.root, self.loss_depth, self._stepping = None, 0, []
        self.events.emit("pauses")

    def pause(self) -> None:
        """Observe nothing until ``resume``; as long as no model has run, there is nothing to undo.

        Where another framework trains on torch, that is so at each of its steps.
        """
        self._is_idle = not self.names.roots
        if self._is_idle:
            self.active = False
        else:
            self.detach()

    def resume(self) -> None:
        """Observe again."""
        if self._is_idle:
            self.active = True
            self.optimizers.may_miss()
        else:
            self.attach()

    # Modules

    def _before_forward(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        if isinstance(module, Loss):
            self._before_loss(type(module).__name__, inputs)
            self.loss_depth += 1
        # The root again: its last forward was broken off by what no hook notices, Ctrl-C.
        elif self.root is None or module is self.root:
            if not _are_symbolic(inputs) and self.is_model(module):
                self.root = module
                self._begin(module, inputs)
        elif self.names.of(module) is None:
            trained = self.steps.last_mode is Mode.TRAIN and not in_transform()
            self.names.adopt(module, self.root, trained=trained)
            self._evaluable.discard(module)
        self._enter(module)

    def _enter(self, module: torch.nn.Module) -> None:
        """A module begins to run, which is told where more than losses is observed."""
        if self.events.detail is Detail.FULL:
            for begin in self._module_begins:
                begin(module)

    def _after_forward(self, module: torch.nn.Module, given: Any, output: object) -> None:
        self._attention.leave(module)
        if isinstance(module, Loss):
            self._after_loss_module(module, given, output)
            return
        if type(module) in self.graphs.slots.roots:  # one like it was compiled
            self.gather(module)  # first: what is inside ended before
        if self.root is not None:
            name, step = self.names.of(module), self.steps.current()
            if name is not None and output is not None:
                self.observer.outputs(step, name, given, output)
                for observe in self._observe_output:
                    observe(step, module, name, given, output)
            if module is self.root:
                self._batches.returned(step, output)
                if step.mode is Mode.TRAIN and not in_transform():
                    self._outputs += outputs_in(output)
                self._loop.leave(step, module, is_trained=self.names.is_trained(module))
                self._after_root(step)
        elif self._outputs:
            self._after_criterion(module, given, output)

    def _after_criterion(self, module: torch.nn.Module, given: Any, output: object) -> None:
        """A module returned that is no model, and is called after one."""
        step = self.steps.current()
        if step.mode is Mode.TRAIN and not step.has_only_losses:
            with suppress(Exception):  # a graph of whatever kind
                self._criteria.returned(step, module, given, output, self._outputs)

    @property
    def unrun(self) -> list[torch.nn.Module]:
        """Models that were put into eval mode and did not run yet, as averages of weights."""
        return list(islice(filter(self.may_run, self._evaluable), MOST_ADOPTED))

    def may_run(self, module: torch.nn.Module) -> bool:
        """Return whether this is a model of which nothing is known yet."""
        named = map(self.names.of, module.modules())
        return self.is_model(module) and all(name is None for name in named)

    def before_thin_forward(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        if isinstance(module, Loss):
            self.loss_depth += 1
        elif (
            (self.root is None or module is self.root)
            and not _are_symbolic(inputs)
            and self.is_model(module)
        ):
            self.root = module
            self._begin(module, inputs)
            if self.events.detail is Detail.LOSSES:
                self.pause_inside(module)
            self._enter(module)  # the step may be the first one observed in full after thin ones

    def _after_thin_forward(self, module: torch.nn.Module, given: Any, output: object) -> None:
        if isinstance(module, Loss):
            self._after_loss_module(module, given, output)
            return
        if type(module) in self.graphs.slots.roots:
            self.gather(module)
        if module is self.root:
            step = self.steps.current()
            if step.mode is not Mode.TRAIN:
                self._loop.leave(step, module, is_trained=self.names.is_trained(module))
            self._after_root(step)

    def _after_root(self, step: OpenStep) -> None:
        """A model returned; an evaluation may have run within a step that goes on as it began."""
        self.root = None
        trained = self._recorder.opened.get(Mode.TRAIN) if step.mode is Mode.EVAL else None
        if trained is not None:
            self._observe_as(trained)

    def _observe_as(self, step: OpenStep) -> None:
        """Let events be observed in the detail of a step."""
        self.events.detail = Detail.LOSSES if step.has_only_losses else Detail.FULL

    def widens_evaluation(self, inputs: tuple[object, ...], num_trained: int) -> bool:
        """Have an evaluation observed in full whose data are others than before; return whether."""
        number = self.rows.new_source(inputs[0] if inputs else None, num_trained)
        return bool(number) and self._budget.observe_evaluation_in_full(number)

    def _begin(self, model: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        self.gather()  # of the step before: nobody may have noticed that its model returned
        mode = self.steps.on_forward(model)
        if mode is Mode.EVAL:
            self.widens_evaluation(inputs, self.steps.num_trained)
        step = self.steps.current()
        if mode is Mode.EVAL and self.rows.shared:
            name = f"evaluation/shared_rows/{type(unwrap(model)).__name__}"
            self.observer.scalar(step, name, self.rows.shared, "evaluations")
            self.rows.shared = 0.0
        if self.names.of(unwrap(model)) is None:
            self.names.add(model, plain=mode is Mode.TRAIN or self.optimizers.may_hold(model))
            if mode is Mode.TRAIN and step.has_only_losses:
                self._budget.observe_next_in_full("another model", FULL_STEPS, evaluations=0)
            if mode is Mode.EVAL and step.has_only_losses:  # it may run only now
                self._widens(step, "another model evaluated", steps=1)
        self._observe_as(step)
        if mode is Mode.TRAIN:
            self._begin_fold(model)
            self.last_models[id(model)] = self._new_models[id(model)] = ref(model)
            self.names.set_trained(model)
        if step.has_only_losses:
            self._begin_thin(step)
            return
        if mode is Mode.TRAIN:
            self._black_box.begin(model, step, inputs)
        self.events.emit("model_begins", step, model, inputs)
        self._observe_output = [observe for wants, observe in self._output_observers if wants(step)]

    def _begin_fold(self, model: torch.nn.Module) -> None:
        """A model is trained, maybe for the first time in a fold of a cross-validation."""
        turns, self._num_turns = FOLDS.num_turns - self._num_turns, FOLDS.num_turns
        is_anew = self.checkpoints.last_turn == FOLDS.num_turns
        if turns == 1 and self.names.is_trained(model) and not is_anew:
            FOLDS.goes_on(type(unwrap(model)).__name__)

    def _begin_thin(self, step: OpenStep) -> None:
        self._profile.begin(step)
        self._loop.begin(step)

    def drawn(self, iterator: Any) -> None:
        """A loader gave a batch, or has no more."""
        self.checkpoints.drawn(iterator)
        self.rows.drawn(iterator, self.steps.num_trained)

    # Losses and gradients

    def _before_loss(self, name: str, inputs: tuple[object, ...], keywords: Any = None) -> None:
        if self.loss_depth == 0:
            self._black_box.loss(name, inputs, keywords)

    def _after_loss(self, name: str, value: object, inputs: tuple[Any, ...], keywords: Any) -> None:
        if self.loss_depth == 0:
            thin = self.events.detail is not Detail.FULL
            module = calling_loss() if thin and self.root is not None else None
            name = name if module is None else type(module).__name__
            self.after_any_loss(name, value, inputs, keywords, module)

    def _after_loss_module(self, module: Loss, given: Any, output: object) -> None:
        self.loss_depth = max(0, self.loss_depth - 1)
        self.has_own_losses |= type(module).__module__ != Loss.__module__
        if self.loss_depth == 0:
            inputs, keywords = given
            self.after_any_loss(type(module).__name__, output, inputs, keywords, module)

    def _on_loss(self, what: str, value: object, call: LossCall | None = None) -> None:
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            self._begin_bare(value, differentiates=False)
            self.steps.on_loss(value)
            name = self.losses.name(self.steps.last_mode, what)
            step = self.steps.current()
            function = call.function if call else ""
            if call is None and self._outputs and not step.has_only_losses:
                with suppress(Exception):  # a graph of whatever kind
                    call = written_loss(value, self._outputs)
                function = call.function if call and call.reduction == "mean" else ""
            if self.observer.loss(step, name, value, function):
                self._loss_since_backward = True
            is_known = step.mode is Mode.TRAIN and (step.is_thin or value.is_cpu)
            if is_known and has_non_finite(step, name) and self._widens(step):
                self._find_non_finite(step, name, value)
            if step.has_only_losses:
                return
            if call is None:
                self.events.emit("composed_loss", step, name, value)
            else:
                self.events.emit("loss", step, name, value, call)
            self._black_box.judge(step, name)

    def _widens(self, step: OpenStep, reason: str = "not finite", steps: int = 10) -> bool:
        """Observe the rest of a step in full, and some after it; return whether it is."""
        is_news = self._budget.observe_next_in_full(reason, steps)
        if is_news:
            step.widen()
        return is_news

    def _find_non_finite(self, step: OpenStep, name: str, loss: torch.Tensor) -> None:
        """Observe which operation made a loss not finite, where nothing else in the step tells."""
        if not step.is_thin and any(
            not step.is_finite(row) for one, row in step.rows.items() if one != name
        ):
            return  # the modules tell
        # With checkpoints what was saved is computed anew, and in that processes may meet.
        is_alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
        found = None
        if is_alone:
            with suppress(Exception):  # what a script hooks into saving may raise anything
                found = find_non_finite(loss, self.names.parameters)
        if found is not None:
            for number, value in enumerate(found.inputs):
                name = f"input/{found.name}" + (f"/{number}" if number else "")
                self.observer.tensor(step, name, value.detach(), "inputs")
            if found.output is not None:
                self.observer.tensor(step, f"output/{found.name}", found.output.detach(), "outputs")

    def _find_infinite_derivative(self, step: OpenStep) -> None:
        """Observe which operation made gradients that are not finite, of values that were."""
        found = None
        with suppress(Exception):
            found = self.singular.take_infinite()
        if found is not None:
            name = f"loop/infinite_derivative/{found.name}"
            self.observer.tensor(step, name, found.derivative, "loop")

    def _before_backward(self, roots: object) -> None:
        for carried in self._carried.values():
            carried.before_backward()
        self._carried_by_hand.before_backward()
        self._left_gradients.before_backward(roots)
        self.before_thin_backward(roots)
        self._loop.before_backward()

    def _observe_graph(self, roots: object) -> None:
        step = self.steps.current()
        if not step.has_only_losses:
            with suppress(Exception):  # of a graph of whatever kind: the rest goes on
                self.singular.search(roots, self.names.parameters)
            if (
                isinstance(roots, torch.Tensor)
                and roots.numel() == 1
                and operation(roots.grad_fn) in _TERMS
                and step.wants("loop")
            ):
                self.observer.tensor(step, "loop/objective", roots.detach(), "loop")
        self._policies.before_backward(step, roots)
        self._dependence.before_backward(step, roots)
        self._setup.before_backward(step, roots)
        self._pairs.before_backward(roots)
        self._log_terms.before_backward(step, roots)
        self._derivatives.before_backward(roots)

    def before_thin_backward(self, roots: object) -> None:
        self._loop.num_backward_calls += 1
        self._begin_bare(roots)
        self.steps.before_backward()
        self.gather()
        if not self._loss_since_backward and isinstance(roots, torch.Tensor) and roots.numel() == 1:
            self._on_loss("backward", roots)
        self._loss_since_backward = False
        if self.steps.current().has_only_losses:
            self.keep_singular(roots)

    def _begin_bare(self, loss: object, *, differentiates: bool = True) -> None:
        """A loss was computed: begin a step, if it is of bare tensors that were updated since.

        Args:
            differentiates: Gradients of it are about to be computed, or were.
        """
        bare = self._bare
        if self.root is not None or (bare.model is None and not differentiates):
            return
        if type(loss) is not torch.Tensor or loss.numel() != 1 or in_transform():
            return
        if loss.requires_grad:
            model = bare.found(loss, looks=self.events.detail is Detail.FULL)
            is_new = model is not None and self.names.of(model) is None
            begins = is_new or (self.steps.is_updated_by_hand and bare.are_updated())
        else:
            model = bare.model
            begins = bare.is_alone and not torch.is_grad_enabled()  # an evaluation
        if model is not None and begins:
            self._begin(model, ())

    def _differentiated(
        self, outputs: object, inputs: object, found: object, *, makes_graph: bool
    ) -> None:
        """``torch.autograd.grad`` returned: it may be what a script updates bare tensors by."""
        loss, *others = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        if makes_graph or others or self.root is not None or type(loss) is not torch.Tensor:
            return
        is_full = self.events.detail is Detail.FULL
        if loss.numel() != 1 or self._bare.found(loss, looks=is_full) is None:
            return
        both = [one if isinstance(one, (list, tuple)) else (one,) for one in (inputs, found)]
        pairs = [
            (tensor, gradient)
            for tensor, gradient in zip(*both, strict=False)
            if isinstance(tensor, torch.Tensor) and tensor.is_leaf and tensor.grad is None
        ]
        try:
            for tensor, gradient in pairs:
                tensor.grad = gradient
            (self._before_backward if is_full else self.before_thin_backward)(loss)
            (self._after_backward if is_full else self._after_thin_backward)()
        finally:
            for tensor, _ in pairs:
                tensor.grad = None

    def keep_singular(self, roots: object) -> None:
        """Note what may make the gradients of a step infinite that is not observed in full."""
        if self.singular.paths:
            with suppress(Exception):
                self.singular.keep(roots)

    def _after_backward(self) -> None:
        self.events.emit("backward_ends")
        for carried in self._carried.values():
            carried.after_backward()
        self._left_gradients.after_backward()
        if self._after_thin_backward():
            free = self.parameters.free()
            self.observer.parameters(self.steps.current(), free)
            self._carried_by_hand.after_backward(free)

    def _after_thin_backward(self) -> bool:
        """Return whether the script updates the parameters itself."""
        self._outputs.clear()
        self.graphs.slots.clear()  # graphs that ran again, to be differentiated
        by_hand = self.parameters.are_updated_by_hand()
        self.steps.after_backward(by_hand=by_hand)
        self._bare.keep()
        return by_hand

    def _on_zero_grad(self, owner: object) -> None:
        if not self.steps.in_optimizer:  # what its closure does is its own business
            self._loop.zeroed()
            self._waiting.zeroed(owner)

    # Optimizers

    def before_scaled_step(self, scaler: object) -> None:
        self._loss_scale = loss_scale(scaler)
        self._num_before_scaler = self.num_optimizer_steps

    def _after_scaled_step(self, optimizer: torch.optim.Optimizer) -> None:
        """The scaler skipped the step if no optimizer stepped: a gradient was infinite."""
        skipped = self.num_optimizer_steps == self._num_before_scaler
        if skipped and self._is_ours(optimizer):
            self._before_optimizer(optimizer, skipped=1.0)
            self._after_optimizer(optimizer)

    def before_any_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step; gradients are as it sees them."""
        if self._is_ours(optimizer):
            # On the list already: its last step raised, which no hook notices.
            if self._stepping and any(known is optimizer for known in self._stepping):
                self._stepping = []
            self._stepping.append(optimizer)
            if len(self._stepping) == 1:
                self._before_optimizer(optimizer)

    def after_any_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        if self._stepping and self._is_ours(optimizer):
            self._stepping.pop()
            if not self._stepping:
                self._loop.stepped()
                self._after_optimizer(optimizer)

    def _after_closure(self, optimizer: torch.optim.Optimizer) -> None:
        """Gradients were computed within a step; the first ones are those of it."""
        self.has_closure = True
        if self.steps.in_optimizer:
            held, free = self.parameters.of(optimizer), self.parameters.free()
            self.observer.gradients(self.steps.current(), [*held, *free])

    def _before_optimizer(self, optimizer: torch.optim.Optimizer, skipped: object = 0.0) -> None:
        step = self.steps.before_optimizer(optimizer)
        if step.mode_step > 0 and not self.optimizers.has_stepped(optimizer):
            self._widens(step, "another optimizer", FULL_STEPS)
            self.observer.scalar(step, "optimizer/begins", 1.0, "optimizer")
        elif step.has_only_losses and not self.first_gradients.is_finite(optimizer):
            self._widens(step)
        elif step.has_only_losses and self.parameters.are_thawed():
            self._widens(step, "thawed", FULL_STEPS)
        if step.has_only_losses:
            self.resume_hooks()  # its model was interrupted, else they are on
            self.gather()
            self.optimizers.steps(optimizer)
            self._learning_rates(step, optimizer)
            self._pass_over()
            self._loss_scale = None
            return
        self._black_box.settle(step)
        self.gather()
        if optimizer in self._carried:
            self._num_stale += self._carried[optimizer].count()
        elif self._passed_over:
            self._num_stale = math.nan  # nobody saw what its last step left over
        self.optimizers.steps(optimizer)
        scale, self._loss_scale = self._loss_scale, None
        if scale is not None:
            # A fused optimizer is told whether to skip, and unscales the gradients itself.
            self._loop.loss_scale = scale
            skipped = getattr(optimizer, "found_inf", skipped)
            self.observer.scalar(step, "optimizer/loss_scale", scale, "optimizer")
            self.observer.scalar(step, "optimizer/skipped", skipped, "optimizer")
        scale = getattr(optimizer, "grad_scale", None)
        self._stepping_parameters = self.parameters.of(optimizer)
        self.observer.parameters(step, self._stepping_parameters, scale)
        stepping = [one.parameter for one in self._stepping_parameters]
        num_left = self._left_gradients.steps(optimizer, stepping)
        if num_left is not None:
            self._num_left = num_left
        if not self.first_gradients.is_finite(optimizer):
            self._find_infinite_derivative(step)
        self._learning_rates(step, optimizer)
        self.events.emit("update_begins", step, optimizer)

    def _learning_rates(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        for number, group in self.optimizers.numbered_groups(optimizer):
            if "lr" in group:
                self.observer.scalar(step, f"learning_rate/{number}", group["lr"], "learning_rates")
                self._loop.on_learning_rate(group)

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self.num_optimizer_steps += 1
        self._new_models = {}
        self.optimizers.ends_step(optimizer, self._loop.num_backward_calls)
        step = self.steps.current()
        if not step.has_only_losses:
            self.events.emit("update_ends", step, optimizer)
            self._carried[optimizer] = AccumulatedGradients(self._stepping_parameters)
            self._stepping_parameters = []
        self.steps.after_optimizer(optimizer)
        if self.steps.is_held and self._recorder.thins_next(Mode.TRAIN, ahead=1):
            self._pass_over()
            self._usual.begin()

    # Users

    @guarded
    def close(self) -> None:
        """Training is over: end the steps that are open."""
        if self.active and self.is_same_process():
            self._usual.leave()
            self.gather()
            self.steps.close()

    # Steps that went as usual so far

    def _pass_over(self) -> None:
        """Forget which gradients are left over: that is known from step to step only."""
        self._carried.clear()
        self._left_gradients.forget()
        self._carried_by_hand = GradientsByHand()
        self._passed_over = True

    def keep_gradients_of(self, optimizer: torch.optim.Optimizer) -> None:
        """Note which gradients an optimizer leaves over for a step that is observed in full."""
        self._carried[optimizer] = AccumulatedGradients(self.parameters.of(optimizer))

    def loss_name(self, what: str) -> str:
        """Return the name of the loss ``what`` that the script computes now."""
        return self.losses.name(self.steps.last_mode, what)

    def after_any_loss(
        self, name: str, value: object, inputs: Any, keywords: Any, module: Any = None
    ) -> None:
        """A loss was computed, and not inside of another."""
        self._on_loss(name, value, LossCall(name, inputs, keywords, module))

    def continue_step(self, model: torch.nn.Module, mode: Mode, *, runs: bool) -> None:
        """Observe the rest of a TRAIN or EVAL step in which a model has run, or runs."""
        self.steps.continue_step(model, mode)
        self.root = model if runs else None
        self._begin_thin(self.steps.current())

    def continue_loss(self, info: TensorInfo, value: float, *, is_new: bool) -> None:
        """Add a loss that was computed before.

        Args:
            is_new: Whether no gradients were computed since.
        """
        self.steps.current().add(info, np.asarray(value, info.dtype))
        self._loss_since_backward = is_new

    def continue_optimizer(
        self, optimizer: torch.optim.Optimizer, rates: list[tuple[TensorInfo, float]]
    ) -> None:
        """Add the step of an optimizer that is over, and not the last one of the TRAIN step.

        Args:
            rates: The learning rates of its groups.
        """
        step = self.steps.before_optimizer(optimizer)
        for info, rate in rates:
            step.add(info, np.asarray(rate, info.dtype))
        self.optimizers.ends_step(optimizer, self._loop.num_backward_calls)
        self.steps.after_optimizer(optimizer)

    @guarded
    def gives_back(self) -> None:
        """The kernel followed steps, and one goes otherwise."""
        began = perf_counter()
        self._usual.settle()
        self._recorder.budget.spent_s += perf_counter() - began

    @guarded
    def has_ended(self) -> None:
        """The kernel followed steps to the last that it may."""
        began = perf_counter()
        self._usual.followed()
        self._recorder.budget.spent_s += perf_counter() - began

    @guarded
    def settle(self) -> None:
        """Have all steps recorded that are over."""
        self._usual.settle()

    @property
    def has_begun(self) -> bool:
        """Whether anything was observed of a TRAIN step that is not handed on."""
        return self._recorder.is_open(Mode.TRAIN) or self._usual.has_begun

    def saves(self, name: str, kind: str, value: object) -> bool:
        """Add a number to the step that is held, if that went as usual; return whether it could."""
        if self.steps.is_usual_held and self._usual.saves(name, kind, value):
            return True
        if not self.steps.is_held:
            self._usual.leave()
        return False

    def save(self, name: str, value: object, collection: str, mode: Mode | None = None) -> None:
        """Observe something of the user's in the step that is observed, or is open in a mode."""
        if not self.steps.is_held:
            self._usual.leave()
        step = self.steps.current(mode)
        value = torch.as_tensor(value) if isinstance(value, np.ndarray) else value
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            self.observer.tensor(step, name, value, collection)
        else:
            self.observer.scalar(step, name, value, collection)

    def accumulates(self, num_micro_batches: int) -> None:
        """Note of how many micro-batches gradients are to be accumulated for each step."""
        self._loop.accumulation_steps = num_micro_batches

    # How

    def is_model(self, module: torch.nn.Module) -> bool:
        if module in self._models:
            return True
        if self._only is not None:
            is_model = unwrap(module) is unwrap(self._only)
        else:
            is_model = next(parameters_of(module), None) is not None
        if is_model:
            self._models.add(module)
        return is_model

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        if self._only is None:
            return True
        groups, known = optimizer.param_groups, self.names.parameters
        return any(id(parameter) in known for group in groups for parameter in group["params"])

    def gather(self, owner: torch.nn.Module | None = None) -> None:
        """Observe what ran in compiled graphs; see ``Graphs.gather``."""
        if self.graphs.gather(owner):
            self._loss_since_backward = True

    def _on_end(self, mode: Mode) -> None:
        # What happens from here on belongs to the next.
        if mode is Mode.TRAIN and self.events.detail is not Detail.USUAL:
            thins = self._recorder.thins_next(mode)
            self.events.detail = Detail.LOSSES if thins else Detail.FULL
            if thins:
                self._pass_over()
            if thins and not self.steps.hold:  # else it begins where a step is held
                self._usual.begin()
            self.last_models = dict(self._new_models)
        self._on_step(mode)

    def _complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: add what belongs to no optimizer."""
        if step.has_only_losses:
            self._loop.complete(step)
            self.logged.complete(step)
            return
        self.observer.parameters(step, self.parameters.free())
        self.events.emit("step_ends", step)
        if not math.isnan(self._num_stale):
            self.observer.scalar(step, "optimizer/stale_gradients", self._num_stale, "optimizer")
        if self._num_left is not None:
            self.observer.scalar(step, "optimizer/left_gradients", self._num_left, "optimizer")
        self._num_stale, self._num_left = 0, None

    def _complete_by_hand(self, step: OpenStep) -> None:
        """A TRAIN step ends in which the script updated the parameters itself."""
        if not step.has_only_losses:
            self.events.emit("step_by_hand_ends", step)
        if self._carried_by_hand.is_known and not step.has_only_losses:
            stale = self._carried_by_hand.count()
            self.observer.scalar(step, "optimizer/stale_gradients", stale, "optimizer")
            if self._carried_by_hand.takes_turns:
                self.observer.scalar(step, "loop/takes_turns", 1.0, "loop")


def _are_symbolic(inputs: tuple[object, ...]) -> bool:
    """Return whether a model is only asked for shapes, as Keras does while it builds layers."""
    return any(
        one.is_meta if isinstance(one, torch.Tensor) else type(one).__name__ == "KerasTensor"
        for one in inputs
    )
