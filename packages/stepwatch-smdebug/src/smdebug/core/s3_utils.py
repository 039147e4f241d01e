"""Listing on S3."""

from __future__ import annotations

from .access_layer.s3handler import ListRequest, S3Handler


def list_s3_objects(
    bucket: str, prefix: str, start_after_key: str | None = None, delimiter: str = ""
) -> tuple[list[str], str | None]:
    """Return the keys that begin with a prefix and sort behind a key, and the last of them."""
    request = ListRequest(bucket, prefix, delimiter, start_after_key or prefix)
    keys = S3Handler.list_prefix(request)
    return keys, keys[-1] if keys else None
