"""Where the time of a run went and what its machines did then, as Arrow tables, of any layout."""

from __future__ import annotations

import os
import re

import numpy as np
import pyarrow as pa

from ..errors import RunNotFound
from ..formats.native.observations import text_codes, texts_where
from ..formats.profile.parts import PROFILE
from ..formats.profile.reader import Machine, NativeProfileReader, ProfileReader
from ..formats.profile.sagemaker import SageMakerProfileReader, find_root
from ..formats.profile.tables import PHASES, SPANS, SYSTEM, Ints, Table, thin
from ..model.steps import Mode
from ..numerics.columns import array, numbers, rows_at, rows_where, sort_rows
from ..store import Store, open_store

#: The columns of ``Profile.steps`` before those of the phases.
_OF_STEP = ("worker", "mode", "step", "start_ns", "duration_ns", "longest_ns", "count")


class Profile:
    """A live view of the profile of a run; empty if nothing was profiled.

    Each call reads what is there then, and only the parts that lie within the time asked for.
    Times are nanoseconds since the Unix epoch, as those of steps are.

    Args:
        store: What holds the run.
        reader: Who knows how its profile lies there; by default as Stepwatch writes it.
    """

    def __init__(self, store: Store, reader: ProfileReader | None = None) -> None:
        self.reader: ProfileReader = reader or NativeProfileReader(store)

    @property
    def machines(self) -> dict[str, Machine]:
        """What is known of each machine, by its name."""
        return self.reader.machines()

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote intervals so far."""
        return self.reader.workers()

    @property
    def bounds(self) -> tuple[int, int] | None:
        """When the first row begins and, at the latest, the last ends; ``None`` for none."""
        return self.reader.bounds()

    @property
    def traces(self) -> list[str]:
        """The keys, in the run's store, of the traces of windows."""
        return self.reader.traces()

    @property
    def notes(self) -> list[str]:
        """What is not in the profile, and why."""
        return self.reader.notes()

    def system(
        self,
        start_ns: int | None = None,
        end_ns: int | None = None,
        *,
        node: str | None = None,
        device: str | None = None,
        metric: str | None = None,
        points: int | None = None,
    ) -> pa.Table:
        """Return readings of devices, ascending by time.

        Args:
            start_ns: Only from here on.
            end_ns: Only before.
            node: Only of this machine.
            device: Only of devices in whose whole name this regular expression finds itself.
            metric: Only of metrics in whose whole name this regular expression finds itself.
            points: At most so many rows of each series. Rows are then joined: ``value`` is their
                mean, ``min`` and ``max`` are their extremes, ``count`` says how many they were.

        Returns:
            Columns ``node``, ``device``, ``metric``, ``time_ns``, ``value``, ``min``, ``max``,
            ``count``.
        """
        rows = _between(self.reader.system(start_ns, end_ns), start_ns, end_ns, "time_ns")
        wanted = {"node": node and re.escape(node), "device": device, "metric": metric}
        for column, regex in wanted.items():
            rows = _matching(rows, column, regex)
        return _thinned(SYSTEM, rows, points)

    def spans(
        self,
        start_ns: int | None = None,
        end_ns: int | None = None,
        *,
        worker: str | None = None,
        kind: str | None = None,
        points: int | None = None,
    ) -> pa.Table:
        """Return timed intervals, ascending by their start.

        Args:
            start_ns: Only those that end after it.
            end_ns: Only those that begin before.
            worker: Only of this one.
            kind: Only of kinds in whose whole name this regular expression finds itself.
            points: At most so many rows of each series. Rows are then joined: ``duration_ns`` is
                their sum, ``longest_ns`` that of the longest, ``count`` says how many they were.

        Returns:
            Columns ``worker``, ``mode``, ``kind``, ``name``, ``thread``, ``step``, ``start_ns``,
            ``duration_ns``, ``longest_ns``, ``count``.
        """
        rows = _matching(self.reader.spans(start_ns, end_ns, worker), "kind", kind)
        rows = _matching(rows, "worker", worker and re.escape(worker))
        rows = _between(rows, None, end_ns, "start_ns")
        rows = _between(rows, start_ns, None, "start_ns", "longest_ns")
        return _thinned(SPANS, rows, points)

    def steps(
        self,
        start_ns: int | None = None,
        end_ns: int | None = None,
        *,
        worker: str | None = None,
        mode: Mode | str = Mode.GLOBAL,
        points: int | None = None,
    ) -> pa.Table:
        """Return the time of steps and of their phases, ascending by their start.

        Args:
            start_ns: Only steps that end after it.
            end_ns: Only steps that begin before.
            worker: Only of this one.
            mode: Only of this mode.
            points: At most so many rows of each worker and mode; see ``spans``.

        Returns:
            Columns ``worker``, ``mode``, ``step``, ``start_ns``, ``duration_ns``, ``longest_ns``,
            ``count``, and for each phase its nanoseconds, such as ``forward_ns``. The phases of a
            row sum to its ``duration_ns``.
        """
        rows = self.spans(start_ns, end_ns, worker=worker, kind="step|phase", points=points)
        if Mode(mode) is not Mode.GLOBAL:
            rows = _matching(rows, "mode", Mode(mode).value)
        steps = _matching(rows, "kind", "step").select(_OF_STEP)
        phases = _phases(steps, _matching(rows, "kind", "phase"))
        # on SageMaker only some phases were timed
        untimed = numbers(steps.column("duration_ns")) - sum(phases.values())
        phases["other"] = phases["other"] + np.maximum(untimed, 0)
        for name in PHASES:
            steps = steps.append_column(f"{name}_ns", array(phases[name]))
        return steps


