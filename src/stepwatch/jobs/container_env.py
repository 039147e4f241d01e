"""The files and variables that a training container of SageMaker has, for a training process.

Where a container has ``/opt/ml``, a job has its own folder, which is also mounted there for the
process alone: Linux lets a process have mounts of its own, root at once, others in a user namespace
of their own.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..store.local import LocalStore
from .paths import JobPaths
from .spec import JobSpec

# Of each there is a folder here, where NVIDIA's driver is loaded.
_GPUS = Path("/proc/driver/nvidia/gpus")


def write_files(spec: JobSpec, paths: JobPaths) -> None:
    """Write what describes a job to its training into ``input/config``."""
    given = spec.request.get("HyperParameters", spec.hyperparameters)
    files: dict[str, object] = {
        # Values are texts in this file, whatever they are on the command line.
        "hyperparameters": {key: _text(value) for key, value in given.items()},
        "resourceconfig": _resources(spec, 0),
        "inputdataconfig": {name: {"TrainingInputMode": "File"} for name in spec.inputs},
        "checkpointconfig": {"LocalPath": str(paths.checkpoints)},
    }
    if spec.hook is not None:
        files["debughookconfig"] = {**spec.hook, "LocalPath": str(paths.tensors)}
    if spec.tensorboard is not None:
        files["tensorboardoutputconfig"] = {"LocalPath": str(paths.tensorboard)}
    if spec.profiler is not None:
        files["profilerconfig"] = dict(spec.profiler)
    for name, content in files.items():
        write_file(paths, name, content)


def write_file(paths: JobPaths, name: str, content: object) -> None:
    """Write one of these files; a reader gets the old one or the new one."""
    LocalStore(paths.config).put(f"{name}.json", json.dumps(content, indent=1).encode())


def variables(spec: JobSpec, paths: JobPaths, rank: int, port: int) -> dict[str, str]:
    """Return what is added to the environment of a training process, whose peers are at a port."""
    root, config, script = paths.root, paths.config, paths.script(spec)
    hosts, channels = _hosts(spec), _channels(spec, rank)
    found: dict[str, Any] = {
        "SM_MODEL_DIR": paths.model,
        "SM_OUTPUT_DIR": root / "output",
        "SM_OUTPUT_DATA_DIR": paths.output_data,
        "SM_OUTPUT_FAILURE": paths.failure,
        "SM_INPUT_DIR": root / "input",
        "SM_INPUT_CONFIG_DIR": config,
        "SM_CHECKPOINT_DIR": paths.checkpoints,
        "SM_CHANNELS": json.dumps(sorted(channels)),
        "SM_HPS": json.dumps(dict(spec.hyperparameters)),
        "SM_CURRENT_HOST": hosts[rank],
        "SM_HOSTS": json.dumps(hosts),
        "SM_HOST_COUNT": len(hosts),
        "SM_CURRENT_HOST_RANK": rank,
        "SM_RESOURCE_CONFIG": json.dumps(_resources(spec, rank)),
        "SM_INPUT_DATA_CONFIG": (config / "inputdataconfig.json").read_text(),
        "SM_NUM_CPUS": os.cpu_count() or 1,
        "SM_NUM_GPUS": len(list(_GPUS.glob("*"))),
        "SM_NUM_NEURONS": 0,
        "SM_NETWORK_INTERFACE_NAME": "lo",
        "SM_MASTER_ADDR": "127.0.0.1",
        "SM_MASTER_PORT": port,
        "SM_LOG_LEVEL": 20,
        "SM_USER_ARGS": json.dumps(command_line(spec)),
        "SM_MODULE_DIR": script.parent,
        "SM_MODULE_NAME": script.stem,
        "SM_ENTRY_SCRIPT": script.name,
        "SM_SOURCE_DIR": script.parent,
        "SAGEMAKER_METRICS_DIRECTORY": root / "output" / "metrics" / "sagemaker",
        "CHECKPOINT_CONFIG_FILE_PATH": config / "checkpointconfig.json",
        "TENSORBOARD_CONFIG_FILE_PATH": config / "tensorboardoutputconfig.json",
        "STEPWATCH_JOB": spec.name,
    }
    if spec.hook is not None:
        found["SMDEBUG_CONFIG_FILE_PATH"] = config / "debughookconfig.json"
    if spec.profiler is not None:
        found["SMPROFILER_CONFIG_PATH"] = config / "profilerconfig.json"
    found |= _group_variables(spec, rank)
    for channel in channels:
        found[f"SM_CHANNEL_{channel.upper()}"] = root / "input" / "data" / channel
    for key, value in spec.hyperparameters.items():
        # One toolkit keeps the dash, another writes an underscore.
        name = f"SM_HP_{key.upper()}"
        found[name] = found[name.replace("-", "_")] = _text(value)
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
        >>> command_line(JobSpec("j", "t.py", ("--fast",), hyperparameters={"lr": 0.1, "b": "8"}))
        ['--lr', '0.1', '-b', '8', '--fast']
    """
    given = spec.hyperparameters
    names = {key: f"--{key}" if len(key) > 1 else f"-{key}" for key in given}
    return [*(part for key in given for part in (names[key], str(given[key]))), *spec.arguments]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _hosts(spec: JobSpec) -> list[str]:
    return [f"algo-{rank + 1}" for rank in range(spec.processes)]


