"""Whether a training ended, by the mark that it leaves."""

from __future__ import annotations

import os

from stepwatch.formats.smdebug.layout import END_KEY
from stepwatch.store import open_store

from ...exceptions import SMDebugRuntimeError
from ..utils import is_s3
from .s3handler import DeleteRequest, ListRequest, S3Handler

END_OF_JOB_FILENAME = END_KEY


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


def file_exists(file_path: str) -> bool:
    """Return whether there is a file, or on S3 something that begins with its name."""
    on_s3, bucket, key = is_s3(file_path)
    if on_s3:
        return bool(S3Handler.list_prefix(ListRequest(str(bucket), str(key))))
    return os.path.exists(file_path)


def delete_s3_prefixes(bucket: str, keys: str | list[str]) -> None:
    """Delete all of a bucket whose keys begin with one of some texts."""
    prefixes = keys if isinstance(keys, list) else [keys]
    S3Handler.delete_prefixes([DeleteRequest(bucket, prefix) for prefix in prefixes])
