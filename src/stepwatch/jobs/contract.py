"""What a training process is told, as in a training container of SageMaker: files and variables.

Where a container has ``/opt/ml``, a job has its own folder.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .place import Place
from .spec import JobSpec


def write_files(spec: JobSpec, place: Place) -> None:
    """Write what describes a job to its training into ``input/config``; link its channels."""
    files: dict[str, object] = {
        "hyperparameters": dict(spec.hyperparameters),
        "resourceconfig": _resources(spec, 0),
        "inputdataconfig": {name: {"TrainingInputMode": "File"} for name in spec.inputs},
        "checkpointconfig": {"LocalPath": str(place.root / "checkpoints")},
    }
    if spec.hook_config is not None:
        files["debughookconfig"] = {**spec.hook_config, "LocalPath": str(place.tensors)}
    if spec.tensorboard:
        files["tensorboardoutputconfig"] = {"LocalPath": str(place.tensorboard)}
    for name, content in files.items():
        (place.config / f"{name}.json").write_text(json.dumps(content, indent=1))
    for channel, folder in spec.inputs.items():
        link = place.root / "input" / "data" / channel
        if not link.is_symlink():
            link.symlink_to(Path(folder).resolve(), target_is_directory=True)


def free_port() -> int:
    """Return a port of this machine at which nobody listens, for processes to meet."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def variables(spec: JobSpec, place: Place, rank: int, port: int) -> dict[str, str]:
    """Return what is added to the environment of a training process.

    Args:
        spec: The job.
        place: Its folder.
        rank: Which of its processes.
        port: Where they meet.
    """
    root, config = place.root, place.config
    hosts = _hosts(spec)
    found: dict[str, Any] = {
        "SM_MODEL_DIR": root / "model",
        "SM_OUTPUT_DIR": root / "output",
        "SM_OUTPUT_DATA_DIR": root / "output" / "data",
        "SM_OUTPUT_FAILURE": place.failure,
        "SM_INPUT_DIR": root / "input",
        "SM_INPUT_CONFIG_DIR": config,
        "SM_CHECKPOINT_DIR": root / "checkpoints",
        "SM_CHANNELS": json.dumps(sorted(spec.inputs)),
        "SM_HPS": json.dumps(dict(spec.hyperparameters)),
        "SM_CURRENT_HOST": hosts[rank],
        "SM_HOSTS": json.dumps(hosts),
        "SM_HOST_COUNT": len(hosts),
        "SM_CURRENT_HOST_RANK": rank,
        "SM_RESOURCE_CONFIG": json.dumps(_resources(spec, rank)),
        "SM_INPUT_DATA_CONFIG": (config / "inputdataconfig.json").read_text(),
        "SM_NUM_CPUS": os.cpu_count() or 1,
        "SM_NUM_GPUS": 0,
        "SM_LOG_LEVEL": 20,
        "SM_USER_ARGS": json.dumps(command_line(spec)),
        "SM_MODULE_DIR": Path(spec.script).resolve().parent,
        "SM_MODULE_NAME": Path(spec.script).stem,
        "SM_ENTRY_SCRIPT": Path(spec.script).name,
        "SM_SOURCE_DIR": Path(spec.script).resolve().parent,
        "CHECKPOINT_CONFIG_FILE_PATH": config / "checkpointconfig.json",
        "TENSORBOARD_CONFIG_FILE_PATH": config / "tensorboardoutputconfig.json",
        "STEPWATCH_JOB": spec.name,
    }
    if spec.hook_config is not None:
        found["SMDEBUG_CONFIG_FILE_PATH"] = config / "debughookconfig.json"
    for channel in spec.inputs:
        found[f"SM_CHANNEL_{channel.upper()}"] = root / "input" / "data" / channel
    for key, value in spec.hyperparameters.items():
        # One toolkit keeps the dash, another writes an underscore.
        found[f"SM_HP_{key.upper()}"] = found[f"SM_HP_{key.upper().replace('-', '_')}"] = value
    if spec.processes > 1:
        found |= {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": spec.processes,
            "LOCAL_WORLD_SIZE": spec.processes,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
    return {**{key: str(value) for key, value in found.items()}, **spec.environment}


def command_line(spec: JobSpec) -> list[str]:
    """Return the arguments of the program, hyperparameters first.

    Example:
        >>> command_line(JobSpec("j", "t.py", ("--fast",), {"lr": "0.1"}))
        ['--lr', '0.1', '--fast']
    """
    given: Mapping[str, str] = spec.hyperparameters
    return [*(part for key in given for part in (f"--{key}", given[key])), *spec.arguments]


def _hosts(spec: JobSpec) -> list[str]:
    return [f"algo-{rank + 1}" for rank in range(spec.processes)]


def _resources(spec: JobSpec, rank: int) -> dict[str, object]:
    hosts = _hosts(spec)
    return {"current_host": hosts[rank], "hosts": hosts, "network_interface_name": "lo"}
