"""Search: training jobs by what their descriptions and tags hold."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from stepwatch.errors import RequestRefused

from .account import Account
from .requests import request_error
from .responses import training_description

Request = Mapping[str, Any]
Response = dict[str, Any]
_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "Equals": lambda found, given: found == given,
    "NotEquals": lambda found, given: found != given,
    "GreaterThan": lambda found, given: found > given,
    "GreaterThanOrEqualTo": lambda found, given: found >= given,
    "LessThan": lambda found, given: found < given,
    "LessThanOrEqualTo": lambda found, given: found <= given,
}
# Named so in searches, by the name of a metric or of a tag, and otherwise in descriptions.
_METRICS, _TAGS = "Metrics.", "Tags."
_PAGE_SIZE = 10


def search(account: Account, request: Request) -> Response:
    """Find training jobs."""
    if request["Resource"] != "TrainingJob":
        raise request_error(f"Only training jobs are searched here, got {request['Resource']}.")
    expression = request.get("SearchExpression", {})
    jobs = [_described(account, one.name) for one in account.records.overview()]
    found = [job for job in jobs if _fits(job, expression)]
    order = request.get("SortBy", "LastModifiedTime")
    is_descending = request.get("SortOrder", "Descending") == "Descending"
    found.sort(key=lambda job: _rank(job, order), reverse=is_descending)
    start, size = _start(request.get("NextToken", "")), request.get("MaxResults", _PAGE_SIZE)
    page, rest = found[start : start + size], found[start + size :]
    more = {"NextToken": base64.urlsafe_b64encode(b"%d" % (start + size)).decode()} if rest else {}
    return {"Results": [{"TrainingJob": job} for job in page], **more}


def _described(account: Account, name: str) -> Response:
    record = account.records.get(name)
    tags = record.spec.request.get("Tags", [])
    return {**training_description(record, account), "Tags": tags}


def _by_key(job: Request) -> dict[str, Any]:
    return {tag["Key"]: tag["Value"] for tag in job["Tags"]}


def _fits(job: Request, expression: Request) -> bool:
    """Return whether a job meets all conditions of an expression, or with ``Or`` one of them."""
    met = [
        *(_meets(list(_values(job, one["Name"])), one) for one in expression.get("Filters", ())),
        *(_meets_nested(job, one) for one in expression.get("NestedFilters", ())),
        *(_fits(job, one) for one in expression.get("SubExpressions", ())),
    ]
    return any(met) if expression.get("Operator") == "Or" and met else all(met)


def _meets_nested(job: Request, nested: Request) -> bool:
    """Return whether one member of a list meets all filters."""
    name = nested["NestedPropertyName"]
    filters = nested["Filters"]
    return any(
        all(
            _meets(list(_values(one, condition["Name"].removeprefix(f"{name}."))), condition)
            for condition in filters
        )
        for one in _values(job, name)
    )


def _meets(values: list[Any], condition: Request) -> bool:
    operator, given = str(condition.get("Operator", "Equals")), condition.get("Value")
    if operator in ("Exists", "NotExists"):
        return bool(values) == (operator == "Exists")
    if given is None:
        raise request_error(f"The filter {condition['Name']!r} needs a Value.")
    if operator == "In":
        return any(str(value) in str(given).split(",") for value in values)
    if operator == "NotEquals":
        return all(_holds(operator, value, given) for value in values)
    return any(_holds(operator, value, given) for value in values)


def _holds(operator: str, value: Any, given: str) -> bool:
    if operator == "Contains":
        return str(given) in str(value)
    ours, theirs = _number(value), _number(given)
    if ours is not None and theirs is not None:
        return bool(_TESTS[operator](ours, theirs))
    return bool(_TESTS[operator](str(value), given))


def _number(value: Any) -> float | None:
    """Return a value, or what a text says, as a number; a time is seconds since the Unix epoch."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    try:
        time = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()


def _values(inside: Any, path: str) -> Iterator[Any]:
    """Yield what lies at a path with dots, of each member where there is a list."""
    if path.startswith(_METRICS):
        name = path.removeprefix(_METRICS)
        for metric in inside.get("FinalMetricDataList", ()):
            if metric["MetricName"] == name:
                yield metric["Value"]
        return
    if path.startswith(_TAGS) and (value := _by_key(inside).get(path.removeprefix(_TAGS))):
        yield value
        return
    if isinstance(inside, list):
        for member in inside:
            yield from _values(member, path)
    elif not path:
        yield inside
    elif isinstance(inside, Mapping):
        if path in inside:  # names of hyperparameters may have dots
            yield from _values(inside[path], "")
        else:
            name, _, rest = path.partition(".")
            if name in inside and rest:
                yield from _values(inside[name], rest)


def _rank(job: Request, order: str) -> tuple[int, float, str]:
    """Return where a job comes: one without the value first, numbers before texts."""
    value = next(_values(job, order), None)
    number = _number(value)
    if number is not None:
        return 1, number, ""
    return (0 if value is None else 2), 0.0, str(value)


def _start(token: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(token)) if token else 0
    except ValueError:
        raise RequestRefused("ValidationException", "The NextToken is invalid.") from None
