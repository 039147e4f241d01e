"""Runs in a bucket of Google Cloud Storage."""

from __future__ import annotations

from typing import Any

from .gs_refusals import GS
from .object_store import CLIENT, ObjectStore


class GsStore(ObjectStore):
    """What lies below a URL in a bucket of Google Cloud Storage, as a store.

    Credentials are found as Google's own programs find them, by the library: a file that
    ``$GOOGLE_APPLICATION_CREDENTIALS`` or ``$GOOGLE_SERVICE_ACCOUNT`` names, what gcloud has
    written, or those of the machine.

    Args:
        url: ``gs://bucket`` or ``gs://bucket/path``.
    """

    dialect = GS

    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        return stores.GCSStore(container, client_options=CLIENT, **options)
