"""Small functions under the names that notebooks import."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwatch.formats.manifest import worker_from_key
from stepwatch.formats.smdebug.layout import CLAIM_KEY, COLLECTIONS

from ..exceptions import (
    IndexReaderException,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from . import environment
from .config_constants import (
    CONFIG_FILE_PATH_ENV_STR,
    DEFAULT_SAGEMAKER_OUTDIR,
    DEFAULT_SAGEMAKER_TENSORBOARD_PATH,
    TENSORBOARD_CONFIG_FILE_PATH_ENV_STR,
)
from .error_handling_agent import ErrorHandlingAgent

__all__ = [
    "FRAMEWORK",
    "SagemakerSimulator",
    "ScriptSimulator",
    "check_smdataparallel_env",
    "check_smmodelparallel_training",
    "deserialize_tf_device",
    "ensure_dir",
    "error_handling_agent",
    "flatten",
    "get_aws_region_from_processing_job_arn",
    "get_distributed_worker",
    "get_immediate_subdirectories",
    "get_node_id",
    "get_path_to_collections",
    "get_path_to_events_directory",
    "get_region",
    "get_relative_event_file_path",
    "get_tb_worker",
    "get_worker_name_from_collection_file",
    "index",
    "is_first_process",
    "is_framework_version_supported",
    "is_s3",
    "list_collection_files_in_directory",
    "list_files_in_directory",
    "load_json_as_dict",
    "make_numpy_array",
    "match_inc",
    "merge_two_dicts",
    "parse_worker_name_from_file",
    "remove_claim_file",
    "remove_file_if_exists",
    "serialize_tf_device",
    "setup_profiler_report",
    "size_and_shape",
    "split",
    "step_in_range",
    "validate_custom_tensor_value",
]

error_handling_agent = ErrorHandlingAgent.get_error_handling_agent()


class FRAMEWORK(Enum):
    """The frameworks that have a hook."""

    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"


def is_framework_version_supported(framework_type: FRAMEWORK) -> bool:
    """Return whether there is a hook for a framework as it is installed: all versions have one.

    Raises:
        SMDebugNotImplementedError: It is none of the frameworks.
    """
    if not isinstance(framework_type, FRAMEWORK):
        raise SMDebugNotImplementedError(f"{framework_type!r} is no framework that has a hook")
    return True


def ensure_dir(file_path: str, is_file: bool = True) -> None:
    """Make the folder of a file, or the folder itself, unless it is there."""
    folder = os.path.dirname(file_path) if is_file else file_path
    if folder:
        os.makedirs(folder, exist_ok=True)


def flatten(lis: Iterable[Any]) -> list[Any]:
    """Return what nested lists, tuples and sets hold, in order.

    Example:
        >>> flatten([1, [2, (3,)]])
        [1, 2, 3]
    """
    found: list[Any] = []
    for item in lis:
        if isinstance(item, list | tuple | set):
            found.extend(flatten(item))
        else:
            found.append(item)
    return found


def get_region() -> str | None:
    """Return the AWS region of the environment; ``None`` if it names none."""
    return environment.text(environment.REGION)


def is_s3(path: str) -> tuple[bool, str | None, str | None]:
    """Return whether a path lies on S3, and then its bucket and its prefix.

    Example:
        >>> is_s3("s3://bucket/a/b"), is_s3("s3://bucket"), is_s3("/tmp/run")
        ((True, 'bucket', 'a/b'), (True, 'bucket', ''), (False, None, None))
    """
    match = re.fullmatch(r"[sS]3://([^/]*)/?(.*)", path, re.DOTALL)
    return (True, match[1], match[2]) if match else (False, None, None)


def load_json_as_dict(s: str | dict[str, Any] | None) -> Any:
    """Return what a text of JSON holds; a dict as it is, and ``None`` for none.

    Raises:
        SMDebugValueError: Something else.
    """
    if s is None or s == "None":
        return None
    if isinstance(s, str):
        return json.loads(s)
    if isinstance(s, dict):
        return s
    raise SMDebugValueError(f"a text of JSON or a dict is needed, got {s!r}")


def make_numpy_array(x: object) -> npt.NDArray[Any]:
    """Return an array of an array, a number, a text, a list or a tuple; single ones get ``(1,)``.

    A dict becomes an array of objects without an axis, which no hook saves.

    Raises:
        SMDebugTypeError: Something else.
    """
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, np.generic | bool | int | float | complex | str):
        return np.array([x])
    if isinstance(x, list | tuple):
        return np.asarray(x)
    if isinstance(x, dict):
        return np.array(x)
    raise SMDebugTypeError(f"an array, a number, a text or a list is needed, got {type(x)}")


def match_inc(tname: str, include: Iterable[str]) -> bool:
    """Return whether one of some regular expressions finds something in a name."""
    return any(re.search(pattern, tname) for pattern in include)


def merge_two_dicts(x: Mapping[Any, Any] | None, y: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return both; what the second says counts."""
    return {**(x or {}), **(y or {})}


