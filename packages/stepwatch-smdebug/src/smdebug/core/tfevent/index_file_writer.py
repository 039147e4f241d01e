"""Writes the index of what a worker saved at a step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...exceptions import SMDebugValueError
from ..access_layer.base import TSAccessBase
from ..access_layer.file import TSAccessFile
from ..access_layer.s3 import TSAccessS3
from ..locations import TensorLocation, TensorShape
from ..modes import ModeKeys
from ..utils import is_s3


def open_to_write(path: str, mode: str) -> TSAccessBase:
    """Return what writes a file, or an object on S3, that appears when it is closed."""
    on_s3, bucket, key = is_s3(path)
    if on_s3:
        return TSAccessS3(str(bucket), str(key), binary="b" in mode)
    return TSAccessFile(path, mode)


class Index:
    """What an index file holds; see ``IndexWriter``."""

    def __init__(
        self,
        meta: Mapping[str, Any] | None = None,
        tensor_payload: Sequence[Mapping[str, Any]] | None = None,
        shape_payload: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.meta = meta
        self.tensor_payload = tensor_payload
        self.shape_payload = shape_payload

    def to_json(self) -> str:
        """Return the file."""
        return json.dumps(vars(self))


class IndexWriter:
    """Writes an index file, when it is closed and something was added.

    Mode and step are those of what was added first.

    Args:
        file_path: Its path or URL.
    """

    def __init__(self, file_path: str) -> None:
        self.file_path = file_path
        self.index_meta: dict[str, Any] = {}
        self.index_payload: list[dict[str, Any]] = []
        self.shape_payload: list[dict[str, Any]] = []
        self.writer: TSAccessBase | None = None

    def add_index(self, tensorlocation: TensorLocation) -> None:
        """Add a value."""
        if "event_file_name" not in self.index_meta:
            self.index_meta = {
                **_meta(tensorlocation),
                "event_file_name": tensorlocation.event_file_name,
            }
        self.index_payload.append(tensorlocation.to_dict())

    def add_shape(self, tensorshape: TensorShape) -> None:
        """Add a shape."""
        self.index_meta = self.index_meta or _meta(tensorshape)
        self.shape_payload.append(tensorshape.to_dict())

    def flush(self) -> None:
        """Write what was added.

        Raises:
            SMDebugValueError: Nothing was.
        """
        if not self.index_meta:
            raise SMDebugValueError(f"nothing was added to the index {self.file_path}")
        self.writer = self.writer or open_to_write(self.file_path, "a+")
        index = Index(self.index_meta, self.index_payload, self.shape_payload)
        self.writer.write(index.to_json())
        self.writer.flush()
        self.index_meta, self.index_payload, self.shape_payload = {}, [], []

    def close(self) -> None:
        """Let the file appear, if something was added."""
        if self.index_meta:
            self.flush()
        if self.writer is not None:
            self.writer.close()
            self.writer = None


def _meta(where: TensorLocation | TensorShape) -> dict[str, Any]:
    mode = where.mode.name if isinstance(where.mode, ModeKeys) else where.mode
    return {"mode": mode, "mode_step": where.mode_step}
