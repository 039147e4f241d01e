"""Where the files of a run and of a profile lie, and where in them a tensor does."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from typing import Any, ClassVar

from ..profiler.profiler_constants import (
    CONVERT_TO_MICROSECS,
    DEFAULT_PREFIX,
    MERGEDTIMELINE_SUFFIX,
    PYTHONTIMELINE_SUFFIX,
    TRACE_DIRECTORY_FORMAT,
)
from .modes import ModeKeys
from .utils import ensure_dir, get_immediate_subdirectories, get_node_id

STEP_NUMBER_FORMATTING_LENGTH = "012"


class TensorLocation:
    """Where the value of a tensor at a step lies.

    Args:
        tname: The tensor.
        mode: Its mode, or the name of that.
        mode_step: The step, as the mode counts it.
        event_file_name: The file.
        start_idx: The first byte of the record in it.
        length: How many bytes the record has.
        worker: Who wrote it.
    """

    def __init__(
        self,
        tname: str,
        mode: ModeKeys | str,
        mode_step: int,
        event_file_name: str,
        start_idx: int,
        length: int,
        worker: str,
    ) -> None:
        self.tensorname = tname
        self.mode = mode
        self.mode_step = int(mode_step)
        self.event_file_name = event_file_name
        self.start_idx = start_idx
        self.length = length
        self.worker = worker

    def to_dict(self) -> dict[str, Any]:
        """Return what an index file says of it."""
        return {"tensorname": self.tensorname, "start_idx": self.start_idx, "length": self.length}


class TensorShape:
    """The shape of a tensor at a step, where that was saved by itself.

    Args:
        name: The tensor.
        mode: Its mode, or the name of that.
        mode_step: The step, as the mode counts it.
        shape: The shape.
        original_name: What the framework calls it; the same name by default.
    """

    def __init__(
        self,
        name: str,
        mode: ModeKeys | str,
        mode_step: int | None,
        shape: Iterable[int],
        original_name: str | None = None,
    ) -> None:
        self.name = name
        self.original_name = name if original_name is None else original_name
        self.mode = mode
        self.mode_step = mode_step
        self.shape = tuple(shape)

    def to_dict(self) -> dict[str, Any]:
        """Return what an index file says of it."""
        return {"tensorname": self.name, "originalname": self.original_name, "shape": self.shape}


class EventFileLocation:
    """The place of a file of one step and worker; see the classes below.

    Args:
        step_num: The global step.
        worker_name: The worker, as file names have it.
    """

    type: str | None = None

    def __init__(self, step_num: int | str, worker_name: str) -> None:
        self.step_num = int(step_num)
        self.worker_name = worker_name

    def get_step_num_str(self) -> str:
        """Return the step as file names have it."""
        return format(self.step_num, STEP_NUMBER_FORMATTING_LENGTH)

    def get_filename(self) -> str:
        """Return the name of the file."""
        return f"{self.get_step_num_str()}_{self.worker_name}.tfevents"

    @classmethod
    def load_filename(cls, s: str, print_error: bool = True) -> Any:
        """Return the place of a file by its name; ``None`` for a file of another kind."""
        del print_error
        match = re.search("(.*)_(.*).tfevents$", os.path.basename(s))
        return cls(step_num=match[1], worker_name=match[2]) if match else None

    @classmethod
    def match_regex(cls, s: str) -> Any:
        """Do what ``load_filename`` does."""
        return cls.load_filename(s)


class TensorFileLocation(EventFileLocation):
    """The place of a file with tensors."""

    type = "events"

    @staticmethod
    def get_dir(trial_dir: str) -> str:
        """Return the folder of all of a run."""
        return os.path.join(trial_dir, "events")

    def get_file_location(self, trial_dir: str = "") -> str:
        """Return the path; within the run if none is given."""
        folder = self.get_dir(trial_dir) if trial_dir else "events"
        return os.path.join(folder, self.get_step_num_str(), self.get_filename())

    @classmethod
    def get_step_dirs(cls, trial_dir: str) -> list[str]:
        """Return the names of the folders of steps in a run on this machine."""
        return get_immediate_subdirectories(cls.get_dir(trial_dir))

    @classmethod
    def get_step_dir_path(cls, trial_dir: str, step_num: int | str) -> str:
        """Return the folder of a step."""
        step = format(int(step_num), STEP_NUMBER_FORMATTING_LENGTH)
        return os.path.join(cls.get_dir(trial_dir), step)


class TensorboardFileLocation(EventFileLocation):
    """The place of a file for TensorBoard.

    Args:
        step_num: The global step.
        worker_name: Of the process; see ``smdebug.core.utils.get_tb_worker``.
        mode: Of the step.
    """

    type = "tensorboard"

    def __init__(
        self, step_num: int | str, worker_name: str, mode: ModeKeys = ModeKeys.GLOBAL
    ) -> None:
        super().__init__(step_num, worker_name)
        self.mode = mode

    def get_file_location(self, base_dir: str = "") -> str:
        """Return the path; within the run if none is given."""
        return os.path.join(base_dir or "tensorboard", self.mode.name, self.get_filename())


class TraceFileLocation:
    """Places of the files of a profile; times are in microseconds since the Unix epoch."""

    @staticmethod
    def get_file_location(
        timestamp: float, base_dir: str, suffix: str = PYTHONTIMELINE_SUFFIX
    ) -> str:
        """Return the path of events that ended at a time."""
        hour = time.strftime(TRACE_DIRECTORY_FORMAT, time.gmtime(timestamp / CONVERT_TO_MICROSECS))
        name = f"{round(timestamp)}_{get_node_id()}_{suffix}"
        return os.path.join(base_dir, f"{DEFAULT_PREFIX}/{hour}/{name}")

    @staticmethod
    def get_detailed_profiling_log_dir(base_folder: str, framework: str, current_step: int) -> str:
        """Make and return the folder of a framework's own profile that begins at a step."""
        hour, step = time.strftime(TRACE_DIRECTORY_FORMAT), str(current_step).zfill(9)
        parts = ("framework", framework, "detailed_profiling", hour, step)
        return _made(os.path.join(base_folder, *parts), is_file=False)

    @staticmethod
    def get_tf_profiling_metadata_file(
        base_folder: str, start_time_us: float, end_time_us: float
    ) -> str:
        """Return the path of what says when a profile of TensorFlow began and ended."""
        name = f"{get_node_id()}_{round(start_time_us)}_{round(end_time_us)}.metadata"
        return _made(os.path.join(base_folder, name), is_file=True)

    @staticmethod
    def get_python_profiling_stats_dir(
        base_folder: str,
        profiler_name: str,
        framework: str,
        start_mode: str,
        start_step: int | str,
        start_phase: str,
        start_time_since_epoch_in_micros: float,
        end_mode: str,
        end_step: int | str,
        end_phase: str,
        end_time_since_epoch_in_micros: float,
    ) -> str:
        """Make and return the folder of a profile of Python, by its first and its last moment."""
        start = (start_mode, start_step, start_phase, start_time_since_epoch_in_micros)
        end = (end_mode, end_step, end_phase, end_time_since_epoch_in_micros)
        moments = "_".join("-".join(map(str, moment)) for moment in (start, end))
        parts = ("framework", framework, profiler_name, get_node_id(), moments)
        return _made(os.path.join(base_folder, *parts), is_file=False)

    @staticmethod
    def get_merged_trace_file_location(base_dir: str, timestamp_in_us: float) -> str:
        """Return the path of a timeline that several were merged to."""
        name = f"{round(timestamp_in_us)}_{get_node_id()}_{MERGEDTIMELINE_SUFFIX}"
        return os.path.join(base_dir, name)


