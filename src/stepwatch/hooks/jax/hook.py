"""The hook for JAX."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import jax
import numpy as np

from ...capture.recorder import Recorder
from ...errors import ConfigError
from ...model.steps import Mode
from ..base import Hook, abbreviate, coverage_line
from . import transforms
from .tracker import Steps, Tracker
from .transforms import PATCHES

_NOT_OBSERVED = "in a transformation that is not looked into, or jitted before the hook"


class JaxHook(Hook):
    """Captures what happens in a JAX training: of Flax NNX modules or plain pytrees.

    It takes hold of what makes functions out of functions: ``jax.jit``, ``jax.value_and_grad``,
    ``jax.grad`` and those of ``flax.nnx``, which are made of them. A function that is jitted from
    then on has one more output: the statistics of parameters, gradients, losses and outputs of
    modules, which are computed in it. A call that computes gradients is a TRAIN step. Weights are
    those with which the gradients were computed. In what ``jax.vmap`` maps, such as the members of
    an ensemble, a tensor has one axis more in front, and a loss is the mean of theirs.

    Args:
        run: Directory or URL to write to, which must not hold a run yet; or the recorder of
            another hook in this process, to write into one run with it.
        options: Those of ``Hook``.

    Example:
        ``with JaxHook(run="runs/first"):`` before the functions of the training are jitted.
    """

    framework: ClassVar[str] = "jax"

    def __init__(self, run: str | os.PathLike[str] | Recorder, **options: Any) -> None:
        super().__init__(run, **{"rank": _rank(), **options})
        self._steps = Steps(self.recorder, self._ended, self.answer, self._fail, strict=self.strict)
        self._tracker = Tracker(
            self.recorder, self._steps, PATCHES.modules, self._fail, strict=self.strict
        )
        self.attach()

    # What a user calls

    def step(self, mode: Mode | str = Mode.TRAIN) -> AbstractContextManager[None]:
        """Make one step of all that is computed inside, to be used by ``with``.

        For where a step is more than one call: gradients that are added up outside of a jitted
        function, two losses of one update; or for an evaluation in which no module runs.

        Raises:
            ConfigError: There is no such mode.
        """
        if Mode(mode) is Mode.GLOBAL:
            raise ConfigError("no step is of mode GLOBAL; there are TRAIN, EVAL, PREDICT")
        return self._steps.one(Mode(mode))

    def set_mode(self, mode: Mode | str | None) -> None:
        super().set_mode(mode)
        self._steps.mode = self._mode

    def save_scalar(self, name: str, value: Any) -> None:
        """Save one number with the step that is being observed, as ``scalar/<name>``.

        In a jitted function it may be a traced value; it comes with each call.
        """
        value = value if isinstance(value, jax.Array) else np.asarray(value, np.float64)
        self.observe(f"scalar/{name}", "scalars", value)

    def save_tensor(self, name: str, value: Any) -> None:
        """Save a tensor with the step that is being observed, as ``tensor/<name>``.

        In a jitted function it may be a traced value; it comes with each call.
        """
        value = value if isinstance(value, jax.Array) else np.asarray(value)
        self.observe(f"tensor/{name}", "tensors", value)

    def observe(
        self,
        name: str,
        kind: str,
        value: Any,
        mode: Mode | None = None,
        *,
        trainable: bool | None = None,
    ) -> None:
        if self.active and mode is None and self._tracker.observe(name, kind, value):
            return
        chosen = mode or self._mode or self._steps.last_mode
        super().observe(name, kind, np.asarray(value), chosen, trainable=trainable)

    # What a hook brings along

    def attach(self) -> None:
        """Take hold of JAX; done when the hook is made, and possible again after ``detach``."""
        if not self.active:
            if transforms.activate_tracker(self._tracker):
                PATCHES.put()
            self.active = True

    def detach(self) -> None:
        """Let go of JAX; nothing is captured until ``attach``."""
        if self.active:
            self.finish()
        self._let_go_of_jax()

    def pause(self) -> None:
        self._steps.settle()
        super().pause()
        self._tracker.is_paused = True

    def resume(self) -> None:
        super().resume()
        self._tracker.is_paused = False

    def finish(self) -> None:
        self._steps.settle()

    def describe_coverage(self) -> str:
        tracker = self._tracker
        line = coverage_line(tracker.parameters, tracker.modules.reasons)
        if tracker.unobserved:
            line += f", nothing of {abbreviate(tracker.unobserved)} ({_NOT_OBSERVED})"
        return line

    def end_training(self, end: BaseException) -> None:
        """End the training before the next call: what the last one returned is then kept."""
        self._steps.settle()
        super().end_training(end)

    def let_go(self) -> str:
        super().let_go()
        return self._tracker.failure or self._steps.failure

    # How

    def _ended(self, mode: Mode) -> None:
        self.stepped(mode)
        if mode is Mode.TRAIN:
            self.control.answer()

    def _fail(self) -> None:
        self._steps.forget()
        self._let_go_of_jax()

    def _let_go_of_jax(self) -> None:
        self.active = False
        if transforms.deactivate_tracker(self._tracker):
            PATCHES.remove()


def _rank() -> tuple[int, int] | None:
    # Without it, asking for the number of processes would choose the devices.
    if not jax.distributed.is_initialized():
        return None
    return jax.process_index(), jax.process_count()
