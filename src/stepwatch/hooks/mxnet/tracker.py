"""From what MXNet does to observations: what is heard of MXNet, and what is done about it.

Whatever is called by MXNet here is guarded, and looks only at its own process and thread.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

import mxnet
from mxnet.gluon import Block, Trainer
from mxnet.gluon.loss import Loss
from mxnet.metric import EvalMetric
from mxnet.module import Module

from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...steps import Mode
from ..loss_names import LossNames
from .arrays import alone, arrays_in, is_symbolic
from .modules import Modules
from .names import Names, parameters_of
from .observe import Observer
from .optimizers import Optimizers
from .patches import Hears
from .steps import Steps

_MXNET = os.path.join(os.path.dirname(mxnet.__file__), "")
#: Of a model that runs more often than this in a step, the first batches are observed.
MOST_BATCHES = 64


class Tracker(Hears):
    """Hears what MXNet does and observes it in the right step.

    Args:
        recorder: Who takes the steps.
        on_step: Called after each step with its mode.
        end_if_asked: Called between what MXNet does; it raises to end the training.
        strict: Raise our own failures into training.
    """

    def __init__(
        self,
        recorder: Recorder,
        on_step: Callable[[Mode], None],
        end_if_asked: Callable[[], None],
        *,
        strict: bool,
    ) -> None:
        self.strict, self.failure, self.active = strict, "", True
        self._process, self._thread = os.getpid(), threading.get_ident()
        self.names = Names()
        self.observer = Observer()
        self.optimizers = Optimizers(self.observer, self.names)
        self.modules = Modules(self.observer)
        self._on_step, self._end_if_asked = on_step, end_if_asked
        self.steps = Steps(recorder, self._trainers, self._complete, self._ended)
        self._losses = LossNames(_MXNET)
        self._root: Block | None = None
        self._root_mode = Mode.TRAIN
        self._loss_depth, self._has_loss = 0, False
        self._updating: Trainer | None = None
        self._num_batches: WeakKeyDictionary[OpenStep, Counter[str]] = WeakKeyDictionary()
        # What ran to be trained in a step, in order.
        self._ran: WeakKeyDictionary[OpenStep, dict[Block, None]] = WeakKeyDictionary()

    def detach(self) -> None:
        """Look no more, until ``active`` is set again."""
        self.active = False
        self._root, self._loss_depth, self._updating = None, 0, None

    def give_back(self) -> None:
        """Raise what is the training's own: an error of it that came to us, or its end."""
        self.observer.reading.give_back()
        self._end_if_asked()

    # Blocks

    @guarded
    def before_call(self, block: Block, given: tuple[object, ...]) -> None:
        """A block is about to run."""
        if not self._looks_at(given):
            return
        if isinstance(block, Loss):
            self._loss_depth += 1
        elif self._root is None and any(True for _ in parameters_of(block)):
            self._root = block
            self._begin(block, given)

    @guarded
    def after_call(self, block: Block, given: tuple[object, ...], output: object) -> None:
        """A block returned."""
        if not self._looks_at(given):
            return
        if isinstance(block, Loss):
            self._loss_depth -= 1
            if self._loss_depth == 0:
                self._saw_loss(type(block).__name__, given, output)
        elif self._root is not None:
            self._returned(block, given, output)
            if block is self._root:
                self._root = None

    @guarded
    def broke_off(self, block: Block) -> None:
        """A block raised."""
        if block is self._root:
            self._root = None
        if isinstance(block, Loss):
            self._loss_depth = 0

    # Gradients and updates

    @guarded
    def before_backward(self, heads: object, head_gradients: object) -> None:
        """Gradients are about to be computed."""
        if not self._looks():
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
        """Gradients were computed."""
        if not self._looks():
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
        if self._looks() and trainer._update_on_kvstore:
            self._before_update(trainer, summed=False)

    @guarded
    def before_update(self, trainer: Trainer) -> None:
        """A trainer is about to update; gradients are as it sees them."""
        if self._looks() and self._updating is not trainer:
            self._before_update(trainer, summed=True)

    @guarded
    def after_update(self, trainer: Trainer) -> None:
        """A trainer has updated."""
        if not self._looks() or self._updating is not trainer:
            return
        self._updating = None
        self.optimizers.after_update(self.steps.current(Mode.TRAIN), trainer)
        self.steps.after_update(trainer)

    # Modules of symbols

    @guarded
    def before_run(self, module: Module, *, trains: bool) -> None:  # noqa: ARG002  one at a time
        """A module of symbols is about to run: what went before is over."""
        if self._looks():
            self.steps.saw_run(trains=trains)

    @guarded
    def after_run(self, module: Module) -> None:
        """A module of symbols ran."""
        if self._looks():
            self.modules.returned(self.steps.of_run(), module)

    @guarded
    def before_module_update(self, module: Module) -> None:
        """A module of symbols is about to be updated."""
        if self._looks():
            self.modules.before_update(self.steps.of_run(), module)

    @guarded
    def after_module_update(self, module: Module) -> None:
        """A module of symbols was updated; its step ends when one runs again."""
        if self._looks():
            self.modules.after_update(self.steps.of_run(), module)

    @guarded
    def before_metric(self, judge: EvalMetric) -> None:
        """A metric is about to be told what a module returned."""
        if self._looks():
            self.modules.before_metric(judge)

    @guarded
    def after_metric(self, judge: EvalMetric) -> None:
        """A metric was told what a module returned."""
        if self._looks():
            self.modules.after_metric(self.steps.of_run(), judge)

    @guarded
    def close(self) -> None:
        """Training is over: end the steps that are open."""
        if self.active and os.getpid() == self._process:
            self.steps.close()

    # Inside

    def _looks(self) -> bool:
        here = os.getpid() == self._process and threading.get_ident() == self._thread
        return self.active and here

    def _looks_at(self, given: tuple[object, ...]) -> bool:
        return self._looks() and not is_symbolic(given)

    def _begin(self, model: Block, given: tuple[object, ...]) -> None:
        step = self.steps.saw_forward(model)
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
            for path, array in arrays_in(alone(given), name):
                if number < MOST_BATCHES:
                    self.observer.array(step, path, "batches", array)

    def _returned(self, block: Block, given: tuple[object, ...], output: object) -> None:
        if self.names.of(block) is None and self._root is not None:
            self.names.add(self._root)  # it was put there after the model was named
        name = self.names.of(block) or block.name
        step = self.steps.current(self._mode())
        self.observer.outputs(step, name, given, output)

    def _saw_loss(self, what: str, given: tuple[object, ...], output: object) -> None:
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