def split(comma_separated_string: str) -> list[str]:
    """Return what stands between commas, without the space around it.

    Example:
        >>> split("a, b,c")
        ['a', 'b', 'c']
    """
    return [part.strip() for part in comma_separated_string.split(",")]


def step_in_range(range_steps: tuple[int | None, int | None] | None, step: int) -> bool:
    """Return whether a step lies in ``(first, end)``, of which the end is out and either open."""
    first, end = range_steps or (None, None)
    return (first is None or step >= int(first)) and (end is None or step < int(end))


def index(sorted_list: Sequence[Any], elem: Any) -> int:
    """Return where an element stands in an ascending list.

    Raises:
        SMDebugValueError: It does not stand there.
    """
    at = bisect_left(sorted_list, elem)
    if at == len(sorted_list) or sorted_list[at] != elem:
        raise SMDebugValueError(f"{elem!r} is not in the list")
    return at


def size_and_shape(t: Any) -> tuple[int, Any]:
    """Return how many bytes an array has, and its shape; of a text, how long it is."""
    if isinstance(t, bytes | str):
        return len(t), [len(t)]
    return t.nbytes, t.shape


def validate_custom_tensor_value(tensor_value: Any, make_numpy_fn: Callable[[Any], Any]) -> bool:
    """Return whether a function makes an array of a value, and no ``TypeError``."""
    try:
        make_numpy_fn(tensor_value)
    except TypeError:
        return False
    return True


def get_immediate_subdirectories(a_dir: str) -> list[str]:
    """Return the names of the folders in a folder."""
    return [entry.name for entry in os.scandir(a_dir) if entry.is_dir()]


def list_files_in_directory(directory: str, file_regex: str | None = None) -> list[str]:
    """Return the paths of all files below a folder whose names a regular expression matches."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(directory)
        for name in names
        if file_regex is None or re.match(file_regex, name)
    ]


def list_collection_files_in_directory(directory: str) -> list[str]:
    """Return the paths of all collections files below a folder."""
    return list_files_in_directory(directory, r".*_?collections.json$")


def remove_file_if_exists(file_path: str) -> None:
    """Remove a file, if there is one."""
    Path(file_path).unlink(missing_ok=True)


def get_path_to_collections(directory: str) -> str:
    """Return the folder of the collections of a run, with ``/`` at its end."""
    return os.path.join(directory, COLLECTIONS, f"{0:09d}", "")


def get_path_to_events_directory(path: str) -> str:
    """Return the folder of the event files of a run, with ``/`` at its end."""
    return os.path.join(path, "events", "")


def get_relative_event_file_path(path: str) -> str:
    """Return the path of an event file within its run.

    Raises:
        SMDebugRuntimeError: It does not lie where such files do.
    """
    parts = Path(path).parts[-3:]
    if parts[0] not in ("events", "tensorboard"):
        raise SMDebugRuntimeError(f"{path} lies in neither 'events' nor 'tensorboard'")
    return os.path.join(*parts)


def serialize_tf_device(device: str) -> str:
    """Return the name of a device as file names have it.

    Example:
        >>> serialize_tf_device("/replica:0/task:1/device:GPU:0")
        '_replica-0_task-1_device-GPU-0'
    """
    return device.replace("/", "_").replace(":", "-")


def deserialize_tf_device(device_name: str) -> str:
    """Return the name of a device that file names have."""
    return device_name.replace("_", "/").replace("-", ":")


def get_worker_name_from_collection_file(filename: str) -> str:
    """Return the worker of a collections file, by its path.

    Example:
        >>> get_worker_name_from_collection_file("r/collections/0/worker_0_collections.json")
        'worker_0'
    """
    match = re.match(r".*/collections/.+/(.+)_collections.(json|ts)", filename)
    if match is None:
        raise SMDebugValueError(f"{filename} is no collections file")
    return worker_from_key(match[1])


def parse_worker_name_from_file(filename: str) -> str:
    """Return the worker of an index or event file, by its path.

    Raises:
        IndexReaderException: It is neither.
    """
    match = re.match(r".+/\d+_(.+)\.(json|csv|tfevents)$", filename)
    if match is None:
        raise IndexReaderException(f"{filename} is neither an index nor an event file")
    return worker_from_key(match[1])


def is_first_process(path: str, is_dir: bool = True) -> bool:
    """Return whether this call is the first to claim a run, by a file that it makes.

    On S3 every call is.

    Args:
        path: The run; with ``is_dir=False`` the file.
        is_dir: Whether the file lies in ``path``.
    """
    if is_s3(path)[0]:
        return True
    ensure_dir(path, is_file=not is_dir)
    try:
        os.close(os.open(_claim(path) if is_dir else path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def remove_claim_file(path: str) -> None:
    """Remove what ``is_first_process`` made, if it is there."""
    if not is_s3(path)[0]:
        remove_file_if_exists(_claim(path))


def _claim(path: str) -> str:
    return os.path.join(path, CLAIM_KEY)


def get_distributed_worker() -> int | None:
    """Return the rank of this process; ``None`` where it trains alone."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    horovod = next((sys.modules[name] for name in _HOROVOD if name in sys.modules), None)
    if horovod is None:
        return None
    try:
        return int(horovod.rank()) if horovod.size() else None
    except ValueError:  # not begun
        return None