def _resources(spec: JobSpec, rank: int) -> dict[str, object]:
    hosts = _hosts(spec)
    found: dict[str, object] = {
        "current_host": hosts[rank],
        "hosts": hosts,
        "network_interface_name": "lo",
    }
    if groups := _groups(spec):
        mine = _group_of(groups, hosts[rank])
        found |= {
            "current_group_name": mine["instance_group_name"],
            "current_instance_type": mine["instance_type"],
            "instance_groups": groups,
        }
    return found


def _groups(spec: JobSpec) -> list[dict[str, Any]]:
    """Return the instance groups that a client asked for, with their hosts in order."""
    asked = spec.request.get("ResourceConfig", {}).get("InstanceGroups") or ()
    hosts = iter(_hosts(spec))
    return [
        {
            "instance_group_name": group["InstanceGroupName"],
            "instance_type": group["InstanceType"],
            "hosts": list(islice(hosts, group["InstanceCount"])),
        }
        for group in asked
    ]


def _group_of(groups: Sequence[dict[str, Any]], host: str) -> dict[str, Any]:
    return next(group for group in groups if host in group["hosts"])


def _group_variables(spec: JobSpec, rank: int) -> dict[str, Any]:
    """Return what tells a process of its instance group; a job without any has none."""
    groups = _groups(spec)
    if not groups:
        return {}
    mine = _group_of(groups, _hosts(spec)[rank])
    return {
        "SM_IS_HETERO": "true",
        "SM_CURRENT_INSTANCE_TYPE": mine["instance_type"],
        "SM_CURRENT_INSTANCE_GROUP": mine["instance_group_name"],
        "SM_CURRENT_INSTANCE_GROUP_HOSTS": json.dumps(mine["hosts"]),
        "SM_INSTANCE_GROUPS": json.dumps([group["instance_group_name"] for group in groups]),
        "SM_INSTANCE_GROUPS_DICT": json.dumps({one["instance_group_name"]: one for one in groups}),
    }


def _channels(spec: JobSpec, rank: int) -> list[str]:
    """Return the channels of a process: all but those of other instance groups."""
    groups = _groups(spec)
    mine = _group_of(groups, _hosts(spec)[rank])["instance_group_name"] if groups else ""
    found = []
    asked = {one["ChannelName"]: one for one in spec.request.get("InputDataConfig") or ()}
    for name in spec.inputs:
        source = asked.get(name, {}).get("DataSource", {}).get("S3DataSource") or {}
        only = source.get("InstanceGroupNames")
        if not only or mine in only:
            found.append(name)
    return found


_MOUNTS, _USERS = 0x0002_0000, 0x1000_0000  # CLONE_NEWNS, CLONE_NEWUSER
_BIND, _SLAVE = 0x1000 | 0x4000, 0x8_0000 | 0x4000  # MS_BIND, MS_SLAVE, each with MS_REC


def bind_mount(folder: Path, at: Path) -> Callable[[], None]:
    """Return what a new process calls to find a folder also at ``at``, an empty folder.

    Where that cannot be done the process writes one line, and goes on.
    """
    libc = ctypes.CDLL(None, use_errno=True)  # now, not after a fork

    def do() -> None:
        user, group = os.getuid(), os.getgid()
        try:
            if libc.unshare(_MOUNTS):
                _check_mount(libc.unshare(_MOUNTS | _USERS))
                _write_id_map("setgroups", "deny")
                _write_id_map("uid_map", f"{user} {user} 1")
                _write_id_map("gid_map", f"{group} {group} 1")
            _check_mount(libc.mount(None, b"/", None, ctypes.c_ulong(_SLAVE), None))
            _check_mount(libc.mount(bytes(folder), bytes(at), None, ctypes.c_ulong(_BIND), None))
        except OSError as error:
            os.write(
                2, f"stepwatch: {at} is not the job's folder here: {error.strerror}\n".encode()
            )

    return do


def _check_mount(status: int) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write_id_map(name: str, text: str) -> None:
    Path("/proc/self", name).write_text(text)
