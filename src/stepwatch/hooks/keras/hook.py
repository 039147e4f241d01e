"""The hook for Keras 3, on whatever backend it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakSet

import keras
import numpy as np

from ...capture.budget import FULL_STEPS
from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...errors import TrainingStopped
from ...model.steps import Mode
from ..base import Array, Hook, timed
from ..nearest import NearestSamples
from ..observations import Observations
from ..patching import PatchSet, calling_first
from .action_values import ActionValues, smallest_weights
from .backend import Reading, backend
from .setup import Setup
from .tracker import MODES, ModelCoverage, ModelFunctions

#: Steps of which only losses are observed are left unread for so long, seconds, and so many of
#: them at most.
_UNREAD_S, _MOST_UNREAD = 0.02, 16
#: Models take turns if one is trained again so often, after another one was.
_TURNS = 2
#: Of a step: the global one, and that within its mode.
Number = tuple[int, int]


class _Unread(NamedTuple):
    """A step that is over, and of which nothing was read so far."""

    ended_at: float
    step: OpenStep
    mode: Mode
    number: Number
    reading: Reading


class KerasHook(Hook, keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Captures what ``fit``, ``evaluate`` and ``predict`` of Keras models do.

    It sees every model from when it is made until it is closed, on the TensorFlow, JAX and PyTorch
    backends. It may be handed to ``fit`` among the callbacks, as people expect; that adds nothing.

    Args:
        model: The model to observe; by default every model.
        options: As ``Hook`` takes them, ``run`` and ``policy`` among them.

    Raises:
        RunExists: ``run`` already holds a run.
        StoreError: ``run`` cannot be written to.

    Example:
        ``with KerasHook(run="runs/first"): model.fit(x, y)``
    """

    framework = "keras"

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the versions of Keras and of its backend."""
        computes = keras.config.backend()
        return {**super().versions(), computes: str(import_module(computes).__version__)}

    def __init__(self, model: Any = None, **options: Any) -> None:
        keras.callbacks.Callback.__init__(self)
        Hook.__init__(self, **options)
        self._only = model
        self.backend = backend()
        self.observations = Observations(self.recorder, self.backend)
        self.nearest = NearestSamples()
        self.model_coverage = ModelCoverage()
        self.setup = Setup()
        self.action_values = ActionValues()
        self._functions = ModelFunctions(self, self.backend, self._observes)
        self._replaced = PatchSet()
        #: The mode of the step that runs, or ran last.
        self._running = Mode.TRAIN
        self._is_over = self._is_in_fit = False
        # How the step that runs is read later, and how those before it are, with when they ended.
        self._reading: Reading | None = None
        self._unread: deque[_Unread] = deque()
        self._trains: Any = None
        self._optimizers: WeakSet[Any] = WeakSet()
        self._has_trained = False
        # Models that were trained, the last one, and how often one was again after another.
        self._trained: WeakSet[Any] = WeakSet()
        self._last_trained: Any = None
        self._num_returns = 0
        #: How often the script has set other weights between two TRAIN steps.
        self.times_set = 0
        # What the model that trains held before the script began to set its weights.
        self._before_set: list[Array] | None = None
        self._interval_began = 0.0
        # Of the epoch that runs: its number, its first TRAIN step, and how many it has, if known.
        self._epoch: tuple[int, int, int | None] | None = None
        self._num_epochs = 0
        # Of the last evaluation: after how many TRAIN steps it began, and its number since then.
        self._evaluation = (-1, 0)
        self._begun_pass = 0  # its number, until a step of it was observed
        self.attach()

    def attach(self) -> None:
        """Take hold of Keras; done when the hook is made, and possible again after ``detach``."""
        if self.active:
            return
        self._functions.attach()
        self._replaced.put(keras.Model, "fit", self.setup.fitting)
        for name in ("evaluate", "predict"):
            self._replaced.put(keras.Model, name, self.setup.evaluating)
        self._replaced.put(keras.Model, "compile", calling_first(self._compiling))
        self.setup.vocabularies.put(self._replaced)
        self._replaced.put(keras.Model, "set_weights", calling_first(self._begin_set))
        for kind, mode in MODES.items():
            in_fit, alone = (self._ending(mode, is_in_fit=is_in) for is_in in (True, False))
            batch_end = f"on_{kind}_batch_end"
            self._replaced.put(keras.callbacks.CallbackList, batch_end, in_fit)
            self._replaced.put(keras.Model, f"{kind}_on_batch", alone)
        self._replaced.put(
            keras.callbacks.CallbackList, "on_epoch_begin", calling_first(self._begin_epoch)
        )
        self._replaced.put(
            keras.callbacks.CallbackList, "on_train_end", calling_first(self._end_fit)
        )
        self._replaced.put(
            keras.callbacks.CallbackList, "on_test_begin", calling_first(self._begin_evaluation)
        )
        self.active = True

    def detach(self) -> None:
        """Let go of Keras; nothing is captured until ``attach``."""
        self._settle()
        self.active = False
        self._replaced.remove()
        self._functions.detach()

    def finish(self) -> None:
        if self._is_over:
            self._hand_on()
        self._settle()

    def describe_coverage(self) -> str:
        return self.model_coverage.coverage(self.observations.names)

    def observe(
        self,
        name: str,
        kind: str,
        value: Array,
        mode: Mode | None = None,
        *,
        trainable: bool | None = None,
    ) -> None:
        super().observe(name, kind, value, mode or self._mode or self._running, trainable=trainable)

    def end_training(self, end: BaseException) -> None:
        """End training after this batch: as Keras does it, or by the exception."""
        if not self._is_in_fit or not isinstance(end, TrainingStopped):
            super().end_training(end)
            return
        self._stopped, self._trains.stop_training = end, True

    # What a tracker calls

    def begins(self, mode: Mode, model: Any, weights: Callable[[], Sequence[Any]]) -> OpenStep:
        """A step begins; return it.

        Args:
            weights: Returns the values of the model's trainable variables: within ``fit`` JAX has
                them, and not the variables.
        """
        if self._is_over:
            self._hand_on()
        self._running = self._mode or mode
        if mode is Mode.TRAIN and model is self._trains:
            self._count_set(weights)
        self._trains = model
        optimizer = getattr(model, "optimizer", None)
        is_new = optimizer is not None and optimizer not in self._optimizers
        if mode is Mode.TRAIN and model is not self._last_trained:
            self._num_returns += model in self._trained
            self._trained.add(model)
            self._last_trained = model
        if mode is Mode.TRAIN and (self.setup.take_thawed() or is_new):
            if self._has_trained:  # the next part of a script: another model, or compiled anew
                self.budget.observe_next_in_full("another optimizer", FULL_STEPS)
            self._has_trained = True
            if is_new:
                self._optimizers.add(optimizer)
        step = self.recorder.open_step(self._running)
        if not step.has_only_losses:
            self._settle()  # before more is read, for the time that it takes to count as its own
        return step

    def was_trained(self, model: Any) -> bool:
        """Return whether a model was trained so far."""
        return model in self._trained

    @property
    def takes_turns(self) -> bool:
        """Whether models are trained in turn, perhaps against each other."""
        return self._num_returns >= _TURNS

    def interval_s(self) -> float | None:
        """Return the time since this was called last, as a step ended; ``None`` at first."""
        began, self._interval_began = self._interval_began, perf_counter()
        return self._interval_began - began if began else None

    def epoch(self, step: int) -> float | None:
        """Return how often ``fit`` has gone through the data before a TRAIN step, if it says so."""
        if self._epoch is None:
            return None
        number, first, count = self._epoch
        return number + (min(1.0, (step - first) / count) if count else 0.0)

    def begun_pass(self) -> int:
        """Return which evaluation since the last TRAIN step has begun; 0 if none did."""
        number, self._begun_pass = self._begun_pass, 0
        return number

    def reads_later(self, reading: Reading) -> None:
        """Of a step only losses are observed: read them when the next step runs."""
        self._reading = reading

    def is_over(self) -> None:
        """A step is over, but for what the script saves with it."""
        self._is_over = True

    # How

    def _observes(self, model: Any) -> bool:
        return self._only is None or model is self._only

    @guarded
    def _begin_epoch(self, callbacks: Any, epoch: int, *_: Any, **__: Any) -> None:
        first = self.recorder.counter.peek(Mode.TRAIN)[1]
        number = max(epoch, self._num_epochs)  # a second fit counts from 0 again
        self._num_epochs = number + 1
        self._epoch = number, first, (getattr(callbacks, "params", None) or {}).get("steps")

    def _end_fit(self, *_: Any, **__: Any) -> None:
        """``fit`` ends: what comes is in no epoch."""
        self._epoch = None
        self._settle()

    @guarded
    def _begin_evaluation(self, *_: Any, **__: Any) -> None:
        trained = self.recorder.counter.peek(Mode.TRAIN)[1]
        number = self._evaluation[1] + 1 if self._evaluation[0] == trained else 1
        self._evaluation, self._begun_pass = (trained, number), number
        if self._epoch is None:  # apart from a fit: of other data than that has validated
            self.budget.observe_evaluation_in_full(number)

    def _ending(
        self, mode: Mode, *, is_in_fit: bool
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return what wraps a method with which a batch is over."""

        def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(this: Any, *args: Any, **named: Any) -> Any:
                returned = original(this, *args, **named)
                if self._is_over and self._running is (self._mode or mode):
                    self._is_in_fit = is_in_fit
                    self._hand_on()
                    if self._running is Mode.TRAIN:
                        self.answer()
                return returned

            return call

        return wrapper

    @guarded
    def _compiling(self, model: Any, *_: Any, **__: Any) -> None:
        self.action_values.note(model)
        self.setup.compiling(model)

    @guarded
    def _begin_set(self, model: Any, *_: Any, **__: Any) -> None:
        self.action_values.note(model)
        if model is self._trains and self._before_set is None:
            self._before_set = smallest_weights(model.trainable_variables)
            self.setup.weights_set(model)

    @guarded
    def _count_set(self, weights: Callable[[], Sequence[Any]]) -> None:
        """Count what was set since the last step, unless it was put back, as after averaging."""
        before, self._before_set = self._before_set, None
        if before is not None:
            now = smallest_weights(weights())
            self.times_set += not all(map(np.array_equal, before, now))

    @guarded
    def _hand_on(self) -> None:
        self._is_over = False
        reading, self._reading = self._reading, None
        self._settle(only_due=reading is not None)
        step = None if reading is None else self.recorder.move(None, self._running)
        if reading is None or step is None:
            self._end_step()
        else:
            number = self.recorder.counter.next(self._running)
            self._unread.append(_Unread(perf_counter(), step, self._running, number, reading))
        self.stepped(self._running)

    @timed
    def _end_step(self) -> None:
        self.recorder.end_step(self._running)

    def _settle(self, *, only_due: bool = False) -> None:
        """Read the steps that were left unread, and hand them on.

        Args:
            only_due: Leave those that are still computed, which would be waited for, a while.
        """
        while self._unread:
            first = self._unread[0]
            if not first.reading.is_ready():
                may_leave = only_due and len(self._unread) < _MOST_UNREAD
                if may_leave and perf_counter() - first.ended_at < _UNREAD_S:
                    return
                first.reading.wait()
            self._take(self._unread.popleft())

    @timed
    @guarded
    def _take(self, unread: _Unread) -> None:
        recorder = self.recorder
        _, step, mode, number, reading = unread
        was_empty = not len(step)
        if was_empty and (numbers := reading.numbers()) is not None:
            recorder.profiler.phases.took(mode, number[0], is_thin=True)
            recorder.take_scalars(*numbers, mode, number)
            return
        following = recorder.move(step, mode)
        reading.read()
        recorder.move(following, mode)
        record = recorder.take(step, mode, *number)
        if was_empty and record is not None:
            reading.was_read(record)
