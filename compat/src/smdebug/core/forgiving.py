"""A hook that was told nothing of its own does not end a training for a wrong call."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

_log = logging.getLogger("stepwatch")
Method = TypeVar("Method", bound=Callable[..., None])


def forgiving(method: Method) -> Method:
    """Log what a method of a hook raises if the hook has the default configuration."""

    @functools.wraps(method)
    def call(self: Any, *args: object, **kwargs: object) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            if not self.has_default_configuration():
                raise
            _log.error("nothing is saved by %s; training goes on: %s", method.__name__, error)

    return call  # type: ignore[return-value]  # same signature, kept by functools.wraps
