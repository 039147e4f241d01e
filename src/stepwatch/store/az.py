"""Runs in a container of Azure Blob Storage."""

from __future__ import annotations

from typing import Any

from .az_refusals import AZ
from .object_store import CLIENT, ObjectStore


class AzStore(ObjectStore):
    """What lies below a URL in a container of Azure Blob Storage, as a store.

    Account and credentials are found by the library, in the variables that begin with ``AZURE_``,
    by the program ``az``, or at the machine.

    Args:
        url: ``az://container`` or ``az://container/path``, of the account that
            ``$AZURE_STORAGE_ACCOUNT_NAME`` names.
    """

    dialect = AZ
    # Accounts with a hierarchical namespace list folder by folder: "a/b" before "a-b".
    lists_in_order = False

    def _connect(self, stores: Any, container: str, **options: object) -> Any:
        return stores.AzureStore(container, client_options=CLIENT, **options)
