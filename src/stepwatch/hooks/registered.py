"""A hook in the manner of smdebug: it is told the model, the losses and what to save.

A step begins whenever a registered model is about to run, in training or not, and lasts until the
next one begins. What is saved is known then; at a step where nothing is, nothing is touched.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from .. import __version__
from ..capture.debugger_plan import DebuggerPlan
from ..capture.ending import how_it_ended
from ..capture.guard import guarded
from ..capture.listener import Listener
from ..capture.output import Output
from ..capture.recorder import Recorder
from ..errors import ConfigError
from ..formats.manifest import End
from ..hook_config import HookConfig
from ..steps import Mode
from .registered_coverage import registered_coverage, warn_of_nothing
from .registered_steps import ByHand, RegisteredSteps
from .saved_arrays import SavedArrays
from .step_numbers import StepNumbers

_log = logging.getLogger("stepwatch")


class RegisteredHook:
    """Captures of a training run what a hook configuration asks for.

    A hook for one framework inherits this. It calls ``before_root`` whenever a registered model
    is about to run, and ``save`` for what it then sees.

    Args:
        config: What to save and where, or what returns it: it is asked before the first step.
        rank: Which process this is, and of how many.
        format: How the run is laid out.
        listeners: Who looks at every step at once, such as ``rules.LiveWatch``.
        command: The script and its arguments, for the record.
        numbers: Where the training is; by default at its beginning.
        before_step: Called before a step is counted.
        strict: Raise our own failures into training, for tests.
    """

    #: The framework's module.
    framework: ClassVar[str]
    #: How a model is registered, and why one that ran may not have been seen.
    register: ClassVar[str] = "register_hook(model)"
    unseen: ClassVar[str] = "register the one that is called"
    #: The frameworks by which this one trains: what they do is what it does.
    runs_on: frozenset[str] = frozenset()
    #: What collections find by themselves, by name, where smdebug did without patterns.
    patterns: ClassVar[Mapping[str, str]] = {}
    #: All that were made and are still held by someone.
    known: ClassVar[weakref.WeakSet[RegisteredHook]] = weakref.WeakSet()

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
        strict: bool = False,
    ) -> None:
        self.strict = strict
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
        self._steps: RegisteredSteps | None = None
        self._by_hand: dict[str, ByHand] = {}
        # Gradients on several devices are computed in as many threads.
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.active, self.failure = True, ""
        #: Whether a step was counted by this hook.
        self.has_begun = False
        self._end: End | None = None
        self.known.add(self)
        atexit.register(self._close_at_exit)

    # What a hook brings along

    def root_names(self) -> Sequence[str]:
        """Return the names of the models that are registered."""
        raise NotImplementedError

    def look(self, root: Any) -> None:
        """A step begins, with a model that is about to run, at which something is due."""

    def look_away(self) -> None:
        """A step begins at which nothing is due."""

    def let_go(self) -> None:
        """Put everything back as it was."""

    def end_look(self) -> None:
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
    def save_scalar(self, name: str, value: Any) -> None:
        """Save one number with the present step, whatever the configuration says.

        Before the first step it is saved with that. The value, of one element, is read now.
        """
        if self.active:
            self._by_hand[name] = ByHand("scalars", self.copy_of(value))

    @guarded
    def save_tensor(self, name: str, value: Any, collections: Sequence[str]) -> None:
        """Save a tensor with the present step if anything else is saved at it.

        Before the first step it is saved with that. The value is read now; of the collections
        that it joins, those that are not known are made.
        """
        if self.active and (self.is_due or not self.has_begun):
            self._by_hand[name] = ByHand("tensors", self.copy_of(value), collections)

    @guarded
    def reconfigure(self) -> None:
        """Ask anew what to save; from the next step on it is saved."""
        if self.config is None or not self.active:
            return
        try:
            config = self._configure()
        except ConfigError as error:
            _log.warning("what to save was changed and stays as it was: %s", error)
            return
        recorder = self.recorder
        if config != self.config and recorder is not None and recorder.debugger_plan:
            recorder.flush()  # steps under way are stored as they were captured
            recorder.debugger_plan.adopt(config)
        self.config = config

    def detach(self) -> None:
        """Let go of the framework for good."""
        self.active = False
        self.let_go()

    def forget(self) -> None:
        """Let go of the framework without a run: nothing of it was trained."""
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
                self.recorder.covered(registered_coverage(self.root_names(), refused))
                self._end = self.recorder.close(state, error, self.failure)
        return self._end

    # What the framework tells

    def before_root(self, root: Any) -> None:
        """A registered model is about to run: the last step is over and another begins."""
        if not self.active:
            return
        if self.config is None:
            self.config = self._configure()  # what it raises goes up: it cannot be meant
            self._start(self.config)
        self._begin(root)

    def save(self, tensors: Iterable[tuple[str, Any]], kind: str) -> None:
        """Save tensors with the present step, as far as they are asked for."""
        if self._steps is not None:
            for name, tensor in tensors:
                self._steps.saved.add(name, kind, tensor)

    def save_parameters(self, named: Iterable[tuple[str, Any, bool]]) -> None:
        """Save parameters, each with its name and whether it is trained."""
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
        plan = self.recorder.debugger_plan
        if plan is not None:
            self._steps = RegisteredSteps(
                self.recorder,
                plan,
                self.saved_by(plan),
                self.numbers,
                self._by_hand,
                self.end_look,
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
            self.look_away()
        elif self._steps.begin():
            self.look(root)
        else:
            self.look_away()

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
        warn_of_nothing(
            self.root_names(), has_begun=self.has_begun, register=self.register, hint=self.unseen
        )

    def _close_at_exit(self) -> None:
        if self.has_begun or self._by_hand:
            # Python leaves here the exception that it has just shown.
            self.close(*how_it_ended(getattr(sys, "last_value", None)))
        else:  # nothing was trained, as in a helper process that imports the script: no run is due
            self._warn_of_nothing()
            self.detach()
