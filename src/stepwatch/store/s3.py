"""Runs in a bucket of S3, or of a server that speaks as S3 does."""

from __future__ import annotations

from typing import Any

from ..config import aws_access
from ..errors import ConfigError
from .object_store import CLIENT, ObjectStore
from .s3_refusals import S3


class S3Store(ObjectStore):
    """What lies below a URL in a bucket, as a store.

    Credentials, endpoint and region are those of AWS's own programs; see ``config.aws_access``.

    Args:
        url: ``s3://bucket`` or ``s3://bucket/path``.
    """

    dialect = S3

    def __init__(self, url: str) -> None:
        super().__init__(url)
        if self._container.endswith("--x-s3"):
            raise ConfigError(
                f"{url!r} is a directory bucket, which lists in no order; "
                "give one for general purpose"
            )
        self._access = aws_access()

    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        access = self._access
        return stores.S3Store(
            container,
            config=_given(endpoint=access.endpoint, region=access.region),
            client_options=CLIENT | _given(root_certificate=access.certificates),
            credential_provider=access.keys,
            # The request that deletes many at once is not known to all that speak as S3.
            disable_bulk_delete=True,
            **options,
        )


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value}
