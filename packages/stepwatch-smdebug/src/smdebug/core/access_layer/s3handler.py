"""Listing, reading and deleting on S3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from stepwatch import errors
from stepwatch.runtime.parallel import map_parallel
from stepwatch.store import Store, open_store

from ...exceptions import SMDebugError, SMDebugTypeError
from ..utils import is_s3

__all__ = ["DeleteRequest", "ListRequest", "ReadObjectRequest", "S3Handler", "is_s3"]

_T = TypeVar("_T")


class ReadObjectRequest:
    """What is to be read.

    Args:
        path: An object, ``s3://bucket/key``.
        start: The first byte; without it all is read.
        length: How many bytes; without it the rest.
    """

    def __init__(self, path: str, start: int | None = None, length: int | None = None) -> None:
        self.is_s3, self.bucket, key = is_s3(path)
        self.key = path if key is None else key
        self.start = start or 0
        self.length = length
        self.download_entire_file = start is None


class ListRequest:
    """What is to be listed.

    Args:
        Bucket: The bucket.
        Prefix: What the keys begin with.
        Delimiter: Of keys that have it behind the prefix, only what goes up to it is listed.
        StartAfter: The keys sort after this one.
    """

    def __init__(
        self,
        Bucket: str,  # noqa: N803  as boto3 has it
        Prefix: str = "",  # noqa: N803
        Delimiter: str = "",  # noqa: N803
        StartAfter: str = "",  # noqa: N803
    ) -> None:
        self.bucket = Bucket
        self.prefix = Prefix
        self.delimiter = Delimiter
        self.start_after = StartAfter


class DeleteRequest:
    """What is to be deleted.

    Args:
        Bucket: The bucket.
        Prefix: What the keys begin with.
    """

    def __init__(self, Bucket: str, Prefix: str = "") -> None:  # noqa: N803
        self.bucket = Bucket
        self.prefix = Prefix


class S3Handler:
    """Asks S3. What the store refuses is an ``SMDebugError``."""

    @staticmethod
    def list_prefixes(list_requests: Sequence[ListRequest]) -> list[list[str]]:
        """Return the keys that each request finds."""
        return [S3Handler.list_prefix(one) for one in _listed(list_requests, "ListRequest")]

    @staticmethod
    def list_prefix(lr: ListRequest) -> list[str]:
        """Return the keys that a request finds, ascending; with a delimiter, folders first."""
        with _refusals():
            keys = _bucket(lr.bucket).list(lr.prefix, lr.start_after or "")
        if not lr.delimiter:
            return keys
        at = len(lr.prefix)
        folders = [
            key[: key.index(lr.delimiter, at) + len(lr.delimiter)]
            for key in keys
            if lr.delimiter in key[at:]
        ]
        return [*dict.fromkeys(folders), *(key for key in keys if lr.delimiter not in key[at:])]

    @staticmethod
    def get_object(object_request: ReadObjectRequest) -> bytes | None:
        """Return what a request asks for; ``None`` where there is no such object."""
        one = object_request
        if not one.is_s3:
            raise SMDebugError(f"{one.key} does not lie on S3")
        with _refusals():
            try:
                return _bucket(str(one.bucket)).get(one.key, one.start, one.length)
            except FileNotFoundError:
                return None

    @staticmethod
    def get_objects(
        object_requests: Sequence[ReadObjectRequest],
        use_multiprocessing: bool = True,
        n_process: int | None = None,
    ) -> list[bytes | None]:
        """Return what each request asks for, in order; several are read at once.

        Args:
            object_requests: The requests.
            use_multiprocessing: Whether several are read at once.
            n_process: Has no effect.
        """
        del n_process
        requests = _listed(object_requests, "ReadObjectRequest")
        if use_multiprocessing:
            return map_parallel(S3Handler.get_object, requests)
        return [S3Handler.get_object(one) for one in requests]

    @staticmethod
    def delete_prefix(path: str | None = None, delete_request: DeleteRequest | None = None) -> None:
        """Delete all that lies at ``s3://bucket/prefix``, or what a request names."""
        if path is not None and delete_request is not None:
            raise SMDebugError("give a path or a request, not both")
        if path is not None:
            on_s3, bucket, prefix = is_s3(path)
            if not on_s3:
                raise SMDebugError(f"{path} does not lie on S3")
            delete_request = DeleteRequest(str(bucket), str(prefix))
        if delete_request is not None:
            S3Handler.delete_prefixes([delete_request])

    @staticmethod
    def delete_prefixes(delete_requests: Sequence[DeleteRequest]) -> None:
        """Delete all that requests name."""
        for one in delete_requests or ():
            store = _bucket(one.bucket)
            with _refusals():
                for key in store.list(one.prefix):
                    store.delete(key)


def _bucket(name: str) -> Store:
    return open_store(f"s3://{name}")


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except errors.StoreError as error:
        raise SMDebugError(str(error)) from error


def _listed(requests: Sequence[_T], kind: str) -> Sequence[_T]:
    if not isinstance(requests, list):
        raise SMDebugTypeError(f"a list of {kind} is needed, got {type(requests).__name__}")
    return requests
