"""Where a hook writes, by its arguments."""

from __future__ import annotations

import os

from .access_layer.utils import check_dir_exists
from .utils import is_s3


def verify_and_get_out_dir(out_dir: str | None) -> str:
    """Return where a hook writes.

    Raises:
        RuntimeError: It is not said.
        SMDebugRuntimeError: A finished run lies there.
    """
    if out_dir is None:
        raise RuntimeError("a hook needs out_dir")
    folder = out_dir if is_s3(out_dir)[0] else os.path.expanduser(out_dir)
    check_dir_exists(folder)
    return folder


def get_tensorboard_dir(
    export_tensorboard: bool, tensorboard_dir: str | None, out_dir: str
) -> str | None:
    """Return where files for TensorBoard go; ``None`` if there are to be none."""
    if tensorboard_dir:
        return os.path.expanduser(tensorboard_dir)
    return os.path.join(out_dir, "tensorboard") if export_tensorboard else None
