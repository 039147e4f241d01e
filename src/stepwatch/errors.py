"""Every exception that Stepwatch raises on purpose.

Each is also a subclass of the built-in that a Python programmer would catch. A message
says what was requested, what is there, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StepwatchError(Exception):
    """Anything that Stepwatch raises on purpose."""


class ConfigError(StepwatchError, ValueError):
    """A setting, policy, rule or argument that is invalid."""


class ConfigNotFound(ConfigError, FileNotFoundError):
    """There is no configuration at this path."""


class RunExists(StepwatchError, FileExistsError):
    """The target already holds a run."""


class RunNotFound(StepwatchError, FileNotFoundError):
    """There is no run at this path or URL."""


class CheckpointNotFound(StepwatchError, FileNotFoundError):
    """There is no checkpoint at this path."""


class CheckpointUnreadable(StepwatchError, ValueError):
    """A checkpoint that is damaged, or cannot be read without running code from it."""


class JobExists(StepwatchError, FileExistsError):
    """There is a job of this name already."""


class JobNotFound(StepwatchError, LookupError):
    """There is no job of this name."""


class RequestRefused(StepwatchError, ValueError):
    """A request that is answered with an error, in the words of the API that it speaks.

    Args:
        code: What that API calls such an error, such as ``ValidationException``.
        message: What is wrong.
        status: Of HTTP.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class StepUnavailable(StepwatchError, LookupError):
    """The step was not saved, or will never be."""


class TensorUnavailable(StepwatchError, KeyError):
    """No tensor of this name, or no value of it at this step."""

    def __str__(self) -> str:
        # KeyError prints the repr of its argument; ours is a sentence.
        return str(self.args[0]) if self.args else ""


class CorruptRun(StepwatchError, ValueError):
    """Bytes of a run that cannot be what a writer wrote.

    Args:
        key: Where in the store.
        offset: First byte that is wrong, from the start of the key's value.
        reason: What is wrong with it.
    """

    def __init__(self, key: str, offset: int, reason: str) -> None:
        super().__init__(f"{key} is damaged at byte {offset}: {reason}")
        self.key = key
        self.offset = offset
        self.reason = reason


class StoreError(StepwatchError, OSError):
    """A store refused: no space, no permission, no such path."""


class StoreAway(StoreError):
    """A store takes nothing for now, whatever it is given; it may come back."""


class NotAFile(StoreError):
    """What lies under a key is a link, or nothing that a run holds; it is not opened."""


class MissingDependency(StepwatchError, ImportError):
    """An optional package is needed and not installed."""

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows of it: what to install, and nothing of where it was."""
        return [f"{type(self).__name__}: {self}"]


class ClusterUnavailable(StepwatchError, ConnectionError):
    """A cluster was asked to do something and is not there, or lost who did it."""


class TrainingStopped(SystemExit):
    """A finding asked for training to stop.

    A ``SystemExit``, so that ``except Exception`` in a training loop lets it pass while
    ``finally`` blocks still save their checkpoints. The exit status is 75 (``EX_TEMPFAIL``).

    Args:
        reason: The finding, as one sentence.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(75)
        self.reason = reason


class FindingRaised(StepwatchError, RuntimeError):
    """A finding was asked to be raised into the training."""


def nearest(name: str, known: Iterable[str], *, most: int = 3) -> str:
    """Return ``"; did you mean a, b?"`` for the known names closest to ``name``, or ``""``.

    Names that contain it come first.

    Example:
        >>> nearest("los_spike", ["loss_spike", "overfit"])
        '; did you mean loss_spike?'
        >>> nearest("weight", ["bias", "fc.weight"])
        '; did you mean fc.weight?'
    """
    names = list(known)
    close = [other for other in names if name and name.lower() in other.lower()][:most]
    similar = difflib.get_close_matches(name, names, n=most, cutoff=0.6)
    close = list(dict.fromkeys([*close, *similar]))[:most]
    return f"; did you mean {', '.join(close)}?" if close else ""
