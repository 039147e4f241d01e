"""What stands where the analysis of profiles will."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from smdebug.exceptions import SMDebugNotImplementedError


def unavailable(name: str) -> Callable[..., NoReturn]:
    """Return what raises as soon as it is called: old imports work, old calls say why not.

    Args:
        name: What it is called.
    """

    def call(*_: object, **__: object) -> NoReturn:
        raise SMDebugNotImplementedError(
            f"{name} is about profiles, which Stepwatch cannot do yet; the tensors of a run are "
            "read by smdebug.trials.create_trial"
        )

    call.__name__ = call.__qualname__ = name
    return call
