"""Does what may take its time, one after the other, and again if it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from ..runtime.background import Background

#: How long it is waited before the second, third and fourth attempt, seconds.
BACKOFF_S = (1.0, 5.0, 25.0)
_TICK_S = 0.25


#: Called after an attempt: with what was done, or raised; and whether it was the last attempt.
OnAttempt = Callable[["str | Exception", bool], None]


@dataclass(slots=True, eq=False)
class _Job:
    act: Callable[[], str]
    on_attempt: OnAttempt
    attempts: int = 0
    due: float = 0.0
    is_settled: bool = False


class RetryQueue:
    """A thread on which things are done; made when the first one is.

    Args:
        backoff_s: How long to wait before each further attempt, seconds.
    """

    def __init__(self, backoff_s: Sequence[float] = BACKOFF_S) -> None:
        self._backoff_s = tuple(backoff_s)
        self._background: Background[_Job] | None = None
        self._open: list[_Job] = []
        self._waiting: list[_Job] = []  # of the thread alone
        self._closing = False

    def submit(self, act: Callable[[], str], on_attempt: OnAttempt) -> None:
        """Have something done."""
        job = _Job(act, on_attempt)
        self._open = [*(one for one in self._open if not one.is_settled), job]
        if self._background is None:
            self._background = Background(
                self._attempt, tick=self._again, tick_s=_TICK_S, name="stepwatch-actions"
            )
        if not self._background.submit(job):
            self._settle(job, TimeoutError("it came too late, or too much was waiting"))

    def begin_close(self) -> None:
        """Wait no more between attempts."""
        self._closing = True

    def close(self, timeout: float) -> None:
        """Attempt at once what waits; give up what is not done in so many seconds."""
        self.begin_close()
        if self._background is None:
            return
        self._background.close(timeout)
        for job in self._open:
            if not job.is_settled:
                self._settle(job, TimeoutError("it was not done when the training had ended"))

    def _attempt(self, job: _Job) -> None:
        job.attempts += 1
        try:
            result: str | Exception = job.act()
        except Exception as error:  # noqa: BLE001  it is anybody's code and network
            result = error
        if isinstance(result, str) or job.attempts > len(self._backoff_s):
            self._settle(job, result)
        elif not job.is_settled:  # else it was given up meanwhile
            job.due = monotonic() + self._backoff_s[job.attempts - 1]
            self._waiting.append(job)
            job.on_attempt(result, False)

    def _again(self) -> None:
        for job in list(self._waiting):
            while job in self._waiting and (self._closing or job.due <= monotonic()):
                self._waiting.remove(job)
                self._attempt(job)

    @staticmethod
    def _settle(job: _Job, result: str | Exception) -> None:
        if not job.is_settled:
            job.is_settled = True
            job.on_attempt(result, True)
