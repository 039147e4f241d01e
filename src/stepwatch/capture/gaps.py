"""What of a run is not stored, and why: one line for people, said when it ends."""

from __future__ import annotations

import os
from collections.abc import Callable

_TOO_SLOW = "the store was too slow"


class Gaps:
    """Counts the steps that never came to the store, and keeps why it refused others.

    Example:
        >>> gaps = Gaps()
        >>> gaps.came()
        >>> gaps.count(18), gaps.line(18)
        (17, '17 of 18 steps (the store was too slow)')
    """

    def __init__(self) -> None:
        self._came = 0
        self._refusal = ""
        self._blind = ""

    def came(self) -> None:
        """A step comes to what stores it."""
        self._came += 1

    def store(self, call: Callable[..., object], *arguments: object) -> None:
        """Call what stores something; what it raises is noted and goes up."""
        try:
            call(*arguments)
        except BaseException as error:
            self._refusal = self._refusal or reason(error)
            raise

    def failed(self, failure: str, last_step: int) -> None:
        """Capturing ended by a failure of ours, before the training ended."""
        after = f"all after step {last_step}" if last_step >= 0 else "all steps"
        self._blind = f"{after} (capturing failed: {failure})"

    def count(self, steps: int, refused: int = 0) -> int:
        """Return how many steps are not stored.

        Args:
            steps: How many were recorded.
            refused: How many came to the store, and it did not keep them.
        """
        return steps - self._came + refused

    def line(self, steps: int, refused: int = 0) -> str:
        """Return what is missing and why, ``""`` for nothing; see ``count``."""
        counts = {self._refusal or _TOO_SLOW: refused}
        counts[_TOO_SLOW] = counts.get(_TOO_SLOW, 0) + steps - self._came
        lost = [f"{count} of {steps} steps ({why})" for why, count in counts.items() if count]
        return ", ".join([*lost, self._blind] if self._blind else lost)


def reason(error: BaseException) -> str:
    """Return in a few words what went wrong.

    Example:
        >>> reason(OSError(28, "cannot write run.json in /disk: No space left on device"))
        'No space left on device'
        >>> reason(KeyError("fc.weight"))
        "KeyError: 'fc.weight'"
    """
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return f"{type(error).__name__}: {error}"
