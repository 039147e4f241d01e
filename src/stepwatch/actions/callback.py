"""Call a function of the user's."""

from __future__ import annotations

from typing import ClassVar

from ..errors import ConfigError
from ..specs import load_file
from . import Finding, Place, Tell


class Callback(Tell):
    """Calls a function with the finding.

    Args:
        python: ``path/to/file.py:function``. The file is loaded once, before training begins.
    """

    at_most: ClassVar[int | None] = None

    def __init__(self, python: str) -> None:
        path, colon, name = python.rpartition(":")
        if not colon:
            raise ConfigError(f"callback: python={python!r} is not path/to/file.py:function")
        function = getattr(load_file(path, kind="callback"), name, None)
        if not callable(function):
            raise ConfigError(f"callback: {path} has no function {name}")
        self._function, self._name = function, name

    def act(self, finding: Finding, place: Place) -> str:  # noqa: ARG002  it is given no more
        self._function(finding)
        return f"called {self._name}"
