"""Azure's storage by the letter of its manual, and by no library.

Signatures are those of "Authorize with Shared Key" in the reference of Azure Storage.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
from email.utils import formatdate
from urllib.parse import quote, urlencode, urlsplit


class RawAzure:
    """One container of the server that the variables name.

    Args:
        container: Its name; it need not be there.
        variables: As ``Azurite.environment``.
    """

    def __init__(self, container: str, variables: dict[str, str]) -> None:
        self.container = container
        endpoint = urlsplit(variables["AZURE_STORAGE_ENDPOINT"])
        self._host, self._folder = endpoint.netloc, endpoint.path
        self._account = variables["AZURE_STORAGE_ACCOUNT_NAME"]
        self._key = base64.b64decode(variables["AZURE_STORAGE_ACCOUNT_KEY"])

    def make(self) -> None:
        """Make the container."""
        self._request("PUT", "", query={"restype": "container"})

    def put(self, key: str, data: bytes) -> None:
        """Set a blob."""
        self._request("PUT", key, data, headers={"x-ms-blob-type": "BlockBlob"})

    def get(self, key: str) -> bytes:
        """Return a blob."""
        return self._request("GET", key)

    def list(self) -> str:
        """Return the list of all blobs, those whose pieces came and no more too, as XML."""
        query = {"restype": "container", "comp": "list", "include": "uncommittedblobs"}
        return self._request("GET", "", query=query).decode()

    def _request(
        self,
        method: str,
        key: str,
        body: bytes = b"",
        *,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        path = f"{self._folder}/{quote(self.container + (f'/{key}' if key else ''))}"
        parameters = sorted((query or {}).items())
        sent = {
            "x-ms-date": formatdate(usegmt=True),
            "x-ms-version": "2021-10-04",
            **(headers or {}),
        }
        # Eleven headers of which only the length is used here.
        lines = [method, "", "", str(len(body) or ""), *[""] * 8]
        lines += [f"{name}:{sent[name]}" for name in sorted(sent)]
        lines += [f"/{self._account}{path}", *[f"{name}:{value}" for name, value in parameters]]
        digest = hmac.new(self._key, "\n".join(lines).encode(), hashlib.sha256).digest()
        signature = base64.b64encode(digest).decode()
        sent["Authorization"] = f"SharedKey {self._account}:{signature}"
        connection = http.client.HTTPConnection(self._host, timeout=60)
        try:
            address = f"{path}?{urlencode(parameters)}" if parameters else path
            connection.request(method, address, body, sent | {"Content-Length": str(len(body))})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        assert answer.status < 300, (answer.status, content)
        return content
