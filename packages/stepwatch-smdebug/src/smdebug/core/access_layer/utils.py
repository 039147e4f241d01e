"""Whether a training ended, by the mark that it leaves."""

from __future__ import annotations

from stepwatch.formats.smdebug.layout import END_KEY
from stepwatch.store import open_store

from ...exceptions import SMDebugRuntimeError


def has_training_ended(trial_prefix: str) -> bool:
    """Return whether the training that writes to a folder or URL has left its end mark."""
    return END_KEY in open_store(trial_prefix).list(END_KEY)


def training_has_ended(trial_prefix: str) -> None:
    """Leave the end mark at a folder or URL."""
    open_store(trial_prefix).put(END_KEY, b"")


def check_dir_exists(path: str) -> None:
    """Do nothing, unless a finished run lies at a folder or URL.

    Raises:
        SMDebugRuntimeError: One does.
    """
    if has_training_ended(path):
        raise SMDebugRuntimeError(
            f"a finished run lies at {path}: its training has ended, and its tensors would be "
            "mixed with new ones; give another out_dir, or delete it"
        )
