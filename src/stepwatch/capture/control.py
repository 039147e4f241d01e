"""What may be done to a training, between two of its steps.

Whoever reacts to findings is on another thread, or in the middle of a step. So nothing is done
there: it is asked for, and the training's own thread does it once a step is over. Nothing that is
asked for can raise into the training, but for an end that was asked for itself.
"""

# ruff: noqa: ARG002  what a hook cannot do is refused, whatever it is given
from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from ..collection import Collection
from ..errors import ConfigError, TrainingStopped
from ..finding import Finding

#: What is left to be done in the background; it returns what was done.
Rest = Callable[[], str]


class Already(str):
    """What was done before, so that nothing was to be done now."""


#: What is asked for. It returns what was done, or what is left to be done.
Request = Callable[["Control"], "str | Rest"]
#: Told how a request ended: what was done or is left, or what was raised.
Settle = Callable[["str | Rest | Exception"], None]
#: Asked whether a batch is to be skipped: its global step, why, and what was measured.
Skips = Callable[[int, str, float], bool]


class Control:
    """Takes what is asked for, and does it between steps; hooks add what they can do."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Request, Settle]] = SimpleQueue()
        self._end: BaseException | None = None
        self._closed = False
        #: The global step after which a state was restored last; -1 for never.
        self.restored_at = -1

    def ask(self, request: Request, settle: Settle) -> None:
        """Have something done once a step is over; may be called on any thread."""
        self._asked.put((request, settle))
        if self._closed:
            self.close()

    def answer(self) -> None:
        """Do all that was asked for; called on the training's thread, between steps."""
        for request, settle in self._taken():
            try:
                settle(request(self))
            except Exception as error:  # noqa: BLE001  whatever it is, training goes on
                settle(error)

    def close(self) -> None:
        """The training is over: what was not done by now will not be."""
        self._closed = True
        for _, settle in self._taken():
            settle(ConfigError("the training ended before its next step was over"))

    def take_end(self) -> BaseException | None:
        """Return what is to be raised into the training, once."""
        end, self._end = self._end, None
        return end

    def judged(self, step: int) -> None:
        """All rules have looked at the steps up to this global one; called in the background."""

    # What can be asked for. Each raises ConfigError where it cannot be done.

    def stop(self, reason: str) -> None:
        """Raise ``TrainingStopped`` into the training."""
        self._end = TrainingStopped(reason)

    def fail(self, error: Exception) -> None:
        """Raise an exception into the training."""
        self._end = error

    def capture_more(self, collections: Sequence[Collection], steps: int) -> str:
        """Save more in the next TRAIN steps than was asked for."""
        raise self._refusal("capture more")

    def profile(self, steps: int) -> str:
        """Record every operation of the next steps."""
        raise self._refusal("record every operation")

    def checkpoint(self, finding: Finding) -> str | Rest:
        """Save models and optimizers as they are now."""
        raise self._refusal("make a checkpoint")

    def scale_learning_rates(self, factor: float) -> str:
        """Multiply the learning rates of all optimizers."""
        raise self._refusal("change learning rates")

    def keep_states(self, every: int, trusted_after: int) -> None:
        """Keep copies of the training's state, to be restored."""
        raise self._refusal("keep states to restore")

    def restore(self, step: int) -> str:
        """Go back to the last state that was good before this global step."""
        raise self._refusal("restore a state")

    def skip_batches(self, spike: float | None, skips: Skips) -> None:
        """Ask at each update of an optimizer that looks bad whether it is to be left out."""
        raise self._refusal("skip batches")

    def _taken(self) -> list[tuple[Request, Settle]]:
        taken = []
        try:
            while True:
                taken.append(self._asked.get_nowait())
        except Empty:
            return taken

    @staticmethod
    def _refusal(what: str) -> ConfigError:
        return ConfigError(f"the hook of this training cannot {what}; TorchHook can")
