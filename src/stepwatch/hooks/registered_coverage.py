"""What a registered hook captured of its models, in a line."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

_log = logging.getLogger("stepwatch")


def warn_of_nothing(roots: Sequence[str], *, has_begun: bool, register: str, hint: str) -> None:
    """Say so if no tensors of a model can have been saved.

    Args:
        roots: The names of the models that were registered.
        has_begun: Whether one of them ran.
        register: How a model is registered.
        hint: Why one that ran may not have been seen.
    """
    if not roots:
        _log.warning(
            "no model was registered, so no tensors of one were saved; before training, call %s",
            register,
        )
    elif not has_begun:
        _log.warning(
            "%s was registered and was not seen to run, so nothing of it was saved; %s",
            roots[0],
            hint,
        )


def registered_coverage(roots: Sequence[str], refused: Mapping[str, str]) -> str:
    """Return what was captured.

    Args:
        roots: The names of the models that were registered.
        refused: Why what was wanted could not be saved, by name.
    """
    names = ", ".join(roots) or "nothing"
    missing = "".join(f"; not {name} ({why})" for name, why in refused.items())
    return f"registered: {names}{missing}"