class IndexFileLocationUtils:
    """Places of index files: a folder holds those of a thousand steps."""

    MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX: ClassVar[int] = 1000

    @classmethod
    def get_index_prefix_for_step(cls, step_num: int) -> str:
        """Return the name of the folder of a step.

        Example:
            >>> IndexFileLocationUtils.get_index_prefix_for_step(2500)
            '000000002'
        """
        return format(step_num // cls.MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX, "09")

    @classmethod
    def next_index_prefix_for_step(cls, step_num: int) -> str:
        """Return the name of the folder behind that of a step."""
        return cls.get_index_prefix_for_step(step_num + cls.MAX_INDEX_FILE_NUM_IN_INDEX_PREFIX)

    @classmethod
    def get_index_key_for_step(cls, trial_prefix: str, step_num: int, worker_name: str) -> str:
        """Return the path of the index of a step of a worker."""
        name = f"{step_num:{STEP_NUMBER_FORMATTING_LENGTH}}_{worker_name}.json"
        folder = cls.get_index_prefix_for_step(step_num)
        return os.path.join(cls.get_index_path(trial_prefix), folder, name)

    @staticmethod
    def get_step_from_idx_filename(index_file_name: str) -> int:
        """Return the step that stands between the first two underscores of a name."""
        return int(index_file_name.split("_")[1])

    @staticmethod
    def parse_step_from_index_file_name(index_file_name: str) -> int:
        """Return the step of an index or event file, by its path."""
        return int(os.path.basename(index_file_name).split("_")[0])

    @staticmethod
    def get_index_path(path: str) -> str:
        """Return the folder of all index files of a run."""
        return os.path.join(path, "index")

    @staticmethod
    def get_prefix_from_index_file(index_file: str) -> str:
        """Return the run that an index file belongs to.

        Example:
            >>> IndexFileLocationUtils.get_prefix_from_index_file("run/index/000000000/1_w.json")
            'run'
        """
        return index_file[: index_file.rindex("/index/")]


def _made(path: str, *, is_file: bool) -> str:
    ensure_dir(path, is_file=is_file)
    return path
