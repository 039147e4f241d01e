"""The hook of smdebug: models and losses are registered, and a configuration says what to save.

A step begins whenever a registered model is about to run, in training or not, and lasts until the
next one begins. What is due is known then; at a step where nothing is, nothing is touched. A tensor
that is saved again within a step replaces what was saved before, as smdebug's readers show the
last record of a name.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from stepwatch import __version__
from stepwatch.capture.guard import guarded
from stepwatch.capture.lifecycle import end_state
from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.output import Output
from stepwatch.capture.plan import NOTHING, RAW
from stepwatch.capture.recorder import Listener, Recorder
from stepwatch.errors import ConfigError
from stepwatch.formats.manifest import End
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import COUNT, summarize_into

from ..plan import DebuggerPlan, HookConfig

_log = logging.getLogger("stepwatch")
# So long the training waits for a step to be stored.
_PATIENCE_S = 10.0
Array = npt.NDArray[np.generic]


class SavedArrays:
    """Puts arrays into the open step, as far as the plan asks for them.

    ``put`` of a subclass takes what a framework has instead of arrays.
    """

    def __init__(self, plan: DebuggerPlan) -> None:
        self._plan = plan
        self._step: OpenStep | None = None
        self._when = Mode.GLOBAL, -1
        self._infos: dict[str, TensorInfo] = {}
        #: Why what was wanted could not be saved, by name.
        self.refused: dict[str, str] = {}

    def begin(self, step: OpenStep, mode: Mode, mode_step: int) -> None:
        self._step = step
        self._when = mode, mode_step

    def add(self, name: str, kind: str, value: Any, trainable: bool | None = None) -> None:
        """Save a tensor in the open step if the plan asks for it; read now.

        Args:
            name: Its name.
            kind: One of ``collection.BUILT_IN``.
            value: Any shape and dtype. What has no statistics (complex numbers, texts) is saved
                in full.
            trainable: See ``TensorInfo``.
        """
        level = self._plan.level(name, kind, *self._when)
        if level != NOTHING and self._step is not None:
            self.put(self._step, name, kind, value, bool(level & RAW), trainable)

    def put(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        value: Any,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        """Save a tensor that is wanted."""
        if value.dtype.kind in "OSMm" or value.dtype.names:
            self.refuse(name, f"dtype {value.dtype}")
        else:
            info = self.info(name, kind, value.dtype.name, value.shape, trainable)
            put_array(step, info, value, raw=raw)

    def finish(self) -> None:
        self._step = None

    def refuse(self, name: str, why: str) -> None:
        if name not in self.refused:
            self.refused[name] = why
            _log.warning("%s cannot be saved (%s); training goes on without it", name, why)

    def info(
        self, name: str, kind: str, dtype: str, shape: tuple[int, ...], trainable: bool | None
    ) -> TensorInfo:
        """Return the description of a tensor; what the collection of losses holds is a loss."""
        info = self._infos.get(name)
        if info is None or (info.shape, info.dtype, info.trainable) != (shape, dtype, trainable):
            is_loss = any(one.name == "losses" for one in self._plan.members(name))
            kind = "losses" if is_loss and kind == "outputs" else kind
            info = TensorInfo(name, kind, dtype, tuple(shape), trainable)
            self._infos[name] = info
        return info


def put_array(step: OpenStep, info: TensorInfo, array: Array, *, raw: bool) -> None:
    row = step.claim(info)
    try:
        summarize_into(array, row)
    except TypeError:  # it has no order
        row[:] = np.nan
        row[COUNT] = array.size
    if raw:
        step.raw[info.name] = np.array(array)


@dataclass(slots=True)
class StepNumbers:
    """How smdebug numbers steps: one count over all, and one within each mode that was used.

    Counts begin at 0; they are -1 before the first step.

    Args:
        first: What every count begins after; more than -1 when a training is resumed.
        step: The global step.
        within: The step within each mode that was used. That of ``GLOBAL`` is the global step.
        mode: The mode from the next step on.

    Example:
        >>> numbers = StepNumbers()
        >>> numbers.use(Mode.TRAIN)
        >>> numbers.advance(), numbers.advance()
        ((<Mode.TRAIN: 'TRAIN'>, 0, 0), (<Mode.TRAIN: 'TRAIN'>, 1, 1))
        >>> numbers.use(Mode.EVAL)
        >>> numbers.advance()
        (<Mode.EVAL: 'EVAL'>, 2, 0)
    """

    first: int = -1
    step: int = -1
    within: dict[Mode, int] = field(default_factory=dict)
    mode: Mode = Mode.GLOBAL

    def __post_init__(self) -> None:
        self.within[Mode.GLOBAL] = self.step
        self.use(self.mode)

    def use(self, mode: Mode) -> None:
        self.mode = mode
        self.within.setdefault(mode, self.first)

    def advance(self) -> tuple[Mode, int, int]:
        """Count a step and return its mode, its number, and its number within the mode."""
        self.step += 1
        self.within[self.mode] += 1
        self.within[Mode.GLOBAL] = self.step
        return self.mode, self.step, self.within[self.mode]


@dataclass(frozen=True, slots=True)
class UserSavedTensor:
    """A copy of what a script saved itself: of kind ``scalars`` or ``tensors``."""

    kind: str
    value: Any
    collections: Sequence[str] = ()
    #: When, nanoseconds since the Unix epoch; 0 for with the step.
    time_ns: int = 0


class SmdebugSteps:
    """Opens steps, saves into them and hands them on.

    What a script saved itself, ``by_hand``, is held until the step ends: it stands after
    everything else. ``before_end`` is called before a step ends at which something is due,
    ``after_end`` after one was handed on.
    """

    def __init__(
        self,
        recorder: Recorder,
        plan: DebuggerPlan,
        saved: SavedArrays,
        numbers: StepNumbers,
        by_hand: dict[str, UserSavedTensor],
        before_end: Callable[[], None] = lambda: None,
        after_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.saved = saved
        #: Whether anything but scalars is saved at the present step.
        self.due = False
        #: The collections that are saved at it.
        self.due_collections: frozenset[str] = frozenset()
        self._recorder, self._plan, self._numbers = recorder, plan, numbers
        self._by_hand = by_hand
        self._before_end, self._after_end = before_end, after_end
        #: The mode, the global and the mode step of the present step.
        self.when: tuple[Mode, int, int] | None = None
        self._open: OpenStep | None = None

    def begin(self) -> bool:
        """End the present step and count the next; return whether anything is due at it."""
        if self.when is not None:  # what was saved before the first step goes with it
            self.end()
        self._count()
        if self.due:
            self._open_step()
        return self.due

    def parameters(self, named: Iterable[tuple[str, Any, bool]]) -> None:
        for name, parameter, trainable in named:
            self.saved.add(name, "weights", parameter, trainable=trainable)

    def anyway(self, named: Iterable[tuple[str, Any]], kind: str) -> None:
        """Save tensors with the present step, whatever is due at it."""
        if self.when is None:
            return
        mode, _, mode_step = self.when
        self._open_step()
        for name, value in named:
            self._plan.once(name, mode, mode_step)
            self.saved.add(name, kind, value)

    def end(self) -> None:
        if self.due:
            self._before_end()
        if self._by_hand:
            if self.when is None:  # no step ever was
                self._count()
            self.add_by_hand()
        if self.when is not None:
            self._recorder.profiler.phases.end(*self.when[:2])
        self.hand_on()
        self.due = False

    def hand_on(self) -> None:
        """Hand on what was saved of the present step; what is saved later is added to it."""
        if self._open is not None and self.when is not None:
            self.saved.finish()
            mode, number, mode_step = self.when
            self._recorder.take(self._open, mode, number, mode_step)
            self._open = None
            self._after_end()

    def keep(self) -> None:
        """Hand on what was saved of the present step so far, and go on saving of it."""
        if self._open is not None:
            self.hand_on()
            self._open_step()

    def _count(self) -> None:
        mode, _, mode_step = self.when = self._numbers.advance()
        self.due_collections = self._plan.due(mode, mode_step)
        self.due = bool(self.due_collections)

    def _open_step(self) -> None:
        if self._open is None and self.when is not None:
            mode, _, mode_step = self.when
            self._open = self._recorder.step_at(mode, mode_step)
            self.saved.begin(self._open, mode, mode_step)

    def add_by_hand(self) -> None:
        """Put what a script saved itself into the present step."""
        for name, one in self._by_hand.items():
            if one.kind == "scalars":
                self._plan.always(name)
            elif self.due:
                self._plan.join(name, one.collections)
            else:
                continue
            self._open_step()
            self.saved.add(name, one.kind, one.value)
            if one.time_ns and self._open is not None:
                self._open.times_ns[name] = one.time_ns
        self._by_hand.clear()


class SmdebugHook:
    """Captures of a training run what a hook configuration asks for.

    A hook for one framework inherits this. It calls ``before_root`` whenever a registered model
    is about to run, and ``save`` for what it then observes.

    Args:
        config: What to save and where, or what returns it, called before the first step.
        rank: Which process this is, and of how many.
        format: In which the run is written.
        listeners: Called with every step, such as ``judge.live.LiveWatch``.
        command: The script and its arguments, for the record.
        numbers: Where the training is; by default at its beginning.
        before_step: Called before a step is counted.
        stores_at_once: Let the training wait until each step is stored, as smdebug does: a script
            may read it from then on. What takes too long is waited for once.
        strict: Raise our own failures into training, for tests.
    """

    #: The framework's module.
    framework: ClassVar[str]
    #: How a model is registered.
    register_call: ClassVar[str] = "register_hook(model)"
    #: What to do where a registered model was not observed to run.
    not_run_hint: ClassVar[str] = "register the one that is called"
    #: The frameworks on which this one trains: their steps are its steps.
    runs_on: frozenset[str] = frozenset()
    #: Patterns of built-in collections that smdebug filled without patterns, by name.
    patterns: ClassVar[Mapping[str, str]] = {}
    #: All hooks that still live.
    known: ClassVar[weakref.WeakSet[SmdebugHook]] = weakref.WeakSet()

    def __init__(
        self,
        config: HookConfig | Callable[[], HookConfig],
        *,
        rank: tuple[int, int],
        format: str = "smdebug",
        listeners: Sequence[Listener] = (),
        command: Sequence[str] = (),
        numbers: StepNumbers | None = None,
        before_step: Callable[[], None] | None = None,
        stores_at_once: bool = False,
        strict: bool = False,
    ) -> None:
        self.strict = strict
        self._stores_at_once = stores_at_once and format == "smdebug"
        self.numbers = numbers or StepNumbers()
        self.rank = rank
        self.recorder: Recorder | None = None
        self._configure: Callable[[], HookConfig] = (
            (lambda: config) if isinstance(config, HookConfig) else config
        )
        #: What is saved; ``None`` before the first step.
        self.config: HookConfig | None = None
        self._format = format
        version = str(importlib.import_module(self.framework).__version__)
        self._recorder = partial(
            Recorder,
            listeners=listeners,
            command=command,
            versions={"stepwatch": __version__, self.framework: version},
            rank=self.rank,
        )
        self._before_step = before_step
        self._steps: SmdebugSteps | None = None
        self._by_hand: dict[str, UserSavedTensor] = {}
        # Gradients on several devices are computed in as many threads.
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.active, self.failure = True, ""
        #: Whether a step was counted by this hook.
        self.has_begun = False
        self._keeps_first = self._stores_at_once
        self._end: End | None = None
        self.known.add(self)
        atexit.register(self._close_at_exit)

    # What a framework defines

    def root_names(self) -> Sequence[str]:
        """Return the names of the models that are registered."""
        raise NotImplementedError

    def start_observing(self, root: Any) -> None:
        """A step begins, with a model that is about to run, at which something is due."""

    def stop_observing(self) -> None:
        """A step begins at which nothing is due."""

    def let_go(self) -> None:
        """Put everything back as it was."""

    def finish_observing(self) -> None:
        """A step is about to end at which something is due."""

    def saved_by(self, plan: DebuggerPlan) -> SavedArrays:
        """Return what puts tensors into steps."""
        return SavedArrays(plan)

    def copy_of(self, value: Any) -> Any:
        """Return a copy of a tensor, which may change afterwards."""
        raise NotImplementedError

    # What a user calls

    @property
    def is_due(self) -> bool:
        """Whether anything but scalars is saved at the present step."""
        return self._steps is not None and self._steps.due

    @property
    def due(self) -> frozenset[str]:
        """The collections that are saved at the present step."""
        return self._steps.due_collections if self._steps is not None else frozenset()

    def set_mode(self, mode: Mode) -> None:
        """Say what the model is used for from the next step on."""
        self.numbers.use(mode)

    @guarded
    def save_scalar(self, name: str, value: Any, time_ns: int = 0) -> None:
        """Save one number with the present step, whatever the configuration says.

        Before the first step it is saved with that. The value, of one element, is read now.

        Args:
            name: As it is stored.
            value: The number.
            time_ns: When it was, nanoseconds since the Unix epoch; now by default.
        """
        if self.active:
            value = self.copy_of(value)
            self._by_hand[name] = UserSavedTensor("scalars", value, (), time_ns or time.time_ns())

    @guarded
    def save_tensor(self, name: str, value: Any, collections: Sequence[str]) -> None:
        """Save a tensor with the present step if anything else is saved at it.

        Before the first step it is saved with that. The value is read now; of the collections
        that it joins, those that are not known are made.
        """
        if self.active and (self.is_due or not self.has_begun):
            self._by_hand[name] = UserSavedTensor("tensors", self.copy_of(value), collections)

    @guarded
    def reconfigure(self) -> None:
        """Read the configuration again; it holds from the next step on."""
        if self.config is None or not self.active:
            return
        try:
            config = self._configure()
        except ConfigError as error:
            _log.warning("what to save was changed and stays as it was: %s", error)
            return
        recorder = self.recorder
        plan = recorder.configured_plan if recorder is not None else None
        if config != self.config and recorder is not None and isinstance(plan, DebuggerPlan):
            recorder.flush()  # steps under way are stored as they were captured
            plan.adopt(config)
        self.config = config

    def detach(self) -> None:
        """Let go of the framework for good."""
        self.active = False
        self.let_go()

    def forget(self) -> None:
        """Let go of the framework without a run: nothing was trained with it."""
        atexit.unregister(self._close_at_exit)
        self.detach()

    def close(self, state: str = "finished", error: str = "") -> End | None:
        """Let go of the framework, store what is left, and say how the run ended.

        Args:
            state: ``finished``, ``failed``, ``stopped`` or ``interrupted``.
            error: The exception that ended training, if one did.

        Returns:
            The note that was stored; ``None`` where this process writes nothing.
        """
        atexit.unregister(self._close_at_exit)
        forked = self._process != os.getpid()
        if self._end is None and not forked:
            if self.active:
                self._finish()
            self.detach()
            if self.recorder is not None:
                refused = self._steps.saved.refused if self._steps is not None else {}
                missing = "".join(f"; not {name} ({why})" for name, why in refused.items())
                names = ", ".join(self.root_names()) or "nothing"
                self.recorder.covered(f"registered: {names}{missing}")
                self._end = self.recorder.close(state, error, self.failure)
        return self._end

    # What the framework calls

    def before_root(self, root: Any) -> None:
        """A registered model is about to run: the last step is over and another begins."""
        if not self.active:
            return
        if self.config is None:
            self.config = self._configure()  # what it raises goes up: an invalid configuration
            self._start(self.config)
        self._begin(root)

    def save(self, tensors: Iterable[tuple[str, Any]], kind: str) -> None:
        """Save tensors with the present step, as far as the plan asks for them."""
        if self._steps is not None:
            for name, tensor in tensors:
                self._steps.saved.add(name, kind, tensor)

    def save_parameters(self, named: Iterable[tuple[str, Any, bool]]) -> None:
        if self._steps is not None:
            self._steps.parameters(named)

    # Inside

    @guarded
    def _start(self, config: HookConfig) -> None:
        """Open the run, unless another process writes it."""
        if not (config.all_workers or self.rank[0] == 0):
            return
        output = Output(self._format, config.tensorboard, config, over_unfinished=True)
        self.recorder = self._recorder(config.run, output=output)
        plan = self.recorder.configured_plan
        if isinstance(plan, DebuggerPlan):
            self._steps = SmdebugSteps(
                self.recorder,
                plan,
                self.saved_by(plan),
                self.numbers,
                self._by_hand,
                self.finish_observing,
                self._wait_until_stored,
            )

    @guarded
    def _begin(self, root: Any) -> None:
        if self._process != os.getpid():  # forked from the one that writes
            self.detach()
            return
        if self._before_step is not None:
            self._before_step()
        self.has_begun = True
        if self._steps is None:
            self.numbers.advance()
            self._by_hand.clear()
            self.stop_observing()
        elif self._steps.begin():
            self.start_observing(root)
        else:
            self.stop_observing()

    def _wait_until_stored(self) -> None:
        if self._stores_at_once and self.recorder is not None:
            self._stores_at_once = self.recorder.store_steps(_PATIENCE_S)
            if not self._stores_at_once:
                _log.warning(
                    "a step took more than %g s to store; the training waits for it no longer",
                    _PATIENCE_S,
                )

    @guarded
    def _hand_on(self) -> None:
        """Store the present step if steps are stored at once: the framework has ended it."""
        if self._stores_at_once and self._steps is not None:
            self._steps.hand_on()

    @guarded
    def keep_first(self) -> None:
        """Store what the first step that is saved holds by now: who dies at once has it alone."""
        if self._keeps_first and self._steps is not None and self.is_due:
            self._keeps_first = False
            self._steps.keep()

    @guarded
    def _finish(self) -> None:
        """Hand on the last step; a run in which nothing ran is written as well."""
        self._warn_of_nothing()
        if self.config is None:
            self.config = self._configure()
            self._start(self.config)
        if self._steps is not None:
            self._steps.end()

    def _warn_of_nothing(self) -> None:
        """Warn if no tensors of a model can have been saved."""
        roots = self.root_names()
        if not roots:
            _log.warning(
                "no model was registered, so no tensors of one were saved; before training, "
                "call %s",
                self.register_call,
            )
        elif not self.has_begun:
            _log.warning(
                "%s was registered and was not seen to run, so nothing of it was saved; %s",
                roots[0],
                self.not_run_hint,
            )

    def _close_at_exit(self) -> None:
        if self.has_begun or self._by_hand:
            # Python leaves here the exception that it has just shown.
            self.close(*end_state(getattr(sys, "last_value", None)))
        else:  # nothing was trained, as in a helper process that imports the script: no run is due
            self._warn_of_nothing()
            self.detach()
