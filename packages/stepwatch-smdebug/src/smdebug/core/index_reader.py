"""Reads index files, and the values that they name."""

from __future__ import annotations

import json
import os
import time
from bisect import bisect_left
from typing import Any

import numpy.typing as npt

from stepwatch.store import open_store

from ..exceptions import IndexReaderException, TensorUnavailableForStep
from . import environment
from .access_layer.s3handler import ReadObjectRequest, S3Handler
from .access_layer.utils import has_training_ended
from .config_constants import MISSING_EVENT_FILE_RETRY_LIMIT
from .locations import IndexFileLocationUtils, TensorLocation, TensorShape
from .logger import get_logger
from .modes import ModeKeys
from .s3_utils import list_s3_objects
from .tfevent.event_file_reader import read_records
from .utils import (
    get_path_to_events_directory,
    is_s3,
    list_files_in_directory,
    parse_worker_name_from_file,
    step_in_range,
)

#: Of each tensor, by global step and worker: ``tensor_location`` or ``tensor_shape``.
TensorData = dict[str, dict[int, dict[str, dict[str, TensorLocation | TensorShape]]]]
Span = tuple[int | None, int | None]
Files = tuple[list[bytes], list[int], str | None, list[str]]

_POLL_S = 2.0


class ReadIndexFilesCache:
    """The index files that were read: a soft limit of a thousand, but none that may come again."""

    def __init__(self) -> None:
        self.lookup_set: set[str] = set()
        self.cache_limit = 1000

    def has_not_read(self, index_file: str) -> bool:
        """Return whether a file was not read."""
        return index_file not in self.lookup_set

    def add(self, index_file: str, start_after_key: str | None) -> None:
        """Note a file; forget those before the key behind which the next listing begins."""
        if len(self.lookup_set) > self.cache_limit:
            self.lookup_set = {one for one in self.lookup_set if one >= (start_after_key or "")}
        self.lookup_set.add(index_file)


class IndexReader:
    """Reads the index files of a run; see the classes below.

    Args:
        path: The run, a folder or a URL.
    """

    def __init__(self, path: str) -> None:
        limit = environment.integer(environment.MISSING_FILE_LIMIT)
        self.event_file_retry_limit = MISSING_EVENT_FILE_RETRY_LIMIT if limit is None else limit
        self.path = path
        self.logger = get_logger()
        self.index_file_cache = ReadIndexFilesCache()

    def list_event_files(self, start_after_key: str | None = None) -> list[str]:
        """Return the event files of the run from a key on, ascending."""
        raise NotImplementedError

    def _list_index_files(self, start_after_key: str | None) -> tuple[list[str], str | None]:
        """Return the index files from a key on, and the key that the next listing begins with."""
        raise NotImplementedError

    def _read_files(self, files: list[str]) -> list[bytes]:
        raise NotImplementedError

    def _is_event_file_present(self, file_name: str) -> bool:
        raise NotImplementedError

    def fetch_tensor_value(self, tensor_location: TensorLocation) -> npt.NDArray[Any]:
        """Return a value.

        Raises:
            TensorUnavailableForStep: Its file did not come, after
                ``$SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT`` attempts, two seconds apart.
        """
        where = tensor_location
        if not self._is_event_file_present(where.event_file_name):
            self.event_file_present_loop(where)
        folder, name = os.path.split(where.event_file_name)
        data = open_store(folder).get(name, int(where.start_idx), int(where.length))
        return next(read_records(data, name)).value

    def event_file_present_loop(self, tensor_location: TensorLocation) -> None:
        """Wait for the file of a value; raise as ``fetch_tensor_value`` does."""
        where = tensor_location
        for _ in range(self.event_file_retry_limit):
            if self._is_event_file_present(where.event_file_name):
                return
            skipped = self._has_event_file_been_skipped(where.event_file_name)
            if skipped or has_training_ended(self.path):
                break
            time.sleep(_POLL_S)
        self.logger.warning("%s is named by an index and is not there", where.event_file_name)
        mode = where.mode if isinstance(where.mode, ModeKeys) else ModeKeys[where.mode]
        raise TensorUnavailableForStep(where.tensorname, where.mode_step, mode)

    def load_tensor_data_from_index_files(
        self, start_after_key: str | None = None, range_steps: Span | None = None
    ) -> tuple[TensorData, str | None]:
        """Return what the index files name that were not read yet, and where the next call begins.

        Args:
            start_after_key: What the last call returned.
            range_steps: Only of global steps from the first of these to before the second.
        """
        files, steps, last, workers = self.read_index_files(start_after_key, range_steps)
        found: TensorData = {}
        for step, data, worker in zip(steps, files, workers, strict=True):
            found = self._update_tensors_from_json(found, step, data, self.path, worker)
        return found, last

    def read_index_files(
        self, start_after_key: str | None, range_steps: Span | None = None
    ) -> Files:
        """Return the index files that were not read yet, their steps, a key, and their workers."""
        names, last = self._list_index_files(start_after_key)
        new = [
            name
            for name in names
            if self.index_file_cache.has_not_read(name)
            and (
                range_steps is None
                or step_in_range(
                    range_steps, IndexFileLocationUtils.parse_step_from_index_file_name(name)
                )
            )
        ]
        files = self._read_files(new)
        for name in new:
            self.index_file_cache.add(name, start_after_key)
        steps = [IndexFileLocationUtils.parse_step_from_index_file_name(name) for name in new]
        return files, steps, last, [parse_worker_name_from_file(name) for name in new]

    def _has_event_file_been_skipped(self, missing_event_file_name: str) -> bool:
        """Return whether the worker has written a later file than one that is not there."""
        missing = missing_event_file_name
        step = IndexFileLocationUtils.parse_step_from_index_file_name(missing)
        later = [
            name
            for name in self.list_event_files(missing)
            if parse_worker_name_from_file(name) == parse_worker_name_from_file(missing)
        ]
        steps = [IndexFileLocationUtils.parse_step_from_index_file_name(name) for name in later]
        return bool(steps) and step not in steps

    @staticmethod
    def _validate(index_dict: dict[str, Any]) -> None:
        if not index_dict.get("meta"):
            raise IndexReaderException("the index has no meta section, or an empty one")
        if "tensor_payload" not in index_dict and "shape_payload" not in index_dict:
            raise IndexReaderException("the index has neither tensor_payload nor shape_payload")

    def _update_tensors_from_json(
        self,
        index_tensors_dict: TensorData,
        step: int,
        response: bytes | str,
        path: str,
        worker: str,
    ) -> TensorData:
        """Add what an index file names to what others do."""
        try:
            document = json.loads(response)
        except ValueError:
            raise IndexReaderException(f"the index of step {step} is no JSON") from None
        self._validate(document)
        meta = document["meta"]
        mode, mode_step = ModeKeys[meta["mode"].strip()], meta["mode_step"]
        for one in document.get("tensor_payload") or ():
            name, file = one["tensorname"], os.path.join(path, meta["event_file_name"])
            start, length = one["start_idx"], one["length"]
            where = TensorLocation(name, mode, mode_step, file, start, length, worker)
            at = index_tensors_dict.setdefault(name, {}).setdefault(step, {})
            at[worker] = {"tensor_location": where}
        for one in document.get("shape_payload") or ():
            name = one["tensorname"]
            shape = TensorShape(name, mode, mode_step, one["shape"], one["originalname"])
            at = index_tensors_dict.setdefault(name, {}).setdefault(step, {})
            at[worker] = {"tensor_shape": shape}
        return index_tensors_dict


