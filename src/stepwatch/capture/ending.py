"""How a training ended, in the words of a run, by what ended it."""

from __future__ import annotations

from ..errors import TrainingStopped


def how_it_ended(error: BaseException | None) -> tuple[str, str]:
    """Return the state of the run and what ended it.

    Args:
        error: What the training raised; ``None`` for nothing.

    Example:
        >>> how_it_ended(None), how_it_ended(SystemExit(0))
        (('finished', ''), ('finished', ''))
        >>> how_it_ended(SystemExit(3)), how_it_ended(KeyboardInterrupt())
        (('failed', 'exit status 3'), ('interrupted', 'KeyboardInterrupt'))
    """
    if isinstance(error, TrainingStopped):
        return "stopped", error.reason
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return "finished", ""
    if isinstance(error, SystemExit):
        return "failed", f"exit status {error.code}"
    state = "interrupted" if type(error) is KeyboardInterrupt else "failed"
    return state, f"{type(error).__name__}: {error}".removesuffix(": ")
