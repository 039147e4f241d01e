"""Training survives us: what a framework calls of ours never raises into it."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from ..errors import StepwatchError

_log = logging.getLogger("stepwatch")
Method = TypeVar("Method", bound=Callable[..., Any])


class Guarded(Protocol):
    """What ``guarded`` expects of the object whose methods it guards."""

    strict: bool
    failure: str

    def detach(self) -> None:
        """Let go of the framework; called after the first failure."""


def guarded(method: Method) -> Method:
    """Make a callback safe to be called by a framework.

    The first failure is logged with its traceback, kept as ``failure``, and detaches the object;
    training goes on without it. With ``strict`` the failure is raised instead.
    """

    @functools.wraps(method)
    def call(self: Guarded, *args: object, **kwargs: object) -> object:
        try:
            return method(self, *args, **kwargs)
        except Exception:
            if self.strict:
                raise
            give_up(self, method.__qualname__)
            return None

    return call  # type: ignore[return-value]  # same signature, kept by functools.wraps


def give_up(guarded: Guarded, where: str) -> None:
    """Log the exception that is being handled, and detach the object.

    A broken log handler, or half a detachment, must not stop training.

    Args:
        where: What of ours failed.
    """
    error = sys.exc_info()[1]
    with suppress(Exception):  # the text of an error is somebody's code, too
        guarded.failure = f"{type(error).__name__}: {error}"
    with suppress(Exception):
        if isinstance(error, StepwatchError):  # one line that says what is wrong
            _log.error("capturing is off from here on; training goes on: %s", error)
        else:
            _log.exception(
                "capturing failed in %s and is off from here on; training goes on", where
            )
    try:
        guarded.detach()
    except Exception:  # noqa: BLE001  it is the last resort
        with suppress(Exception):
            _log.exception("letting go failed as well; training goes on")
