"""The web application: from requests to responses, and from errors to those of the API."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from stepwatch.errors import RequestRefused, StepwatchError, StoreError, nearest
from stepwatch.plugins.registry import require

from . import logs, processing_jobs, responses, training_jobs
from .access import Access, RequestValidator
from .account import Account

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Action = Callable[[Account, Mapping[str, Any]], dict[str, Any]]
#: The longest request. Those of clients have some kilobytes.
MOST_BYTES = 4 << 20
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
        "AddTags": training_jobs.add_tags,
        "DeleteTags": training_jobs.delete_tags,
        "ListTags": training_jobs.list_tags,
    },
    "logs": {
        "DescribeLogStreams": logs.describe_streams,
        "GetLogEvents": logs.get_events,
    },
}
_SERVICES = {"SageMaker": "sagemaker", "Logs_20140328": "logs"}


class Dispatcher:
    """Responds to requests.

    Raises:
        MissingDependency: botocore is not installed.
    """

    def __init__(self, account: Account, access: Access) -> None:
        self._account, self._access = account, access
        self._checking = {service: RequestValidator(service) for service in ACTIONS}

    def respond(self, headers: Mapping[str, str], body: bytes) -> tuple[int, str, str]:
        """Return status, content type and content; names of headers are lower case."""
        try:
            self._access.check(headers, body)
            if headers.get("content-type", "").startswith(_FORM):
                status, content = responses.identity_response(self._account, body.decode())
                return status, "text/xml", content
            return 200, _JSON, json.dumps(self._done(headers.get("x-amz-target", ""), body))
        except RequestRefused as error:
            return _refusal(error)
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
        try:
            request = json.loads(body or b"{}")
        except (ValueError, RecursionError) as error:
            raise RequestRefused("SerializationException", f"no JSON: {error}") from None
        self._checking[service].check(operation, request)
        return action(self._account, {k: v for k, v in request.items() if v is not None})


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
                dispatcher.respond, dict(request.headers), body
            )
        headers = {"x-amzn-RequestId": str(uuid4())}
        found: Response = response(content, status, headers, kind)
        return found

    app: Starlette = applications.Starlette(routes=[routing.Route("/", respond, methods=["POST"])])
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
