"""What may be done to a training, between two of its steps.

Reactions to findings run on another thread, or in the middle of a step. So they only request an
intervention, and the training's own thread does it once a step is over. No request can raise into
the training, except one that ends it.
"""

# ruff: noqa: ARG002  what a hook cannot do is refused, whatever it is given
from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from ..errors import ConfigError, TrainingStopped
from ..model.collection import Collection
from ..model.finding import Finding

#: What is left to be done in the background; it returns what was done.
Remainder = Callable[[], str]


class AlreadyDone(str):
    """What was done before, so that nothing was to be done now."""


#: An intervention. It returns what was done, or what is left to be done.
Request = Callable[["Control"], "str | Remainder"]
#: Called with how a request ended: what was done or is left, or what was raised.
OnSettled = Callable[["str | Remainder | Exception"], None]
#: Decides whether a batch is skipped, by its global step, the reason and what was measured.
SkipDecision = Callable[[int, str, float], bool]


class Control:
    """Takes requests and serves them between steps; hooks add what they can do."""

    def __init__(self) -> None:
        self._requests: SimpleQueue[tuple[Request, OnSettled]] = SimpleQueue()
        self._end: BaseException | None = None
        self._closed = False
        #: The global step after which a state was restored last; -1 for never.
        self.restored_at = -1

    def request(self, request: Request, settle: OnSettled) -> None:
        """Request something to be done once a step is over; may be called on any thread."""
        self._requests.put((request, settle))
        if self._closed:
            self.close()

    @property
    def has_requests(self) -> bool:
        """Whether anything is requested, or the training is to end."""
        return self._end is not None or not self._requests.empty()

    def answer(self) -> None:
        """Serve all requests; called on the training's thread, between steps."""
        if self._requests.empty():
            return
        for request, settle in self._pop_requests():
            try:
                settle(request(self))
            except Exception as error:  # noqa: BLE001  whatever it is, training goes on
                settle(error)

    def close(self) -> None:
        """Refuse what was not done yet: the training is over."""
        self._closed = True
        for _, settle in self._pop_requests():
            settle(ConfigError("the training ended before its next step was over"))

    def pop_end(self) -> BaseException | None:
        """Return what is to be raised into the training, once."""
        end, self._end = self._end, None
        return end

    def judged(self, step: int) -> None:
        """Called in the background once all rules have evaluated the steps up to this one."""

    # Interventions. Each raises ConfigError where it cannot be done.

    def stop(self, reason: str) -> None:
        """Raise ``TrainingStopped`` into the training."""
        self._end = TrainingStopped(reason)

    def fail(self, error: Exception) -> None:
        """Raise an exception into the training."""
        self._end = error

    def capture_more(self, collections: Sequence[Collection], steps: int) -> str:
        """Save more in the next TRAIN steps than the policy says."""
        raise self._refusal("capture more")

    def profile(self, steps: int) -> str:
        """Record every operation of the next steps."""
        raise self._refusal("record every operation")

    def checkpoint(self, finding: Finding) -> str | Remainder:
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

    def skip_batches(self, spike: float | None, skips: SkipDecision) -> None:
        """Ask at each update of an optimizer that looks bad whether it is to be left out."""
        raise self._refusal("skip batches")

    def _pop_requests(self) -> list[tuple[Request, OnSettled]]:
        requests = []
        try:
            while True:
                requests.append(self._requests.get_nowait())
        except Empty:
            return requests

    @staticmethod
    def _refusal(what: str) -> ConfigError:
        return ConfigError(f"the hook of this training cannot {what}; TorchHook can")