class LocalIndexReader(IndexReader):
    """Reads the index files of a run on this machine."""

    def list_index_files(self) -> list[str]:
        """Return the paths of all index files, ascending."""
        folder = IndexFileLocationUtils.get_index_path(self.path)
        return sorted(list_files_in_directory(folder, r"(.+)\.(json|csv)$"))

    def list_event_files(self, start_after_key: str | None = None) -> list[str]:
        folder = get_path_to_events_directory(self.path)
        files = sorted(list_files_in_directory(folder, r"(.+)\.(tfevents)$"))
        return files[bisect_left(files, start_after_key or "") :]

    def _list_index_files(self, start_after_key: str | None) -> tuple[list[str], str | None]:
        files = self.list_index_files()
        files = files[bisect_left(files, start_after_key or "") :]
        return files, files[-1] if files else start_after_key

    def _read_files(self, files: list[str]) -> list[bytes]:
        found = []
        for name in files:
            with open(name, "rb") as file:
                found.append(file.read())
        return found

    def _is_event_file_present(self, file_name: str) -> bool:
        return os.path.exists(file_name)


class S3IndexReader(IndexReader):
    """Reads the index files of a run on S3; what is listed are keys in its bucket."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        _, bucket, prefix = is_s3(path)
        self.bucket_name, self.prefix_name = str(bucket), str(prefix)

    def list_index_files(self, start_after_key: str | None = None) -> tuple[list[str], str | None]:
        """Return the keys of index files behind one, ascending, and the last."""
        folder = IndexFileLocationUtils.get_index_path(self.prefix_name)
        return list_s3_objects(self.bucket_name, folder, start_after_key)

    def list_event_files(self, start_after_key: str | None = None) -> list[str]:
        folder = get_path_to_events_directory(self.prefix_name)
        return list_s3_objects(self.bucket_name, folder, start_after_key)[0]

    def _list_index_files(self, start_after_key: str | None) -> tuple[list[str], str | None]:
        return self.list_index_files(start_after_key)

    def _read_files(self, files: list[str]) -> list[bytes]:
        requests = [ReadObjectRequest(f"s3://{self.bucket_name}/{name}") for name in files]
        return [data or b"" for data in S3Handler.get_objects(requests)]

    def _is_event_file_present(self, file_name: str) -> bool:
        return str(is_s3(file_name)[2]) in self.list_event_files()
