"""JSON from where anybody may have written it."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes | bytearray) -> Any:
    """Return what a JSON text says, as ``json.loads``.

    Raises:
        ValueError: It is no JSON, not UTF-8, or nested too deeply.

    Example:
        >>> parse_json("[" * 100_000)
        Traceback (most recent call last):
        ValueError: nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
