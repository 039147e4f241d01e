"""Objects on S3, each sent whole."""

from __future__ import annotations

import re
from types import TracebackType

from stepwatch.store import open_store

from .base import TSAccessBase


class TSAccessS3(TSAccessBase):
    """An object on S3.

    Args:
        bucket_name: Its bucket, which must be there.
        key_name: Its key; of several slashes one counts.
        aws_access_key_id: Has no effect, and neither has ``aws_secret_access_key``: who asks is
            known from the environment and the files of AWS's tools.
        binary: Whether bytes are written, or text.
    """

    def __init__(
        self,
        bucket_name: str,
        key_name: str,
        aws_access_key_id: str | None = None,
        aws_secret_access_key: str | None = None,
        binary: bool = True,
    ) -> None:
        del aws_access_key_id, aws_secret_access_key
        super().__init__()
        self.bucket_name = bucket_name
        self.key_name = re.sub("/+", "/", key_name).lstrip("/")
        self.binary = binary
        self.flushed = False
        self.data = bytearray()
        self._store = open_store(f"s3://{bucket_name}")

    def write(self, data: bytes | str) -> list[int]:
        start = len(self.data)
        self.data += data.encode() if isinstance(data, str) else data
        return [start, len(data)]

    def close(self) -> None:
        """Send it; a second call does nothing."""
        if not self.flushed:
            self._store.put(self.key_name, bytes(self.data))
            self.data, self.flushed = bytearray(), True

    def ingest_all(self) -> None:
        self._data = self._store.get(self.key_name)
        self._position = 0

    def __enter__(self) -> TSAccessS3:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
