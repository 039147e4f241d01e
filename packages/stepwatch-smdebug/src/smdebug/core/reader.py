"""Reads the values of one file of a step directly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from ..exceptions import SMDebugNotImplementedError
from .tfevent.event_file_reader import EventFileReader, Tensor
from .utils import match_inc

__all__ = ["FileReader"]


class FileReader:
    """Reads the values of an event file.

    Args:
        fname: Its path or URL.
        wtype: ``tfevent``.

    Raises:
        SMDebugNotImplementedError: Another ``wtype``.
    """

    def __init__(self, fname: str | os.PathLike[str], wtype: str = "tfevent") -> None:
        if wtype != "tfevent":
            raise SMDebugNotImplementedError(f"wtype is 'tfevent', got {wtype!r}")
        self._reader = EventFileReader(fname)

    def __enter__(self) -> FileReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def read_tensors(self, check: str | bool = "minimal") -> Iterator[Tensor]:
        """Yield name, global step, value, mode and step as the mode counts it, of each value.

        Args:
            check: ``minimal`` or ``full``; see
                ``smdebug.core.tfevent.event_file_reader.read_records``.
        """
        return self._reader.read_tensors(check)

    def read_events(
        self, check: str = "minimal", regex_list: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return ``timestamp``, ``step``, ``name`` and ``value`` of each value.

        Args:
            check: As of ``read_tensors``.
            regex_list: Only of names that one of these regular expressions finds.
        """
        patterns = None if regex_list is None else list(regex_list)
        return [
            {"timestamp": one.wall_time, "step": one.step, "name": one.tag, "value": one.value}
            for one in self._reader.read_values(check)
            if patterns is None or match_inc(one.tag, patterns)
        ]
