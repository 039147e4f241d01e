"""Lists, as the API gives them: filtered, in order, and a page at a time.

A page says where the next one begins by the last thing on it, so nothing is told twice or left out
where something comes meanwhile.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ...errors import RequestRefused

_PAGE = 10


class Listed(Protocol):
    """What is in a list."""

    @property
    def name(self) -> str:
        """Of it."""

    @property
    def status(self) -> str:
        """How it stands."""

    @property
    def created_ns(self) -> int:
        """When it began, nanoseconds since the Unix epoch."""

    @property
    def changed_ns(self) -> int:
        """When it last changed."""


T = TypeVar("T", bound=Listed)
_ORDERS: dict[str, Callable[[Listed], tuple[Any, str]]] = {
    "Name": lambda one: (one.name, one.name),
    "Status": lambda one: (one.status, one.name),
    "CreationTime": lambda one: (one.created_ns, one.name),
}


def page(listed: Sequence[T], asked: Mapping[str, Any]) -> tuple[list[T], dict[str, str]]:
    """Return what a page holds, and what tells where the next one begins.

    Args:
        listed: All there is.
        asked: The filters, the order, and where to begin.

    Raises:
        RequestRefused: It begins where no page ended.
    """
    order = _ORDERS[asked.get("SortBy", "CreationTime")]
    is_descending = asked.get("SortOrder", "Descending") == "Descending"
    wanted = [one for one in listed if _wanted(one, asked)]
    found = sorted(wanted, key=order, reverse=is_descending)
    if asked.get("NextToken"):
        after = _place(asked["NextToken"])
        found = [one for one in found if _is_behind(order(one), after, descending=is_descending)]
    size = asked.get("MaxResults", _PAGE)
    more = {"NextToken": _token(order(found[size - 1]))} if len(found) > size else {}
    return found[:size], more


def _wanted(one: Listed, asked: Mapping[str, Any]) -> bool:
    for what, time_ns in (("CreationTime", one.created_ns), ("LastModifiedTime", one.changed_ns)):
        after, before = asked.get(f"{what}After"), asked.get(f"{what}Before")
        if after is not None and time_ns < after * 1e9:
            return False
        if before is not None and time_ns > before * 1e9:
            return False
    if asked.get("NameContains", "").lower() not in one.name.lower():
        return False
    return bool(asked.get("StatusEquals", one.status) == one.status)


def _is_behind(place: tuple[Any, str], after: tuple[Any, str], *, descending: bool) -> bool:
    try:
        return place < after if descending else place > after
    except TypeError:
        raise _unknown() from None


def _token(place: tuple[Any, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _place(token: str) -> tuple[Any, str]:
    try:
        value, name = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError, RecursionError):
        raise _unknown() from None
    return value, str(name)


def _unknown() -> RequestRefused:
    return RequestRefused("ValidationException", "The NextToken is invalid.")