_HOROVOD = ("horovod.torch", "horovod.tensorflow", "horovod.tensorflow.keras")


def get_node_id() -> str:
    """Return the rank, or the number of the process, and the machine: ``0-algo-1``."""
    from .json_config import get_node_id_from_resource_config  # which is made of this module

    rank = get_distributed_worker()
    machine = get_node_id_from_resource_config() or socket.gethostname()
    return f"{os.getpid() if rank is None else rank}-{machine}".replace("_", "-")


def get_tb_worker() -> str:
    """Return what names this process in files for TensorBoard."""
    return f"{os.getpid()}_{socket.gethostname()}"


def check_smdataparallel_env() -> bool:
    """Return whether SageMaker's library for data parallel training runs this process."""
    size = environment.text("OMPI_COMM_WORLD_SIZE") or "0"
    parameters = _json_variable("SM_FRAMEWORK_PARAMS")
    wanted = bool(parameters.get("sagemaker_distributed_dataparallel_enabled", False))
    return wanted and size.isdecimal() and int(size) >= _PROCESSES_OF_A_MACHINE


def check_smmodelparallel_training() -> bool:
    """Return whether SageMaker's library for model parallel training runs this process."""
    parameters = _json_variable("SM_HPS").get("mp_parameters", {})
    return any(key in parameters for key in ("pipeline_parallel_degree", "partitions"))


_PROCESSES_OF_A_MACHINE = 8


def _json_variable(name: str) -> dict[str, Any]:
    try:
        found = json.loads(environment.text(name) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def get_aws_region_from_processing_job_arn(processing_job_arn: str) -> str:
    """Return the region that the ARN of a job names."""
    return processing_job_arn.split(":")[3]


def setup_profiler_report(processing_job_arn: str | None, opt_out: bool = False) -> None:
    """Do nothing: smdebug told AWS of every report that was made; nothing is told here."""
    del processing_job_arn, opt_out


class SagemakerSimulator:
    """Sets the variables and writes the configurations of a job of SageMaker, while it is open.

    Args:
        json_config_path: Where the configuration of the hook is written.
        tensorboard_dir: Where its TensorBoard files go.
        training_job_name: The name of the job.
        json_file_contents: The configuration of the hook.
        cleanup: Whether the folder of its tensors is removed before, and the rest after it.
    """

    def __init__(
        self,
        json_config_path: str = "/tmp/zcc_config.json",
        tensorboard_dir: str = "/tmp/tensorboard",
        training_job_name: str = "sm_job",
        json_file_contents: str = "{}",
        cleanup: bool = True,
    ) -> None:
        self.out_dir = DEFAULT_SAGEMAKER_OUTDIR
        self.json_config_path = json_config_path
        self.tb_json_config_path = DEFAULT_SAGEMAKER_TENSORBOARD_PATH
        self.tensorboard_dir = tensorboard_dir
        self.training_job_name = training_job_name
        self.json_file_contents = json_file_contents
        self.cleanup = cleanup

    def __enter__(self) -> SagemakerSimulator:
        if self.cleanup:
            shutil.rmtree(self.out_dir, ignore_errors=True)
        for path, text in (
            (self.json_config_path, self.json_file_contents),
            (self.tb_json_config_path, json.dumps({"LocalPath": self.tensorboard_dir})),
        ):
            ensure_dir(path)
            Path(path).write_text(text)
        os.environ.update(self._variables())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.cleanup:
            remove_file_if_exists(self.json_config_path)
            remove_file_if_exists(self.tb_json_config_path)
            for name in self._variables():
                os.environ.pop(name, None)

    def _variables(self) -> dict[str, str]:
        return {
            CONFIG_FILE_PATH_ENV_STR: self.json_config_path,
            TENSORBOARD_CONFIG_FILE_PATH_ENV_STR: self.tb_json_config_path,
            environment.JOB_NAME: self.training_job_name,
        }


class ScriptSimulator:
    """Removes the folders of a script, before and after it.

    Args:
        out_dir: Of its tensors.
        tensorboard_dir: Of its TensorBoard files.
    """

    def __init__(
        self,
        out_dir: str = "/tmp/test",
        tensorboard_dir: str | None = None,
    ) -> None:
        self.out_dir = out_dir
        self.tensorboard_dir = tensorboard_dir

    def __enter__(self) -> ScriptSimulator:
        self._remove()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        for folder in filter(None, (self.out_dir, self.tensorboard_dir)):
            shutil.rmtree(folder, ignore_errors=True)
