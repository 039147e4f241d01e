"""What stands where smdebug has something that Stepwatch has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from smdebug.exceptions import SMDebugNotImplementedError


def unavailable(name: str, instead: str) -> Callable[..., NoReturn]:
    """Return what raises as soon as it is called: old imports work, old calls say why not.

    Args:
        name: What it is called.
        instead: What there is in its place.
    """

    def call(*_: object, **__: object) -> NoReturn:
        raise SMDebugNotImplementedError(f"there is no {name} in Stepwatch; {instead}")

    call.__name__ = call.__qualname__ = name
    return call
