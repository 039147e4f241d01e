"""The variables of the environment that say how Stepwatch behaves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: Set wherever SageMaker trains.
JOB_VARIABLE = "TRAINING_JOB_NAME"


def environment() -> Mapping[str, str]:
    """Return the environment of this process."""
    return os.environ


def is_in_sagemaker() -> bool:
    """Return whether SageMaker trains here; it notes by itself when a training has ended."""
    return JOB_VARIABLE in environment()


def runs_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Return the folder in which runs lie: ``$STEPWATCH_RUNS``, else ``runs`` here."""
    variables = environment() if variables is None else variables
    return Path(variables.get("STEPWATCH_RUNS") or "runs")


def jobs_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Return the folder in which jobs lie: ``$STEPWATCH_JOBS``, else ``~/.stepwatch/jobs``."""
    variables = environment() if variables is None else variables
    return Path(variables.get("STEPWATCH_JOBS") or Path.home() / ".stepwatch" / "jobs")