def _phases(steps: pa.Table, phases: pa.Table) -> dict[str, Ints]:
    """Return the nanoseconds of each phase in each row of steps.

    A phase belongs to the last step of its worker and mode that had begun by then.
    """
    sums = {name: np.zeros(len(steps), np.int64) for name in PHASES}
    for of_step, of_phase in _alike(steps, phases):
        starts = numbers(steps.column("start_ns"))[of_step]
        begun = np.searchsorted(starts, numbers(phases.column("start_ns"))[of_phase], "right") - 1
        rows, known = of_step[np.maximum(begun, 0)], begun >= 0
        names = text_codes(rows_at(phases.select(["name"]), of_phase).column("name"))
        durations = numbers(phases.column("duration_ns"))[of_phase]
        for number, name in enumerate(names.values):
            chosen = known & (names.codes == number)
            np.add.at(sums[name if name in sums else "other"], rows[chosen], durations[chosen])
    return sums


def _alike(steps: pa.Table, phases: pa.Table) -> list[tuple[Ints, Ints]]:
    """Return which rows of both tables are of the same worker and mode."""
    both = pa.concat_tables([steps.select(["worker", "mode"]), phases.select(["worker", "mode"])])
    workers, modes = (text_codes(both.column(name)) for name in ("worker", "mode"))
    groups = workers.codes * (len(modes.values) + 1) + modes.codes
    first, second = groups[: len(steps)], groups[len(steps) :]
    return [
        (np.flatnonzero(first == group), np.flatnonzero(second == group))
        for group in np.unique(first)
    ]


def _matching(rows: pa.Table, column: str, regex: str | None) -> pa.Table:
    """Return the rows in whose text of a column a regular expression finds the whole."""
    if regex is None:
        return rows
    finds = re.compile(regex).fullmatch
    return rows_where(rows, texts_where(rows.column(column), lambda text: bool(finds(text))))


def _between(rows: pa.Table, from_ns: int | None, to_ns: int | None, *columns: str) -> pa.Table:
    """Return the rows whose columns, added up, are at least ``from_ns`` and below ``to_ns``."""
    times = sum(numbers(rows.column(name)) for name in columns)
    kept = np.ones(len(rows), bool)
    if from_ns is not None:
        kept &= times >= from_ns
    if to_ns is not None:
        kept &= times < to_ns
    return rows_where(rows, kept)


def _thinned(table: Table, rows: pa.Table, points: int | None) -> pa.Table:
    if points is None:
        return rows
    return sort_rows(thin(table, rows, points), table.time)


def profile_of(store: Store) -> Profile:
    """Return the profile that lies in a store, of whatever layout; an empty one for none."""
    if not store.list(PROFILE) and find_root(store) is not None:
        return Profile(store, SageMakerProfileReader(store))
    return Profile(store)


def open_profile(location: str | os.PathLike[str] | Store) -> Profile:
    """Return a profile: of a run, or of a job on SageMaker.

    Args:
        location: The run's directory or URL; or that of a job's ``profiler-output``, or of what
            holds it.

    Raises:
        RunNotFound: There is no profile.

    Example:
        >>> open_profile("memory://nowhere")
        Traceback (most recent call last):
        stepwatch.errors.RunNotFound: no profile at memory://nowhere: ...
    """
    store = open_store(location) if isinstance(location, (str, os.PathLike)) else location
    profile = profile_of(store)
    if profile.bounds is None:
        raise RunNotFound(
            f"no profile at {store.url}: it holds neither {PROFILE} nor system/ and framework/ of"
            " SageMaker's profiler"
        )
    return profile
