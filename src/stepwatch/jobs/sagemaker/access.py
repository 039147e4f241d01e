"""Who may ask: on loopback whoever can, elsewhere who knows the secret.

A page in a browser can send requests here, too. Those have an Origin, or the Host of a name that
was made to mean this machine; neither is answered.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ...addresses import is_loopback
from ...errors import ConfigError, RequestRefused
from ...optional import require

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]]+))(?::\d+)?")
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=(?P<id>[^/,\s]+)/\d{8}/(?P<region>[^/,\s]+)/"
    r"(?P<service>[^/,\s]+)/aws4_request, *SignedHeaders=(?P<headers>[a-z0-9;-]+), *"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)
_TIME = "%Y%m%dT%H%M%SZ"
# By how much clocks may differ, as on AWS.
_LATE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Access:
    """Whose requests are answered.

    Args:
        host: The address at which the server listens.
        token: The secret; empty for none.

    Raises:
        ConfigError: Others could reach it, and there is no secret.
    """

    host: str
    token: str = ""

    def __post_init__(self) -> None:
        if not self.token and not is_loopback(self.host):
            raise ConfigError(
                f"whoever reaches {self.host} could run programs here; set STEPWATCH_TOKEN to a"
                " long secret, which clients sign with, or listen at 127.0.0.1"
            )

    def check(self, headers: Mapping[str, str], body: bytes) -> None:
        """Raise RequestRefused for a request that is not to be answered.

        Args:
            headers: Of the request, their names in small letters.
            body: Of it.
        """
        if "origin" in headers or not self._is_our_name(headers.get("host", "")):
            raise _denied("Requests of web pages are not answered.")
        if self.token and not self._knows(headers, body):
            raise _denied(
                "The request must be signed with the secret of this server as the secret access"
                " key, or bring it as a bearer token."
            )

    def _is_our_name(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = (found["v6"] or found["name"]) if found else ""
        return bool(self.token) or name.lower() in (*_LOOPBACK, self.host)

    def _knows(self, headers: Mapping[str, str], body: bytes) -> bool:
        said = headers.get("authorization", "")
        if said.startswith("Bearer "):
            return hmac.compare_digest(said.removeprefix("Bearer ").encode(), self.token.encode())
        return is_signed(headers, body, self.token)


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether a request has the signature (version 4) that a secret gives it.

    Args:
        headers: Of the request, their names in small letters.
        body: Of it.
        secret: What AWS calls the secret access key.
    """
    found = _SIGNED.fullmatch(headers.get("authorization", ""))
    signed = found["headers"].split(";") if found else []
    if found is None or not {"host", "x-amz-date"} <= set(signed) <= set(headers):
        return False
    try:
        time = datetime.strptime(headers["x-amz-date"], _TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        return False
    auth = require("botocore.auth", extra="serve").SigV4Auth(
        require("botocore.credentials", extra="serve").Credentials(found["id"], secret),
        found["service"],
        found["region"],
    )
    request = require("botocore.awsrequest", extra="serve").AWSRequest(
        "POST", f"http://{headers['host']}/", {name: headers[name] for name in signed}, body
    )
    request.context["timestamp"] = headers["x-amz-date"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    is_right = hmac.compare_digest(auth.signature(text, request), found["signature"])
    return is_right and abs(datetime.now(timezone.utc) - time) < _LATE


def _denied(message: str) -> RequestRefused:
    return RequestRefused("AccessDeniedException", message, 403)
