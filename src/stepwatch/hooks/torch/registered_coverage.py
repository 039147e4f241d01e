"""What a registered hook captured of its models, in a line."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import torch

from .module_hooks import class_name

_log = logging.getLogger("stepwatch")


def warn_of_nothing(roots: Sequence[torch.nn.Module], *, has_begun: bool) -> None:
    """Say so if no tensors of a model can have been saved.

    Args:
        roots: The models that were registered.
        has_begun: Whether one of them ran.
    """
    if not roots:
        _log.warning(
            "no model was registered, so no tensors of one were saved; before training, call "
            "register_module(model)"
        )
    elif not has_begun:
        _log.warning(
            "%s was registered and was not seen to run, so nothing of it was saved; if it is "
            "compiled as one graph, register what torch.compile returns",
            class_name(roots[0]),
        )


def registered_coverage(roots: Sequence[torch.nn.Module], refused: Mapping[str, str]) -> str:
    """Return what was captured.

    Args:
        roots: The models that were registered.
        refused: Why what was wanted could not be saved, by name.
    """
    names = ", ".join(class_name(root) for root in roots) or "nothing"
    missing = "".join(f"; not {name} ({why})" for name, why in refused.items())
    return f"registered: {names}{missing}"
