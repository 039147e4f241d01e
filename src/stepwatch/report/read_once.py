"""A profile that is read once: a report asks for the same rows again and again."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from ..formats.profile.machine import Machine
from ..formats.profile.reader import ProfileReader
from ..trial import Trial
from ..trial.profile import Profile


def read_once(trial: Trial) -> Profile:
    """Return the profile of a run as it is now."""
    return Profile(trial.store, _Read(trial.profile.reader))


class _Read:
    """What another reader tells, kept."""

    def __init__(self, reader: ProfileReader) -> None:
        self._reader = reader

    @cached_property
    def _system(self) -> pa.Table:
        return self._reader.system()

    @cached_property
    def _spans(self) -> pa.Table:
        return self._reader.spans()

    def machines(self) -> dict[str, Machine]:
        return self._reader.machines()

    def workers(self) -> tuple[str, ...]:
        return self._reader.workers()

    def bounds(self) -> tuple[int, int] | None:
        return self._reader.bounds()

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:  # noqa: ARG002
        return self._system

    def spans(
        self,
        start_ns: int | None = None,  # noqa: ARG002
        end_ns: int | None = None,  # noqa: ARG002
        worker: str | None = None,  # noqa: ARG002
    ) -> pa.Table:
        return self._spans

    def traces(self) -> list[str]:
        return self._reader.traces()

    def notes(self) -> list[str]:
        return self._reader.notes()
