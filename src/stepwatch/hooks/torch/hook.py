"""The hook for PyTorch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.hooks import RemovableHandle

from ...capture.listener import Listener
from ...capture.recorder import Recorder
from ...collection import Policy
from ...errors import TrainingStopped
from ...steps import Mode
from ..hook import Hook
from .coverage import coverage
from .listening import forget_graphs, listen
from .patches import Patches
from .ranks import distributed_rank
from .threads import share_threads
from .torch_control import TorchControl
from .tracker import Tracker


class TorchHook(Hook):
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

    framework = "torch"

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        *,
        run: str | os.PathLike[str] | Recorder,
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
        on_begin: Callable[[Hook], None] = lambda _: None,
        mirror: str | None = None,
        resume: int | None = None,
    ) -> None:
        super().__init__(
            run,
            policy=policy,
            format=format,
            tensorboard=tensorboard,
            listeners=listeners,
            command=command,
            say=say,
            strict=strict,
            black_box_mb=black_box_mb,
            snapshot_every=snapshot_every,
            on_begin=on_begin,
            rank=distributed_rank(),
            mirror=mirror,
            resume=resume,
        )
        self._tracker = Tracker(self.recorder, model, self.stepped, hold=hold, strict=strict)
        self.control: TorchControl = TorchControl(
            self._tracker, self.recorder, self._say, strict=strict
        )
        #: Ends the training in a way of its own; returns whether it can.
        self.ends_training: Callable[[BaseException], bool] = cannot_end
        self._handles: list[RemovableHandle] = []
        self._attached = False
        self._patches: Patches | None = None
        self.attach()

    def set_mode(self, mode: Mode | str | None) -> None:
        super().set_mode(mode)
        self._tracker.steps.mode = self._mode

    def save_scalar(self, name: str, value: float | torch.Tensor | npt.NDArray[np.generic]) -> None:
        """Save one number with the step that is being observed, as ``scalar/<name>``."""
        self._tracker.save(f"scalar/{name}", value, "scalars")

    def save_tensor(self, name: str, value: torch.Tensor | npt.NDArray[np.generic]) -> None:
        """Save a tensor with the step that is being observed, as ``tensor/<name>``.

        Its statistics are saved; its full value as well where the policy of the collection
        ``tensors`` asks for raw values.
        """
        self._tracker.save(f"tensor/{name}", value, "tensors")

    def observe(
        self,
        name: str,
        kind: str,
        value: Any,
        mode: Mode | None = None,
        *,
        trainable: bool | None = None,
    ) -> None:
        if isinstance(value, torch.Tensor):
            self._tracker.save(name, value, kind, mode)
        else:
            super().observe(name, kind, np.asarray(value), mode, trainable=trainable)

    def attach(self) -> None:
        """Take hold of torch; done when the hook is made, and possible again after ``detach``."""
        if self._handles:
            return
        tracker = self._tracker
        if not self._attached and forget_graphs():
            self._say("what was compiled before is compiled again, to be seen")
        self._attached = True
        self._handles = listen(tracker, self.control, self.end_if_asked)
        self._patches = Patches(
            tracker,
            tracker.graphs.slots.seeing,
            with_activations=self.recorder.plan.wants("activity"),
        )
        # Torch says that our hooks also see the module that compile wraps around a model. They
        # know, and a script's output must stay as it was.
        warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global")
        share_threads(shared=True)
        tracker.extras.listen()
        tracker.active = self.active = True

    def detach(self) -> None:
        """Let go of torch; nothing is captured until ``attach``."""
        if not self._tracker.active:  # it failed, or was detached before
            self.failure = self._tracker.failure
        self._tracker.detach()
        self.active = False
        share_threads(shared=False)
        while self._handles:
            self._handles.pop().remove()
        if self._patches is not None:
            self._patches.remove()
            self._patches = None

    @property
    def captures(self) -> bool:
        """Whether it is attached, not paused, and did not fail."""
        return self.active and self._tracker.active

    def hold_steps(self, *, hold: bool) -> None:
        """Say whether a TRAIN step that is over is held until something runs, from here on."""
        self._tracker.steps.hold = hold

    def pause(self) -> None:
        super().pause()
        self._tracker.detach()

    def resume(self) -> None:
        super().resume()
        self._tracker.extras.listen()
        self._tracker.active = not self._tracker.failure

    def finish(self) -> None:
        self._tracker.close()

    def describe_coverage(self) -> str:
        tracker = self._tracker
        return coverage(tracker.names, tracker.observer, tracker.graphs.slots)

    def end_training(self, end: BaseException) -> None:
        if self.ends_training(end):
            self._stopped = end if isinstance(end, TrainingStopped) else None
        else:
            super().end_training(end)


def cannot_end(end: BaseException) -> bool:  # noqa: ARG001
    """Return that a training has no other way to be ended than to raise."""
    return False
