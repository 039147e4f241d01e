"""Files and objects, and whether there is a finished run at a path."""

from __future__ import annotations

from .file import TSAccessFile
from .s3 import TSAccessS3
from .utils import check_dir_exists, has_training_ended, training_has_ended

__all__ = [
    "TSAccessFile",
    "TSAccessS3",
    "check_dir_exists",
    "has_training_ended",
    "training_has_ended",
]
