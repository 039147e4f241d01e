"""Closures: functions that an optimizer calls within its step to have gradients computed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def with_closure(
    args: tuple[Any, ...], named: Mapping[str, Any], after: Callable[[], object]
) -> Arguments | None:
    """Return the arguments of an optimizer's step, changed to tell when its closure returned.

    Args:
        args: The optimizer, and what it was given by place.
        named: What it was given by name.
        after: Called each time that the closure returned.

    Returns:
        What to call the step with; ``None`` if there is no closure.
    """
    closure = args[1] if len(args) > 1 else named.get("closure")
    if not callable(closure):
        return None

    @functools.wraps(closure)
    def call(*given: Any, **given_named: Any) -> Any:
        result = closure(*given, **given_named)
        after()
        return result

    if len(args) > 1:
        return (args[0], call, *args[2:]), dict(named)
    return args, {**named, "closure": call}
