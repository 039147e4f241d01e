"""What the hook of a framework brings to the contract: how to make it, and a training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt

from ..hooks.hook import Hook

Array = npt.NDArray[Any]
Each = Callable[[int], None]
STEPS = 8


@dataclass(frozen=True)
class Trained:
    """What a training knows of itself, found without the hook.

    Args:
        weights: The trainable parameters after the last step, by the names under which the hook
            saves them; empty where a model has none, such as trees.
        losses: The loss of each TRAIN step that was done, as the training itself computed it.
    """

    weights: Mapping[str, Array]
    losses: Sequence[float]


class HookTraining:
    """A framework, as ``HookContract`` needs it."""

    #: Whether the framework has gradients to be seen.
    has_gradients: ClassVar[bool] = True
    #: Whether weights are saved as the step found them, or as it left them.
    weights_are: ClassVar[str] = "before"
    #: The name of the loss that ``Trained.losses`` holds.
    loss: ClassVar[str]
    #: How exactly losses and weights are computed, relative.
    rtol: ClassVar[float] = 1e-6

    def make(self, run: str | Path, **options: object) -> Hook:
        """Return a hook that is attached and sees what ``train`` does."""
        raise NotImplementedError

    def train(self, hook: Hook | None, steps: int, each: Each = lambda _: None) -> Trained:
        """Train a model in the ordinary way of the framework, from a fixed seed.

        Args:
            hook: To be handed to the framework where one is handed over; ``None`` without.
            steps: TRAIN steps.
            each: Call it with the number of each TRAIN step while the step is on its way, from
                what is the user's own: a callback, a data loader, the loop. What it raises ends
                the training like any error of the user's.
        """
        raise NotImplementedError

    def script(self, steps: int) -> str:
        """Return a script that trains for so many steps and prints its last loss in full.

        It has no word of us in it, and prints the same each time.
        """
        raise NotImplementedError

    def patched(self) -> Sequence[object]:
        """Return what of the framework the hook may replace, to be found as it was afterwards."""
        return ()

    def watch(self, run: Path, steps: int, **options: object) -> Trained:
        """Train under a hook of its own, to the end."""
        hook = self.make(run, say=lambda _: None, **options)
        with hook:
            return self.train(hook, steps)
