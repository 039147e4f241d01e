"""S3 by the letter of its manual, and by no library: what another program writes and reads.

Signatures are version 4 of the API reference of Amazon S3, "Authenticating Requests".
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import os
from datetime import datetime, timezone
from urllib.parse import quote, urlencode, urlsplit

_REGION = "us-east-1"


class RawS3:
    """One bucket of the server that the environment names.

    Args:
        bucket: Its name; it need not be there.
    """

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self._host = urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc
        self._keys = (os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])

    def make(self) -> None:
        """Make the bucket."""
        self._request("PUT", "")

    def put(self, key: str, data: bytes, **headers: str) -> None:
        """Set an object."""
        self._request("PUT", key, data, headers=headers)

    def get(self, key: str) -> bytes:
        """Return an object."""
        return self._request("GET", key)

    def list(self) -> str:
        """Return the list of all objects, as XML."""
        return self._request("GET", "").decode()

    def uploads(self) -> str:
        """Return the uploads that have begun and not ended, as XML."""
        return self._request("GET", "", query={"uploads": ""}).decode()

    def let_everybody_read(self) -> None:
        """Open the bucket for who does not say who they are."""
        policy = (
            '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",'
            '"Action":["s3:GetObject","s3:ListBucket"],"Resource":'
            f'["arn:aws:s3:::{self.bucket}","arn:aws:s3:::{self.bucket}/*"]}}]}}'
        )
        self._request("PUT", "", policy.encode(), query={"policy": ""})

    def _request(
        self,
        method: str,
        key: str,
        body: bytes = b"",
        *,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        path = quote(f"/{self.bucket}/{key}" if key else f"/{self.bucket}")
        parameters = urlencode(sorted((query or {}).items()))
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        signed = {
            "host": self._host,
            "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
            "x-amz-date": now,
            **(headers or {}),
        }
        signed["authorization"] = self._authorization(method, path, parameters, signed)
        connection = http.client.HTTPConnection(self._host, timeout=60)
        try:
            address = f"{path}?{parameters}" if parameters else path
            connection.request(method, address, body, signed)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        assert answer.status < 300, (answer.status, content)
        return content

    def _authorization(self, method: str, path: str, query: str, headers: dict[str, str]) -> str:
        names = ";".join(sorted(headers))
        lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
        asked = [method, path, query, *lines, "", names, headers["x-amz-content-sha256"]]
        digest = hashlib.sha256("\n".join(asked).encode()).hexdigest()
        now = headers["x-amz-date"]
        scope = f"{now[:8]}/{_REGION}/s3/aws4_request"
        access_key, secret = self._keys
        key = f"AWS4{secret}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        to_sign = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}".encode()
        signature = hmac.new(key, to_sign, hashlib.sha256).hexdigest()
        return (
            f"AWS4-HMAC-SHA256 Credential={access_key}/{scope},"
            f"SignedHeaders={names},Signature={signature}"
        )
