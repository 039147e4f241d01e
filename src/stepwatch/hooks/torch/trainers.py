"""What the hooks of trainers that run on PyTorch have in common: a ``TorchHook`` that captures.

Steps, tensors and names are those of ``TorchHook``. A trainer adds what only it knows: the metrics
that it logs, what a model is run for, and how a training is ended without an exception.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch

from ...capture.guard import guarded
from ...capture.recorder import Recorder
from ...errors import TrainingStopped
from ...model.steps import Mode
from ..base import Hook
from ..patching import PatchSet
from .hook import TorchHook, cannot_end


class TorchTrainerHook(Hook):
    """A callback of a trainer, beside the ``TorchHook`` that captures.

    While it is attached, trainers that are made get it as a callback if they were not given it.

    Args:
        run: Directory or URL to write to, which must not hold a run yet; or the recorder of
            another hook in this process. If that is a ``TorchHook``, it goes on capturing.
        options: Those of ``TorchHook``.
    """

    #: Adds this as a callback to a trainer that was just made, if it has none such.
    trainer: ClassVar[type]

    def __init__(self, run: str | os.PathLike[str] | Recorder, **options: Any) -> None:
        captures = _torch_hook_of(run)
        self.torch = captures or TorchHook(run=run, **options)
        given = {name: options[name] for name in ("say", "strict") if name in options}
        super().__init__(self.torch.recorder, control=self.torch.control, **given)
        #: What of the trainer is replaced while it is attached.
        self.replaced = PatchSet()
        self._is_owner = captures is None
        self.attach()

    # What a user calls

    def set_mode(self, mode: Mode | str | None) -> None:
        super().set_mode(mode)
        self.torch.set_mode(mode)

    def save_scalar(self, name: str, value: Any) -> None:
        self.torch.save_scalar(name, value)

    def save_tensor(self, name: str, value: Any) -> None:
        self.torch.save_tensor(name, value)

    # What a trainer brings along

    def add_to(self, trainer: Any) -> None:
        """Add this to the callbacks of a trainer that was just made."""
        raise NotImplementedError

    def request_stop(self) -> bool:
        """Ask the trainer that trains to stop; return whether there is one."""
        raise NotImplementedError

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the versions of the trainer and of PyTorch."""
        return {**TorchHook.versions(), **super().versions()}

    # What its callbacks call

    def save_metrics(self, metrics: Mapping[str, Any], mode: Mode) -> None:
        """Save what a trainer logs during a step, as ``metric/<name>``.

        What it logs when all is over, such as how long it took, is of no step and left out.
        """
        is_open = self.torch.has_begun if mode is Mode.TRAIN else self.recorder.is_open(mode)
        if not self.torch.captures or not is_open:
            return
        for name, value in metrics.items():
            if isinstance(value, (int, float)):
                value = np.asarray(value, float)
            elif not isinstance(value, torch.Tensor):
                continue
            self.torch.observe(f"metric/{name}", "metrics", value, mode)

    def begins(self) -> None:
        """A training begins: what the trainer logs after an update belongs to its step."""
        self._stopped = None
        self.recorder.trained_by(self.versions())
        self.torch.hears_loggers(hears=False)  # it hands over what it logs
        self.torch.hold_steps(hold=True)

    def ends(self) -> None:
        """A training is over: hand on what is open, and remember why it was ended."""
        self.torch.finish()
        self.torch.hears_loggers(hears=True)
        self.torch.hold_steps(hold=self._is_owner)
        self.torch._stopped = self._stopped  # it was forgotten when the last step was handed on

    # What a hook brings along

    def attach(self) -> None:
        if self.active:
            return
        self.torch.attach()
        self.torch.ends_training = self._end
        self.replaced.put(self.trainer, "__init__", self._adding)
        self.active = True

    def detach(self) -> None:
        """Let go of torch and of the trainer; nothing is captured until ``attach``."""
        self._leave_trainer()
        self.torch.detach()

    def let_go(self) -> str:
        self._leave_trainer()  # torch is let go of by its own hook
        return self.failure

    def _leave_trainer(self) -> None:
        self.replaced.remove()
        if self.torch.ends_training == self._end:
            self.torch.ends_training = cannot_end
        self.active = False

    def _adding(self, made: Callable[..., None]) -> Callable[..., None]:
        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            made(trainer, *args, **kwargs)
            self._add_to(trainer)

        return init

    @guarded
    def _add_to(self, trainer: Any) -> None:
        self.add_to(trainer)

    def _end(self, end: BaseException) -> bool:
        """End the training as the trainer does; return whether that is possible."""
        if not isinstance(end, TrainingStopped) or not self.request_stop():
            return False
        self._stopped = end
        return True


def _torch_hook_of(run: object) -> TorchHook | None:
    hooks = run.hooks if isinstance(run, Recorder) else []
    return next((hook for hook in hooks if isinstance(hook, TorchHook)), None)
