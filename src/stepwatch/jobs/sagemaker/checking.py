"""Whether a request is what the API asks for: AWS's own description of it says.

botocore brings the description, which its clients are made from, too. Errors are worded as those
of AWS, because programs and people know them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ...errors import RequestRefused
from ...optional import require

# Their values are noted and mean nothing here, and new ones come every month.
_OPEN = {"TrainingInstanceType", "ProcessingInstanceType"}
# Where clients name a place, it may also be one of this machine.
_LOCAL_PLACE = re.compile(r"file:///.+")
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


class Checking:
    """Checks requests to one service.

    Args:
        service: As botocore calls it, such as ``sagemaker``.

    Raises:
        MissingDependency: botocore is not installed.
    """

    def __init__(self, service: str) -> None:
        self._model = _model(service)

    def check(self, operation: str, request: object) -> None:
        """Raise RequestRefused for a request that AWS would not take.

        Args:
            operation: What is asked for, such as ``CreateTrainingJob``.
            request: What came as JSON.
        """
        wrong = list(_wrong(self._model.operation_model(operation).input_shape, request, ""))
        if wrong:
            errors = "error" if len(wrong) == 1 else "errors"
            told = f"{len(wrong)} validation {errors} detected: {'; '.join(wrong)}"
            raise RequestRefused("ValidationException", told)


@cache
def _model(service: str) -> Any:
    loader = require("botocore.loaders", extra="serve").Loader()
    description = loader.load_service_model(service, "service-2")
    return require("botocore.model", extra="serve").ServiceModel(description, service)


def _wrong(shape: Any, value: object, path: str) -> Iterator[str]:
    """Yield what is wrong with a value and all that is in it."""
    kind = shape.type_name
    fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if not fits:
        told = f"{path or 'the request'}: {type(value).__name__} can not be converted to {kind}"
        raise RequestRefused("SerializationException", told)
    if kind == "structure":
        yield from _wrong_members(shape, value, path)  # type: ignore[arg-type]  # it fits
    else:
        for constraint in _unmet(shape, value):
            yield f"Value {_shown(value)} at '{path}' failed to satisfy constraint: {constraint}"
    if kind == "list":
        for number, item in enumerate(value, 1):  # type: ignore[var-annotated,arg-type]
            yield from _wrong(shape.member, item, f"{path}.{number}.member")
    elif kind == "map":
        for key, item in value.items():  # type: ignore[attr-defined]
            yield from _wrong(shape.key, key, f"{path}.key")
            yield from _wrong(shape.value, item, f"{path}.{key}.member")


def _wrong_members(shape: Any, value: Mapping[str, object], path: str) -> Iterator[str]:
    for name, member in shape.members.items():
        place = ".".join(filter(None, (path, name[:1].lower() + name[1:])))
        if value.get(name) is not None:
            yield from _wrong(member, value[name], place)
        elif name in shape.required_members:
            yield f"Value null at '{place}' failed to satisfy constraint: Member must not be null"


def _unmet(shape: Any, value: Any) -> Iterator[str]:
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
    if shape.name == "S3Uri" and _LOCAL_PLACE.fullmatch(value):
        return True
    pattern = _compiled(shape.metadata["pattern"])
    return pattern is None or pattern.fullmatch(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of AWS, ``None`` where Python has no word for what it asks for."""
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error:
        return None


def _shown(value: object) -> str:
    text = str(value)
    return f"'{text if len(text) <= 200 else text[:200] + '...'}'"
