"""The web application: from requests to responses, and from errors to those of the API."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from stepwatch.errors import RequestRefused, StepwatchError, StoreError, nearest
from stepwatch.plugins.registry import require

from . import logs, metrics, processing_jobs, responses, searches, training_jobs
from .access import Access, RequestValidator
from .account import Account

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Action = Callable[[Account, Mapping[str, Any]], dict[str, Any]]
#: The longest request. Those of clients have some kilobytes; parsed, this may be twenty times more.
MOST_BYTES = 1 << 20
# So many are parsed at a time, and the rest waits: this bounds memory, not the number of clients.
_parsing = BoundedSemaphore(4)
_FORM = "application/x-www-form-urlencoded"
_JSON = "application/x-amz-json-1.1"
_log = logging.getLogger("stepwatch")

#: The operations, by the service and the name that botocore has for them.
ACTIONS: dict[str, dict[str, Action]] = {
    "sagemaker": {
        "CreateTrainingJob": training_jobs.create,
        "DescribeTrainingJob": training_jobs.describe,
        "StopTrainingJob": training_jobs.stop,
        "UpdateTrainingJob": training_jobs.update,
        "ListTrainingJobs": training_jobs.list_jobs,
        "CreateProcessingJob": processing_jobs.create,
        "DescribeProcessingJob": processing_jobs.describe,
        "StopProcessingJob": processing_jobs.stop,
        "ListProcessingJobs": processing_jobs.list_jobs,
        "Search": searches.search,
        "AddTags": training_jobs.add_tags,
        "DeleteTags": training_jobs.delete_tags,
        "ListTags": training_jobs.list_tags,
    },
    "logs": {
        "DescribeLogStreams": logs.describe_streams,
        "GetLogEvents": logs.get_events,
    },
    "cloudwatch": {
        "GetMetricStatistics": metrics.get_statistics,
        "GetMetricData": metrics.get_data,
    },
}
_SERVICES = {
    "SageMaker": "sagemaker",
    "Logs_20140328": "logs",
    "GraniteServiceVersion20100801": "cloudwatch",
}


class Dispatcher:
    """Responds to requests.

    Raises:
        MissingDependency: botocore is not installed.
    """

    def __init__(self, account: Account, access: Access) -> None:
        self._account, self._access = account, access
        self._checking = {service: RequestValidator(service) for service in ACTIONS}

    def respond(
        self, headers: Mapping[str, str], body: bytes, path: str = ""
    ) -> tuple[int, str, str]:
        """Return status, content type and content; see ``Access.check`` for the arguments."""
        try:
            self._access.check(headers, body, path)
            if headers.get("content-type", "").startswith(_FORM):
                status, content = responses.identity_response(self._account, _text(body))
                return status, "text/xml", content
            return 200, _JSON, json.dumps(self._done(headers.get("x-amz-target", ""), body))
        except RequestRefused as error:
            return _refusal(error)
        except RecursionError:
            return _refusal(RequestRefused("SerializationException", "it is nested too deeply"))
        except StoreError as error:  # the disk is full, or the file of records is damaged
            return _refusal(RequestRefused("ServiceUnavailable", str(error), 503))
        except StepwatchError as error:
            return _refusal(RequestRefused("ValidationException", str(error)))
        except Exception as error:  # noqa: BLE001  others are answered as before
            _log.error("a request failed", exc_info=error)
            return _refusal(RequestRefused("InternalFailure", type(error).__name__, 500))

    def _done(self, target: str, body: bytes) -> dict[str, Any]:
        prefix, _, operation = target.partition(".")
        service = _SERVICES.get(prefix, "")
        action = ACTIONS.get(service, {}).get(operation)
        if action is None:
            known = [name for actions in ACTIONS.values() for name in actions]
            raise RequestRefused(
                "UnknownOperationException",
                f"{operation or target!r} is not answered here; there are {', '.join(known)}"
                f"{nearest(operation, known)}",
            )
        with _parsing:
            request = self._checking[service].checked(operation, _parsed(body))
        return action(self._account, request)


def _parsed(body: bytes) -> Any:
    """Return the JSON of a request; its texts are such as files and programs can hold."""
    text = _text(body) or "{}"
    try:
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestRefused("SerializationException", f"no JSON: {error}") from None
    if "\\u" in text:
        for one in _strings(request):
            if "\0" in one or (not one.isprintable() and _has_surrogate(one)):
                raise RequestRefused(
                    "SerializationException", f"{one[:50]!r} holds what is no character"
                )
    return request


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise RequestRefused("SerializationException", f"no UTF-8: {error.reason}") from None


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def make_app(dispatcher: Dispatcher) -> Starlette:
    """Return the application, for a server such as uvicorn.

    Raises:
        MissingDependency: starlette is not installed.
    """
    applications = require("starlette.applications", extra="serve")
    routing = require("starlette.routing", extra="serve")
    in_threads = require("starlette.concurrency", extra="serve").run_in_threadpool
    response = require("starlette.responses", extra="serve").Response

    async def respond(request: Request) -> Response:
        body = await _read(request)
        if body is None:
            error = RequestRefused("RequestEntityTooLarge", f"at most {MOST_BYTES:,} bytes", 413)
            status, kind, content = _refusal(error)
        else:
            status, kind, content = await in_threads(
                dispatcher.respond,
                dict(request.headers),
                body,
                request.path_params.get("token", ""),
            )
        headers = {"x-amzn-RequestId": str(uuid4())}
        found: Response = response(content, status, headers, kind)
        return found

    paths = ("/", "/{token}", "/{token}/")
    routes = [routing.Route(path, respond, methods=["POST"]) for path in paths]
    app: Starlette = applications.Starlette(routes=routes)
    return app


async def _read(request: Request) -> bytes | None:
    """Return the body of a request, ``None`` if it is too long; more is never held."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MOST_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)


def _refusal(error: RequestRefused) -> tuple[int, str, str]:
    return error.status, _JSON, json.dumps({"__type": error.code, "message": str(error)})
