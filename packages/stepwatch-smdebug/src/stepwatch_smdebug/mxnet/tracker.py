"""When a step begins, what belongs to it, and when it ends.

A TRAIN step ends with the update of its trainer. Where several trainers live, it ends once all of
them have updated, or before one of them does so again; what ran since the last of them then
belongs to the step after. Where no trainer holds the model, the script updates it by hand, and
the step ends when the model runs again. An EVAL step is one forward of a model that is not
recorded; it ends when that model runs again, or anything is updated. Steps of modules of symbols
end when one runs again.

Whatever is called by MXNet here is guarded, and acts only in its own process and thread.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary, WeakSet

import mxnet
from mxnet import autograd
from mxnet.gluon import Block, Trainer
from mxnet.gluon.loss import Loss
from mxnet.metric import EvalMetric
from mxnet.module import Module

from stepwatch.capture.guard import guarded
from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.recorder import Recorder
from stepwatch.hooks.observations import LossNames
from stepwatch.model.steps import Mode

from .models import Modules, Names, Optimizers, parameters_of
from .observe import Observer, arrays_in, is_symbolic, sole_argument
from .patches import CallListener


class Steps:
    """Determines to which step belongs what happens now.

    Args:
        recorder: Takes the steps.
        trainers: Returns the trainers that hold what ran in a step.
        before_end: Called with a TRAIN step before it ends.
        on_end: Called after each step with its mode.
    """

    def __init__(
        self,
        recorder: Recorder,
        trainers: Callable[[OpenStep], Iterable[Trainer]],
        before_end: Callable[[OpenStep], None],
        on_end: Callable[[Mode], None],
    ) -> None:
        self.mode: Mode | None = None  # as the user set it; else it is derived
        self._recorder = recorder
        self._trainers = trainers
        self._before_end, self._on_end = before_end, on_end
        #: The step after the open one, where something of it ran already.
        self.following: OpenStep | None = None
        self._stepped: WeakSet[Trainer] = WeakSet()
        self._ever_stepped: WeakSet[Trainer] = WeakSet()
        self._waited = False  # a whole step long, for trainers that never updated
        self._updating = self._by_hand = False
        self._evaluated: WeakSet[Block] = WeakSet()
        self._run: Mode | None = None

    def mode_now(self) -> Mode:
        """Return the mode: as the user set it, else what is recorded is trained."""
        return self.mode or (Mode.TRAIN if autograd.is_recording() else Mode.EVAL)

    def current(self, mode: Mode) -> OpenStep:
        """Return the step of a mode to which what happens now belongs."""
        if mode is Mode.TRAIN and self._stepped and not self._updating:
            if self.following is None:
                self.following = self._recorder.new_step(mode)
            return self.following
        return self._recorder.open_step(mode)

    def on_forward(self, model: Block) -> OpenStep:
        """A model begins to run; return the step that it belongs to."""
        mode = self.mode_now()
        if mode is Mode.TRAIN:
            if self._by_hand:
                self.end(mode)
        elif model in self._evaluated and self._recorder.is_open(mode):
            self.end(mode)
        if mode is not Mode.TRAIN:
            self._evaluated.add(model)
        return self.current(mode)

    def on_run(self, *, trains: bool) -> None:
        """A module of symbols begins to run: a step begins, and that of its last run is over."""
        if self._run is not None:
            self.end(self._run)
        self._run = self.mode or (Mode.TRAIN if trains else Mode.EVAL)

    def of_run(self) -> OpenStep:
        """Return the step of the module of symbols that ran last."""
        return self._recorder.open_step(self._run or Mode.EVAL)

    def updated_by_hand(self) -> None:
        """Gradients were computed that no trainer will use."""
        self._by_hand = True

    def after_bare_backward(self) -> None:
        """Gradients were computed of no model: without trainers nothing else ends the step."""
        if not self._ever_stepped:
            self.end(Mode.TRAIN)

    def before_update(self, trainer: Trainer) -> OpenStep:
        """A trainer is about to update; return the step that it belongs to."""
        for mode in (Mode.EVAL, Mode.PREDICT):
            self.end(mode)
        if trainer in self._stepped:
            self._waited = True
            self.end(Mode.TRAIN)
        step = self._recorder.open_step(Mode.TRAIN)
        if self.following is not None:
            step.absorb(self.following)
            self.following = None
        self._updating = True
        return step

    def after_update(self, trainer: Trainer) -> None:
        """A trainer has updated."""
        self._updating = False
        self._stepped.add(trainer)
        self._ever_stepped.add(trainer)
        expected = self._trainers(self._recorder.open_step(Mode.TRAIN))
        if self._waited:
            expected = [one for one in expected if one in self._ever_stepped]
        if all(one in self._stepped for one in expected):
            self.end(Mode.TRAIN)

    def end(self, mode: Mode) -> None:
        """End the step of a mode, if one is open; what began meanwhile becomes the open one."""
        if not self._recorder.is_open(mode):
            return
        if mode is Mode.TRAIN:
            self._before_end(self._recorder.open_step(mode))
            self._stepped.clear()
            self._by_hand = self._updating = False
        else:
            self._evaluated.clear()
        self._recorder.end_step(mode)
        if mode is Mode.TRAIN and self.following is not None:
            self._recorder.move(self.following, mode)
            self.following = None
        self._on_end(mode)

    def close(self) -> None:
        """End what is open: what was observed before training broke off is stored."""
        # TRAIN twice: the step that began meanwhile is open once the first has ended.
        for mode in (Mode.TRAIN, Mode.TRAIN, Mode.EVAL, Mode.PREDICT):
            self.end(mode)


_MXNET = os.path.join(os.path.dirname(mxnet.__file__), "")
_HOOK = os.path.join(os.path.dirname(__file__), "")
#: Of a model that runs more often than this in a step, the first batches are observed.
MOST_BATCHES = 64


class Tracker(CallListener):
    """Observes what MXNet does, in the right step.

    Args:
        recorder: Takes the steps.
        on_step: Called after each step with its mode.
        end_if_requested: Called between what MXNet does; it raises to end the training.
        strict: Raise our own failures into training.
    """

    def __init__(
        self,
        recorder: Recorder,
        on_step: Callable[[Mode], None],
        end_if_requested: Callable[[], None],
        *,
        strict: bool,
    ) -> None:
        self.strict, self.failure, self.active = strict, "", True
        self._process, self._thread = os.getpid(), threading.get_ident()
        self.names = Names()
        self.observer = Observer()
        self.optimizers = Optimizers(self.observer, self.names)
        self.modules = Modules(self.observer)
        self._on_step, self._end_if_requested = on_step, end_if_requested
        self.steps = Steps(recorder, self._trainers, self._complete, self._ended)
        self._losses = LossNames(_MXNET, _HOOK)
        self._root: Block | None = None
        self._root_mode = Mode.TRAIN
        self._loss_depth, self._has_loss = 0, False
        self._updating: Trainer | None = None
        self._num_batches: WeakKeyDictionary[OpenStep, Counter[str]] = WeakKeyDictionary()
        # What ran to be trained in a step, in order.
        self._ran: WeakKeyDictionary[OpenStep, dict[Block, None]] = WeakKeyDictionary()

    def detach(self) -> None:
        """Observe nothing, until ``active`` is set again."""
        self.active = False
        self._root, self._loss_depth, self._updating = None, 0, None

    def give_back(self) -> None:
        self.observer.reading.give_back()
        self._end_if_requested()

    # Blocks

    @guarded
    def before_call(self, block: Block, given: tuple[object, ...]) -> None:
        if not self._observes(given):
            return
        if isinstance(block, Loss):
            self._loss_depth += 1
        elif self._root is None and any(True for _ in parameters_of(block)):
            self._root = block
            self._begin(block, given)

    @guarded
    def after_call(self, block: Block, given: tuple[object, ...], output: object) -> None:
        if not self._observes(given):
            return
        if isinstance(block, Loss):
            self._loss_depth -= 1
            if self._loss_depth == 0:
                self._on_loss(type(block).__name__, given, output)
        elif self._root is not None:
            self._returned(block, given, output)
            if block is self._root:
                self._root = None

    @guarded
    def broke_off(self, block: Block) -> None:
        if block is self._root:
            self._root = None
        if isinstance(block, Loss):
            self._loss_depth = 0

    # Gradients and updates

    @guarded
    def before_backward(self, heads: object, head_gradients: object) -> None:
        if not self._is_here():
            return
        if not self._has_loss and head_gradients is None:
            step = self.steps.current(self.steps.mode or Mode.TRAIN)
            name = self._losses.name(Mode.TRAIN, "backward")
            for _, array in arrays_in(heads):
                self.observer.loss(step, name, array)
        self._has_loss = False
        self.optimizers.before_backward()

    @guarded
    def after_backward(self) -> None:
        if not self._is_here():
            return
        step = self.steps.current(Mode.TRAIN)
        if step not in self._ran:  # there is no model, and perhaps no trainer either
            self.steps.after_bare_backward()
        elif not self._trainers(step):
            self.steps.updated_by_hand()
            self._parameters(step)

    @guarded
    def before_reduce(self, trainer: Trainer) -> None:
        """A trainer is about to add up gradients; some trainers update at the same time."""
        if self._is_here() and trainer._update_on_kvstore:
            self._before_update(trainer, summed=False)

    @guarded
    def before_update(self, trainer: Trainer) -> None:
        if self._is_here() and self._updating is not trainer:
            self._before_update(trainer, summed=True)

    @guarded
    def after_update(self, trainer: Trainer) -> None:
        if not self._is_here() or self._updating is not trainer:
            return
        self._updating = None
        self.optimizers.after_update(self.steps.current(Mode.TRAIN), trainer)
        self.steps.after_update(trainer)

    # Modules of symbols

    @guarded
    def before_run(self, module: Module, *, trains: bool) -> None:  # noqa: ARG002  one at a time
        if self._is_here():
            self.steps.on_run(trains=trains)

    @guarded
    def after_run(self, module: Module) -> None:
        if self._is_here():
            self.modules.returned(self.steps.of_run(), module)

    @guarded
    def before_module_update(self, module: Module) -> None:
        if self._is_here():
            self.modules.before_update(self.steps.of_run(), module)

    @guarded
    def after_module_update(self, module: Module) -> None:
        if self._is_here():
            self.modules.after_update(self.steps.of_run(), module)

    @guarded
    def before_metric(self, judge: EvalMetric) -> None:
        if self._is_here():
            self.modules.before_metric(judge)

    @guarded
    def after_metric(self, judge: EvalMetric) -> None:
        if self._is_here():
            self.modules.after_metric(self.steps.of_run(), judge)

    @guarded
    def close(self) -> None:
        """Training is over: end the steps that are open."""
        if self.active and os.getpid() == self._process:
            self.steps.close()

    # Inside

    def _is_here(self) -> bool:
        here = os.getpid() == self._process and threading.get_ident() == self._thread
        return self.active and here

    def _observes(self, given: tuple[object, ...]) -> bool:
        return self._is_here() and not is_symbolic(given)

    def _begin(self, model: Block, given: tuple[object, ...]) -> None:
        step = self.steps.on_forward(model)
        self.names.add(model)
        self._root_mode = step.mode
        if step.mode is Mode.TRAIN:
            self._ran.setdefault(step, {})[model] = None
        if step.wants("batches"):
            name = "" if self.names.is_plain(model) else f"/{self.names.of(model)}"
            counts = self._num_batches.setdefault(step, Counter())
            number = counts[name]
            counts[name] += 1
            # Digests do not merge, so each batch of a step has a name of its own.
            name = f"batch_{number}{name}" if number else f"batch{name}"
            for path, array in arrays_in(sole_argument(given), name):
                if number < MOST_BATCHES:
                    self.observer.array(step, path, "batches", array)

    def _returned(self, block: Block, given: tuple[object, ...], output: object) -> None:
        if self.names.of(block) is None and self._root is not None:
            self.names.add(self._root)  # it was put there after the model was named
        name = self.names.of(block) or block.name
        step = self.steps.current(self._mode())
        self.observer.outputs(step, name, given, output)

    def _on_loss(self, what: str, given: tuple[object, ...], output: object) -> None:
        mode = self._mode()
        step = self.steps.current(mode)
        name = self._losses.name(mode, what)
        for _, array in arrays_in(output):
            self.observer.loss(step, name, array)
        self._has_loss |= mode is Mode.TRAIN
        what = name.removeprefix("loss/")
        for kind, collection, value in zip(
            ("prediction", "label"), ("predictions", "labels"), given, strict=False
        ):
            for path, array in arrays_in(value):
                self.observer.array(step, f"{kind}/{what}{path}", collection, array)

    def _before_update(self, trainer: Trainer, *, summed: bool) -> None:
        self._updating = trainer
        following = self.steps.following
        step = self.steps.before_update(trainer)
        if following is not None and following is not step:  # it was part of this one after all
            self._ran.setdefault(step, {}).update(self._ran.pop(following, {}))
        self.optimizers.before_update(step, trainer, summed=summed)

    def _parameters(self, step: OpenStep) -> None:
        for root in self._ran.get(step, {}):
            for parameter in parameters_of(root):
                name = self.names.of_parameter(parameter)
                self.observer.parameter(step, name, parameter, scale=1.0, summed=True)

    def _mode(self) -> Mode:
        """Return what is done; inside of a model it is what the model runs for, also in a pause."""
        return self.steps.mode_now() if self._root is None else self._root_mode

    def _trainers(self, step: OpenStep) -> Iterable[Trainer]:
        """Return the trainers of the models that ran in a step, each once."""
        held = [each._trainer for root in self._ran.get(step, {}) for each in parameters_of(root)]
        return {id(one): one for one in held if one is not None}.values()

    def _complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: add the parameters that no trainer holds."""
        self._parameters(step)
        self.optimizers.complete(step)

    def _ended(self, mode: Mode) -> None:
        self.observer.restart()
        self._on_step(mode)
