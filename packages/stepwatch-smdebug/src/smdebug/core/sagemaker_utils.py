"""Whether this process trains on SageMaker."""

from __future__ import annotations

from . import environment


def is_sagemaker_job() -> bool:
    """Return whether SageMaker started this process."""
    return environment.text(environment.JOB_NAME) is not None
