"""What the hooks of all frameworks have in common: a recorder, an end, and a coverage line."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..capture.budget import Budget
from ..capture.control import Control
from ..capture.lifecycle import end_state
from ..capture.output import HOOK_OUTPUT, Output, OutputOptions
from ..capture.recorder import Listener, Recorder
from ..errors import ConfigError, TrainingStopped
from ..formats.manifest import FIRST_WORKER, End
from ..model.collection import Policy
from ..model.record import TensorInfo
from ..model.steps import Mode

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack
from collections.abc import Collection, Mapping

_MOST_NAMED = 3


def coverage_line(parameters: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> str:
    """Return the coverage line.

    Args:
        parameters: For each parameter why it is not captured, ``None`` for those that are.
        outputs: The same for the outputs of modules.

    Example:
        >>> coverage_line({"w": None}, {"fc": None, "lstm": "never called"})
        'capturing 1 of 1 parameters, 1 of 2 outputs (never called: lstm)'
    """
    parts = []
    for what, reasons in (("parameters", parameters), ("outputs", outputs)):
        captured = sum(reason is None for reason in reasons.values())
        parts.append(f"{captured} of {len(reasons)} {what}{_missing(reasons)}")
    return "capturing " + ", ".join(parts)


def abbreviate(names: Sequence[str] | Collection[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = list(names)[:_MOST_NAMED]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _missing(reasons: Mapping[str, str | None]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            by_reason.setdefault(reason, []).append(name)
    if not by_reason:
        return ""
    return " (" + "; ".join(f"{why}: {abbreviate(names)}" for why, names in by_reason.items()) + ")"


class Timed(Protocol):
    """What ``timed`` expects of the object whose methods it measures."""

    budget: Budget


Method = TypeVar("Method", bound=Callable[..., Any])


def timed(method: Method) -> Method:
    """Count what a method takes as ours, and once where one such method calls another.

    Leave out of it what the training takes, such as the wait for what an accelerator computes.
    """

    @functools.wraps(method)
    def call(self: Timed, *args: object, **kwargs: object) -> object:
        budget = self.budget
        before, began = budget.spent_s, perf_counter()
        try:
            return method(self, *args, **kwargs)
        finally:
            budget.spent_s = before + perf_counter() - began

    return call  # type: ignore[return-value]  # same signature, kept by functools.wraps


@contextmanager
def own_time(budget: Budget) -> Iterator[None]:
    """Count what runs inside as ours, such as what is compiled for us only; see ``timed``."""
    before, began = budget.spent_s, perf_counter()
    try:
        yield
    finally:
        budget.spent_s = before + perf_counter() - began


Array = npt.NDArray[np.generic]


class Hook:
    """Captures what happens in a training run; a hook for one framework inherits this.

    What a framework calls of it wears ``capture.guard.guarded``: a failure of ours is logged once,
    the hook lets go, and the training goes on. A hook takes hold in ``attach`` and lets go in
    ``detach``, which sets ``active`` and puts everything back as it was. It calls ``observe`` for
    each tensor and ``end_step`` after each step; it asks ``wants`` before it computes what is not
    at hand. ``stepwatch.testing.hook_contract`` holds the tests it must pass. It is declared as an
    entry point of ``stepwatch.hooks`` under the name of the module whose import it waits for.

    Args:
        run: Directory or URL to write to, which must not hold a run yet; or the recorder of
            another hook in this process, to write into one run with it.
        policy: What to save beyond the default: a ``SavePolicy``, one for each collection by
            name, or texts such as ``"gradients:raw:every=100"``.
        output: How the run is written.
        options: Fields of ``output`` by their names, such as ``format="smdebug"``,
            ``tensorboard="board"``, ``black_box_mb=0`` or ``mirror="s3://bucket/run"``.
        listeners: Evaluate every step at once, such as ``rules.LiveWatch``.
        command: The script and its arguments, for the record.
        say: Takes the coverage line; prints it to standard error by default.
        strict: Raise our own failures into training, for tests.
        on_begin: Called once, with the hook, after its first TRAIN step.
        rank: Which process this is, and of how many; what the launcher said by default.
        control: What may be done to the training between two of its steps.

    Raises:
        RunExists: ``run`` already holds a run.
        RunNotFound: ``run`` is to be resumed, and there is none.
        StoreError: ``run`` cannot be written to.
    """

    #: The framework's module.
    framework: ClassVar[str]

    def __init__(
        self,
        run: str | os.PathLike[str] | Recorder,
        *,
        policy: Policy = None,
        output: Output = HOOK_OUTPUT,
        listeners: Sequence[Listener] = (),
        command: Sequence[str] = (),
        say: Callable[[str], None] | None = None,
        strict: bool = False,
        on_begin: Callable[[Hook], None] = lambda _: None,
        rank: tuple[int, int] | None = None,
        control: Control | None = None,
        **options: Unpack[OutputOptions],
    ) -> None:
        self.strict, self.active, self.failure, self.coverage = strict, False, "", ""
        self._say = say or _print_line
        versions = {"stepwatch": __version__, **self.versions()}
        self.recorder = run if isinstance(run, Recorder) else Recorder(
            run, policy=policy, output=replace(output, **options), listeners=listeners,
            command=command, versions=versions, rank=rank,
        )  # fmt: skip
        if say is None and self.recorder.worker != FIRST_WORKER:
            self._say = _print_nothing  # the first worker prints the same
        self.budget = self.recorder.budget
        self.control = control or Control()
        self._on_begin = on_begin
        self._has_begun = False
        self._mode: Mode | None = None
        self._stopped: TrainingStopped | None = None
        self.recorder.hooks.append(self)
        self.recorder.before_close(self.let_go)
        self._budget_line = ""
        self.budget.changed = self._on_budget
        atexit.register(self._close_at_exit)

    @classmethod
    def when_training(cls, call: Callable[[], None]) -> None:
        """Call back once there may be something to see: at once, where nothing tells it earlier."""
        call()

    @classmethod
    def version(cls) -> str:
        """Return the version of the framework."""
        return str(importlib.import_module(cls.framework).__version__)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the versions of the framework and of what it computes with, by name."""
        return {cls.framework: cls.version()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(*end_state(error))

    # What a user calls

    def set_mode(self, mode: Mode | str | None) -> None:
        """Say what the model is used for from here on; ``None`` lets the hook work it out.

        Raises:
            ConfigError: There is no such mode.
        """
        if mode is not None and Mode(mode) is Mode.GLOBAL:
            raise ConfigError("no step is of mode GLOBAL; there are TRAIN, EVAL, PREDICT")
        self._mode = None if mode is None else Mode(mode)

    def save_scalar(self, name: str, value: float | Array) -> None:
        """Save one number with the step that is being observed, as ``scalar/<name>``."""
        self.observe(f"scalar/{name}", "scalars", np.asarray(value, np.float64))

    def save_tensor(self, name: str, value: Array) -> None:
        """Save a tensor with the step that is being observed, as ``tensor/<name>``.

        Its statistics are saved; its full value as well where the policy of the collection
        ``tensors`` asks for raw values.
        """
        self.observe(f"tensor/{name}", "tensors", np.asarray(value))

    def stop(self, reason: str) -> None:
        """Ask training to stop after the step that is running, in the framework's own way.

        A framework that has none is stopped by ``TrainingStopped``, raised after that step.
        """
        self.control.stop(reason)

    # What a hook calls

    def wants(self, kind: str, mode: Mode = Mode.TRAIN) -> bool:
        """Return whether a tensor of a built-in kind may be saved at the step that is observed."""
        return self.recorder.open_step(mode).wants(kind)

    def observe(
        self,
        name: str,
        kind: str,
        value: Array,
        mode: Mode | None = None,
        *,
        trainable: bool | None = None,
    ) -> None:
        """Observe a tensor in the step of a mode that is open, or opens by this.

        Args:
            name: Its name.
            kind: Which built-in collection it belongs to.
            value: Its value, of any shape and dtype of numpy or ml_dtypes, or text; read now.
            mode: By default what ``set_mode`` said last, or TRAIN.
            trainable: Whether gradients are wanted for it; ``None`` for what is no parameter.
        """
        # text has a name that numpy itself cannot read
        dtype = value.dtype.str if value.dtype.kind == "U" else value.dtype.name
        info = TensorInfo(name, kind, dtype, value.shape, trainable)
        self.recorder.open_step(mode or self._mode or Mode.TRAIN).add(info, value)

    def end_step(self, mode: Mode | None = None) -> None:
        """The step is over: hand it on, and do what was asked for meanwhile.

        Raises:
            TrainingStopped: Somebody asked for it, and the framework has no way of its own.
        """
        ended = mode or self._mode or Mode.TRAIN
        self.recorder.end_step(ended)
        self.stepped(ended)
        if ended is Mode.TRAIN:
            self.answer()

    def answer(self) -> None:
        """Do what was asked for while a TRAIN step ran, and end the training if that was."""
        self.control.answer()
        self.end_if_requested()

    def end_if_requested(self) -> None:
        """End the training if somebody asked for it."""
        if (end := self.control.pop_end()) is not None:
            self.end_training(end)

    def stepped(self, mode: Mode) -> None:
        """A step was handed on; after the first TRAIN step, say what is captured."""
        if mode is Mode.TRAIN:
            self._stopped = None  # the script caught it, and trains on
        if mode is Mode.TRAIN and not self._has_begun:
            self._has_begun = True
            self.recorder.trained_by(self.versions())
            self.coverage = self.describe_coverage()
            if self.coverage:
                self._say(self.coverage)
                self.recorder.covered(self.coverage)
            self.recorder.sources.update(self.source_places())  # while all of it is there
            self._on_begin(self)

    def _on_budget(self, line: str) -> None:
        if not self._budget_line:  # how often later on is for who asks: it is stored
            self._say(line)
        self.recorder.covered(line, instead_of=self._budget_line)
        self._budget_line = line

    # What a hook brings along

    def describe_coverage(self) -> str:
        """Return the coverage line after the first TRAIN step, such as ``capturing 4 of 4 …``."""
        return ""

    def source_places(self) -> Mapping[str, str]:
        """Return where in the script parts of the training were made, ``FILE:LINE`` by name.

        Tensors have their names, modules theirs after ``module/``; and there is ``optimizer``.
        """
        return {}

    def end_training(self, end: BaseException) -> None:
        """End the training after this step: in the framework's own way where it has one."""
        self._stopped = end if isinstance(end, TrainingStopped) else None
        raise end

    def attach(self) -> None:
        """Take hold of the framework."""
        self.active = True

    def detach(self) -> None:
        """Let go of the framework; nothing is captured until ``attach``."""
        self.active = False

    def pause(self) -> None:
        """Observe nothing until ``resume``."""
        self.active = False

    def resume(self) -> None:
        """Observe again."""
        self.active = True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Pause the other hooks of this run: one framework may run on another."""
        others = [one for one in self.recorder.hooks if one is not self and one.active]
        for other in others:
            other.pause()
        try:
            yield
        finally:
            for other in others:
                other.resume()

    def finish(self) -> None:
        """The run is about to be closed: hand on what is still open."""

    # The end

    def close(self, state: str = "finished", error: str = "") -> End:
        """Let go of the framework, store what is left, and say how the run ended.

        Args:
            state: ``finished``, ``failed``, ``stopped`` or ``interrupted``.
            error: The exception that ended training, if one did.

        Returns:
            The note that was stored, with what was lost; closing again returns the first. Of
            several hooks with one recorder, closing one closes all.
        """
        atexit.unregister(self._close_at_exit)
        if self._stopped is not None and state == "finished":
            state, error = end_state(self._stopped)
        return self.recorder.close(state, error)

    def let_go(self) -> str:
        """Hand on what is open and detach; return our own failure, if one ended capturing."""
        self.control.close()
        if self.active:
            self.finish()
            if not self.failure:
                with suppress(Exception):  # without them a run is whole
                    self.recorder.sources.update(self.source_places())
        self.detach()
        return self.failure

    def _close_at_exit(self) -> None:
        # Python leaves here the exception that it has just shown; it shows no SystemExit.
        self.close(*end_state(getattr(sys, "last_value", None) or self._stopped))


def _print_nothing(line: str) -> None:
    del line


def _print_line(line: str) -> None:
    # Standard error may be closed, or a pipe that nobody reads.
    with suppress(OSError, ValueError, AttributeError):
        print(f"stepwatch: {line}", file=sys.stderr)
