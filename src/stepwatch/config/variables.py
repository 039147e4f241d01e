"""The variables of the environment that say how Stepwatch behaves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import ConfigError

#: Set wherever SageMaker trains.
JOB_VARIABLE = "TRAINING_JOB_NAME"


def environment() -> Mapping[str, str]:
    """Return the environment of this process."""
    return os.environ


def is_in_sagemaker() -> bool:
    """Return whether SageMaker trains here; it notes by itself when a training has ended."""
    return JOB_VARIABLE in environment()


def let_cupti_go() -> None:
    """Ask NVIDIA's profiler to let go of the device after it was used: it slows what follows."""
    os.environ.setdefault("TEARDOWN_CUPTI", "1")


#: The rank of a process that a script started together with others, and how many there are.
RANK, SIZE = "STEPWATCH_RANK", "STEPWATCH_SIZE"


def set_rank(rank: int, size: int) -> None:
    """Note the rank of this process, which no launcher started, and how many there are."""
    os.environ.update({RANK: str(rank), SIZE: str(size)})


_RUN_OPTIONS = "STEPWATCH_RUN_OPTIONS"


def set_launched(rank: int, size: int, port: int) -> None:
    """Let this process look as if a launcher had started it, with others that meet at a port."""
    os.environ.update({
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    })  # fmt: skip


def leave_run_options(options: Sequence[str]) -> None:
    """Leave options of ``stepwatch run`` to the processes that a launcher will start."""
    os.environ[_RUN_OPTIONS] = json.dumps(list(options))


def take_run_options() -> list[str]:
    """Return the options that were left to this process, and leave them to no other.

    Raises:
        ConfigError: The variable holds something else.
    """
    text = os.environ.pop(_RUN_OPTIONS, "")
    try:
        found = json.loads(text or "[]")
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ConfigError(f"{_RUN_OPTIONS} is {text!r}; it is a JSON list of options")
    return found


def runs_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Return the folder in which runs lie: ``$STEPWATCH_RUNS``, else ``runs`` here."""
    variables = environment() if variables is None else variables
    return Path(variables.get("STEPWATCH_RUNS") or "runs")


def jobs_at_once(variables: Mapping[str, str] | None = None) -> int:
    """Return how many jobs may be under way at a time: half as many as there are cores.

    Raises:
        ConfigError: ``$STEPWATCH_JOBS_AT_ONCE`` says something else than a number above 0.
    """
    variables = environment() if variables is None else variables
    text = variables.get("STEPWATCH_JOBS_AT_ONCE")
    if not text:
        return max(1, (os.cpu_count() or 2) // 2)
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"STEPWATCH_JOBS_AT_ONCE is {text!r}; it must be a number above 0")
    return int(text)


def state_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Return the folder of what is kept between runs: ``$STEPWATCH_STATE``, else ``~/.stepwatch``.

    Raises:
        RuntimeError: There is no home.
    """
    variables = environment() if variables is None else variables
    return Path(variables.get("STEPWATCH_STATE") or Path.home() / ".stepwatch")


def jobs_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Return the folder in which jobs lie: ``$STEPWATCH_JOBS``, else ``~/.stepwatch/jobs``."""
    variables = environment() if variables is None else variables
    return Path(variables.get("STEPWATCH_JOBS") or Path.home() / ".stepwatch" / "jobs")


def server_token(variables: Mapping[str, str] | None = None) -> str:
    """Return the secret that clients of a server of ours share: ``$STEPWATCH_TOKEN``, or none."""
    variables = environment() if variables is None else variables
    return variables.get("STEPWATCH_TOKEN", "")
