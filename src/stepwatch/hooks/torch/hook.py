"""The hook for PyTorch."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from ... import __version__
from ...capture.output import Output
from ...capture.recorder import Listener, Recorder
from ...collection import Policy
from ...errors import ConfigError, TrainingStopped
from ...formats.manifest import End
from ...steps import Mode
from .coverage import coverage_line
from .patches import Patches
from .tracker import Tracker


class TorchHook:
    """Captures what happens in a PyTorch training run.

    It looks from outside: nothing is put into the model, so copies, pickles and compiled graphs
    of it are as they would be without. Weights are those that the step's forward used, gradients
    those that its optimizer used.

    Args:
        model: The model to look at; by default every model that runs.
        run: Directory or URL to write to; it must not hold a run yet.
        policy: What to save beyond statistics of everything at every step: a ``SavePolicy``, one
            for each collection by name, or texts such as ``"gradients:raw:every=100"``.
        format: How the run is laid out: ``native``, or ``smdebug`` for what reads only that.
        tensorboard: Folder for TensorBoard's files beside it: scalars, and histograms of what is
            saved raw.
        listeners: Who looks at every step at once, such as ``rules.LiveWatch``.
        hold: A TRAIN step that is over is handed on when the next one begins to run, so that what
            is saved after ``optimizer.step()`` belongs to it; ``False`` hands it on at once.
        say: Takes the coverage line; prints it to standard error by default.
        strict: Raise our own failures into training, for tests.

    Raises:
        RunExists: ``run`` already holds a run.
        StoreError: ``run`` cannot be written to.

    Example:
        ``with TorchHook(model, run="runs/first"):`` around the training loop; or make one
        before it and ``close()`` it after. What is never closed is so when Python ends.
    """

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        *,
        run: str | os.PathLike[str],
        policy: Policy = None,
        format: str = "native",
        tensorboard: str | None = None,
        listeners: Sequence[Listener] = (),
        command: Sequence[str] = (),
        hold: bool = True,
        say: Callable[[str], None] | None = None,
        strict: bool = False,
    ) -> None:
        self.recorder = Recorder(
            run,
            policy=policy,
            output=Output(format=format, tensorboard=tensorboard),
            listeners=listeners,
            command=command,
            versions={"stepwatch": __version__, "torch": torch.__version__},
        )
        self._say = say or (lambda line: print(f"stepwatch: {line}", file=sys.stderr))
        self._tracker = Tracker(self.recorder, model, self._after_step, hold=hold, strict=strict)
        self._stop_reason: str | None = None
        self.coverage = ""
        self._handles: list[Any] = []
        self._patches: Patches | None = None
        self.attach()
        atexit.register(self._close_at_exit)

    def __enter__(self) -> TorchHook:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        states: dict[type[BaseException], str] = {
            TrainingStopped: "stopped",
            KeyboardInterrupt: "interrupted",
        }
        if kind is None or error is None:
            self.close()
        else:
            self.close(states.get(kind, "failed"), f"{kind.__name__}: {error}")

    def set_mode(self, mode: Mode | str | None) -> None:
        """Say what the model is used for from here on; ``None`` lets the hook work it out.

        Raises:
            ConfigError: There is no such mode.
        """
        self._tracker.steps.mode = None if mode is None else _as_mode(mode)

    def save_scalar(self, name: str, value: float | torch.Tensor) -> None:
        """Save one number with the step that is being observed, as ``scalar/<name>``."""
        self._tracker.save(f"scalar/{name}", value, "scalars")

    def save_tensor(self, name: str, value: torch.Tensor | npt.NDArray[np.generic]) -> None:
        """Save a tensor with the step that is being observed, as ``tensor/<name>``.

        Its statistics are saved; its full value as well where the policy of the collection
        ``tensors`` asks for raw values.
        """
        self._tracker.save(f"tensor/{name}", value, "tensors")

    def stop(self, reason: str) -> None:
        """Ask training to stop: ``TrainingStopped`` is raised after the step that is running."""
        self._stop_reason = reason

    def attach(self) -> None:
        """Take hold of torch; done when the hook is made, and possible again after ``detach``."""
        if self._handles:
            return
        tracker, compiling = self._tracker, torch.compiler.is_compiling

        # Functions of their own, so that a compiler sees a constant and nothing behind it.
        def before_forward(module: torch.nn.Module, _: Any) -> None:
            if not compiling():
                tracker.before_forward(module)

        def after_forward(module: torch.nn.Module, inputs: Any, output: Any) -> None:
            if not compiling():
                tracker.after_forward(module, inputs, output)

        def before_optimizer(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            if not compiling():
                tracker.before_optimizer(optimizer)

        def after_optimizer(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            if not compiling():
                tracker.after_optimizer(optimizer)
                self._stop_if_asked()

        self._handles = [
            register_module_forward_pre_hook(before_forward),
            register_module_forward_hook(after_forward, always_call=True),
            register_optimizer_step_pre_hook(before_optimizer),
            register_optimizer_step_post_hook(after_optimizer),
        ]
        self._patches = Patches(tracker)
        # Torch says that our hooks also see the module that compile wraps around a model. They
        # know, and a script's output must stay as it was.
        warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global")
        tracker.active = True

    def detach(self) -> None:
        """Let go of torch; nothing is captured until ``attach``."""
        self._tracker.detach()
        while self._handles:
            self._handles.pop().remove()
        if self._patches is not None:
            self._patches.remove()
            self._patches = None

    def close(self, state: str = "finished", error: str = "") -> End:
        """Let go of torch, store what is left, and say how the run ended.

        Args:
            state: ``finished``, ``failed``, ``stopped`` or ``interrupted``.
            error: The exception that ended training, if one did.

        Returns:
            The note that was stored, with what was lost; closing again returns the first.
        """
        atexit.unregister(self._close_at_exit)
        if not self.recorder.closed:
            if self._tracker.active:
                self._tracker.steps.close()
            elif self._handles:
                self.recorder.abandon()
                error = error or "capturing failed before the end; the log says why"
            self.detach()
        return self.recorder.close(state, error, self.coverage)

    def _close_at_exit(self) -> None:
        # Python leaves here the exception that it has just shown.
        error = getattr(sys, "last_value", None)
        self.__exit__(type(error) if error else None, error, None)

    def _after_step(self, mode: Mode) -> None:
        if mode is Mode.TRAIN and not self.coverage:
            self.coverage = self._coverage_line()
            self._say(self.coverage)

    def _stop_if_asked(self) -> None:
        if self._stop_reason is not None:
            reason, self._stop_reason = self._stop_reason, None
            raise TrainingStopped(reason)

    def _coverage_line(self) -> str:
        names, observer = self._tracker.names, self._tracker.observer
        parameters = {}
        for name, _ in names.named_parameters():
            gradient = observer.refused.get(f"gradient/{name}")
            why = observer.refused.get(name) or (gradient and f"gradient of {gradient}")
            parameters[name] = why or (None if name in observer.seen else "not reached")
        outputs = {}
        heard = {name.removeprefix("output/").partition("/")[0] for name in observer.seen}
        for name, module in names.callable_modules().items():
            why = None if name in heard else _why_unheard(module)
            outputs[name] = observer.refused.get(f"output/{name}") or why
        return coverage_line(parameters, outputs)


def _as_mode(mode: Mode | str) -> Mode:
    try:
        return _MODES[str(mode).upper()]
    except KeyError:
        raise ConfigError(f"no mode {mode!r}; there are {', '.join(_MODES)}") from None


# Not GLOBAL: it is the view over the others.
_MODES = {mode.value: mode for mode in (Mode.TRAIN, Mode.EVAL, Mode.PREDICT)}


def _why_unheard(module: torch.nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return "inside a scripted module"
    dynamo = sys.modules.get("torch._dynamo.utils")
    compiled = dynamo is not None and dynamo.counters["stats"].get("unique_graphs")
    return "inside a compiled graph" if compiled else "not called in this step"
