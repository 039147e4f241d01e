"""Trials: views of runs."""

from __future__ import annotations

from .local_trial import LocalTrial
from .s3_trial import S3Trial
from .trial import Trial
from .utils import create_trial

__all__ = ["LocalTrial", "S3Trial", "Trial", "create_trial"]
