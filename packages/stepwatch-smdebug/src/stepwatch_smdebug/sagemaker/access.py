"""Which requests are answered: authorized ones that are valid by AWS's description of the API.

Whoever may create jobs runs programs, so clients must know the secret, on loopback too: other users
of the machine reach it as well. They sign with it, or ask at an address that has it as its path. A
page in a browser can send requests here, too. Those have an Origin, or the Host of a name that was
made to mean this machine; neither is answered. botocore brings the description of the API. Errors
are worded as those of AWS, because programs and people know them.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import islice
from typing import Any

from stepwatch.errors import RequestRefused
from stepwatch.plugins.registry import require
from stepwatch.runtime.process import is_loopback

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
    """Whose requests are answered: of those who know the secret.

    Args:
        host: The address that is listened at.
        token: The secret; never empty.
    """

    host: str
    token: str

    def check(self, headers: Mapping[str, str], body: bytes, path: str = "") -> None:
        """Raise RequestRefused for an unauthorized request.

        Args:
            headers: Their names are lower case.
            body: What is signed.
            path: The first part of the path, which may be the secret.
        """
        if "origin" in headers or not self._is_our_name(headers.get("host", "")):
            raise _denied("Requests of web pages are not answered.")
        if not (self._is_token(path) or self._knows(headers, body)):
            raise _denied(
                "The request must go to the address that stepwatch serve printed, be signed with"
                " its secret as the secret access key, or bring it as a bearer token."
            )

    def _is_our_name(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = (found["v6"] or found["name"]) if found else ""
        return not is_loopback(self.host) or name.lower() in (*_LOOPBACK, self.host)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _knows(self, headers: Mapping[str, str], body: bytes) -> bool:
        given = headers.get("authorization", "")
        if given.startswith("Bearer "):
            return self._is_token(given.removeprefix("Bearer "))
        return is_signed(headers, body, self.token)


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether a request is signed (version 4) with a secret access key.

    The names of the headers are lower case.
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


# Their values are noted and mean nothing here, and new ones come every month.
_OPEN = {"TrainingInstanceType", "ProcessingInstanceType"}
# Where clients name a URL, it may also be a path of this machine.
_LOCAL_PATH = re.compile(r"file:///.+")
_TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (int, float),
}


# There may be as many as a request has values.
_MOST_VIOLATIONS = 20


class RequestValidator:
    """Checks requests to one service, by its name in botocore.

    Raises:
        MissingDependency: botocore is not installed.
    """

    def __init__(self, service: str) -> None:
        self._model = _model(service)

    def checked(self, operation: str, request: Any) -> dict[str, Any]:
        """Return of the JSON of an operation what the API knows, and has a value.

        Raises:
            RequestRefused: AWS would not accept it.
        """
        shape = self._model.operation_model(operation).input_shape
        violations = list(islice(_violations(shape, request, ""), _MOST_VIOLATIONS))
        if violations:
            errors = "error" if len(violations) == 1 else "errors"
            text = f"{len(violations)} validation {errors} detected: {'; '.join(violations)}"
            raise RequestRefused("ValidationException", text)
        return {name: request[name] for name in shape.members if request.get(name) is not None}


@cache
def _model(service: str) -> Any:
    loader = require("botocore.loaders", extra="serve").Loader()
    description = loader.load_service_model(service, "service-2")
    return require("botocore.model", extra="serve").ServiceModel(description, service)


def _violations(shape: Any, value: object, path: str) -> Iterator[str]:
    """Yield what is wrong with a value and all that is in it."""
    kind = shape.type_name
    fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if not fits:
        text = f"{path or 'the request'}: {type(value).__name__} can not be converted to {kind}"
        raise RequestRefused("SerializationException", text)
    if kind == "structure":
        yield from _member_violations(shape, value, path)  # type: ignore[arg-type]  # it fits
    else:
        for constraint in _unmet_constraints(shape, value):
            yield f"Value {_quoted(value)} at '{path}' failed to satisfy constraint: {constraint}"
    if kind == "list":
        for number, item in enumerate(value, 1):  # type: ignore[var-annotated,arg-type]
            yield from _violations(shape.member, item, f"{path}.{number}.member")
    elif kind == "map":
        for key, item in value.items():  # type: ignore[attr-defined]
            yield from _violations(shape.key, key, f"{path}.key")
            yield from _violations(shape.value, item, f"{path}.{key}.member")


def _member_violations(shape: Any, value: Mapping[str, object], path: str) -> Iterator[str]:
    for name, member in shape.members.items():
        where = ".".join(filter(None, (path, name[:1].lower() + name[1:])))
        if value.get(name) is not None:
            yield from _violations(member, value[name], where)
        elif name in shape.required_members:
            yield f"Value null at '{where}' failed to satisfy constraint: Member must not be null"


def _unmet_constraints(shape: Any, value: Any) -> Iterator[str]:
    """Yield the constraints of a shape that a value does not meet, as AWS words them."""
    limits = shape.metadata
    is_number = isinstance(value, int | float)
    size, what = (value, "value") if is_number else (len(value), "length")
    if limits.get("max") is not None and size > limits["max"]:
        yield f"Member must have {what} less than or equal to {limits['max']}"
    elif limits.get("min") is not None and size < limits["min"]:
        yield f"Member must have {what} greater than or equal to {limits['min']}"
    elif isinstance(value, str) and "enum" in limits:
        if value not in limits["enum"] and shape.name not in _OPEN:
            yield f"Member must satisfy enum value set: [{', '.join(limits['enum'])}]"
    elif isinstance(value, str) and "pattern" in limits and not _matches(shape, value):
        yield f"Member must satisfy regular expression pattern: {limits['pattern']}"


def _matches(shape: Any, value: str) -> bool:
    if shape.name == "S3Uri" and _LOCAL_PATH.fullmatch(value):
        return True
    pattern = _compiled(shape.metadata["pattern"])
    return pattern is None or pattern.fullmatch(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of AWS, ``None`` where Python has no equivalent."""
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error:
        return None


def _quoted(value: object) -> str:
    text = str(value)
    return f"'{text if len(text) <= 200 else text[:200] + '...'}'"
