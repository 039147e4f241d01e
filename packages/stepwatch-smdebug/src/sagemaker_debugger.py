"""Saves a tensor with the hook of this process, from anywhere in a script."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smdebug.pytorch import Hook
    from stepwatch_smdebug.hooks.base import SmdebugHook

# Where SageMaker's hooks write.
_OUTPUT = "/opt/ml/output/tensors"


def save_tensor(value: object, name: str, path: str | os.PathLike[str] | None = None) -> None:
    """Save a tensor with the present step.

    It goes through the hook of this process, which is made if there is none: as the hook
    configuration of the environment says, else to save at every step below ``path``. A hook
    without a registered model takes the first that runs, so that there are steps.

    Args:
        value: A tensor, an array, a number, or a list of numbers.
        name: Its name. The last part of ``path`` stands before it, so that the patterns of
            collections can find it: ``epoch_1/output``. It joins the collections that do, or
            ``default``.
        path: A folder below that where tensors are written.

    Example:
        ``save_tensor(output, "output", f"/opt/ml/output/tensors/epoch_{epoch}")``
    """
    folder = PurePath(path).name if path is not None else ""
    full = f"{folder}/{name}" if folder else name
    running = _hook_of_command()
    if running is not None and running.config is not None:
        found = [one.name for one in running.config.saved if one.holds(full)]
        running.save_tensor(full, value, found or ["default"])
        return
    hook = _hook_of_process(path)
    if hook is not None:
        hook.save_tensor(full, value, hook.collections_finding(full) or ["default"])


def _hook_of_command() -> SmdebugHook | None:
    """Return the hook that a command put on the script, if that saves already."""
    from smdebug.pytorch import get_hook
    from stepwatch_smdebug.hooks.base import SmdebugHook

    if get_hook() is not None:
        return None
    return next((one for one in SmdebugHook.known if one.active and one.has_begun), None)


def _hook_of_process(path: str | os.PathLike[str] | None) -> Hook | None:
    from smdebug.core.singleton_utils import is_used
    from smdebug.pytorch import Hook, SaveConfig, get_hook

    if not is_used():
        return None
    hook = get_hook(create_if_not_exists=True)
    if hook is None:
        out_dir = str(PurePath(path).parent) if path is not None else _OUTPUT
        hook = Hook(out_dir, save_config=SaveConfig(save_interval=1))
    if not hook.has_registered_module:
        hook.register_first()
    return hook


__all__ = ["save_tensor"]
