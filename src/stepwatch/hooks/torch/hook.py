"""The hook for PyTorch."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.hooks import RemovableHandle

from ... import __version__
from ...capture.ending import how_it_ended
from ...capture.output import Output
from ...capture.recorder import Listener, Recorder
from ...collection import Policy
from ...errors import ConfigError, TrainingStopped
from ...formats.manifest import End
from ...steps import Mode
from .coverage import coverage
from .listening import forget_graphs, listen
from .patches import Patches
from .ranks import distributed_rank
from .torch_control import TorchControl
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
        black_box_mb: Size in MiB of the black box, which holds the last steps where no death of
            the process reaches them; 0 for none.
        snapshot_every: The black box keeps the state before each so many TRAIN steps, from which
            a step can be run again; 0 for only when something goes wrong.

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
        black_box_mb: int = 64,
        snapshot_every: int = 0,
    ) -> None:
        self.recorder = Recorder(
            run,
            policy=policy,
            output=Output(
                format=format,
                tensorboard=tensorboard,
                black_box_mb=black_box_mb,
                snapshot_every=snapshot_every,
            ),
            listeners=listeners,
            command=command,
            versions={"stepwatch": __version__, "torch": torch.__version__},
            rank=distributed_rank(),
        )
        self._say = say or _say
        self._tracker = Tracker(self.recorder, model, self._after_step, hold=hold, strict=strict)
        #: What may be done to the training between two of its steps.
        self.control = TorchControl(self._tracker, self.recorder, self._say, strict=strict)
        self._stopped: TrainingStopped | None = None
        self.coverage = ""
        self._handles: list[RemovableHandle] = []
        self._attached = False
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
        self.close(*how_it_ended(error))

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
        self.control.stop(reason)

    def attach(self) -> None:
        """Take hold of torch; done when the hook is made, and possible again after ``detach``."""
        if self._handles:
            return
        tracker = self._tracker
        if not self._attached and forget_graphs():
            self._say("what was compiled before is compiled again, to be seen")
        self._attached = True
        self._handles = listen(tracker, self.control, self._stop_if_asked)
        self._patches = Patches(
            tracker,
            tracker.graphs.slots.seeing,
            with_activations=self.recorder.plan.wants("activity"),
        )
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
        failure = ""
        if not self.recorder.closed:
            self.control.close()
            self._tracker.close()
            failure = "" if self._tracker.active else self._tracker.failure
            self.detach()
        return self.recorder.close(state, error, self.coverage, failure)

    def _close_at_exit(self) -> None:
        # Python leaves here the exception that it has just shown; it shows no SystemExit.
        self.close(*how_it_ended(getattr(sys, "last_value", None) or self._stopped))

    def _after_step(self, mode: Mode) -> None:
        self._stopped = None  # the script caught it, and trains on
        if mode is Mode.TRAIN and not self.coverage:
            tracker = self._tracker
            self.coverage = coverage(tracker.names, tracker.observer, tracker.graphs.slots)
            self._say(self.coverage)

    def _stop_if_asked(self) -> None:
        end = self.control.take_end()
        if end is not None:
            self._stopped = end if isinstance(end, TrainingStopped) else None
            raise end


def _say(line: str) -> None:
    # Standard error may be closed, or a pipe that nobody reads.
    with suppress(OSError, ValueError, AttributeError):
        print(f"stepwatch: {line}", file=sys.stderr)


def _as_mode(mode: Mode | str) -> Mode:
    try:
        return _MODES[str(mode).upper()]
    except KeyError:
        raise ConfigError(f"no mode {mode!r}; there are {', '.join(_MODES)}") from None


# Not GLOBAL: it is the view over the others.
_MODES = {mode.value: mode for mode in (Mode.TRAIN, Mode.EVAL, Mode.PREDICT)}
