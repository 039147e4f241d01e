"""A live, read-only view of a run: its steps and tensors, who still writes, and how it ended."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import StepUnavailable, TensorUnavailable, nearest
from ..formats import open_reader
from ..formats.interface import Located, RunReader
from ..formats.manifest import End, Process, read_note, read_processes
from ..formats.native.observations import SCHEMA, texts_where
from ..formats.salvage import with_black_box
from ..formats.settings import RunSettings, read_settings
from ..model.collection import BUILT_IN, Collection, compiled, default_policy
from ..model.html_text import html_table
from ..model.record import StepRecord
from ..model.steps import Mode, count_by_mode
from ..numerics.columns import empty, numbers, repeated, rows_at, rows_where
from ..plugins import registry
from ..store import Store, open_store
from ..store.local import local_path
from .profile import Profile, profile_of
from .step_log import StepLog, by_step, execution_order
from .tensor import Tensor

_WORST_FIRST = ("failed", "stopped", "interrupted", "finished")


@dataclass(frozen=True, slots=True)
class Presence:
    """Who may still write to a run, as of one moment.

    Args:
        first_runs: Whether the process that began the run may still run.
        joined: Of every worker that joined, whether its process may still run.
        ends: How each worker ended that did.
        num_workers: How many workers the run has.
    """

    first_runs: bool
    joined: Mapping[str, bool]
    ends: Mapping[str, End]
    num_workers: int

    def gone(self, wrote: Iterable[str]) -> frozenset[str]:
        """Return the workers that will write no more.

        Args:
            wrote: The workers that wrote so far.
        """
        return frozenset(self.ends) | self._died(wrote)

    def num_awaited(self, wrote: Iterable[str]) -> int:
        """Return how many workers there are to wait for; see ``gone``.

        Once the first is gone nobody joins any more; who joined may have yet to write.
        """
        return self.num_workers if self.first_runs else len({*wrote, *self.joined, *self.ends})

    def state(self, wrote: Iterable[str]) -> str:
        """Return ``running``, or how the run ended."""
        known = {*wrote, *self.joined, *self.ends}
        missing = len(known) < self.num_workers
        if known - self.gone(wrote) or (missing and self.first_runs):
            return "running"
        if missing or self._died(wrote):
            return "died"
        states = [end.state for end in self.ends.values()]
        return next((state for state in _WORST_FIRST if state in states), "finished")

    def _died(self, wrote: Iterable[str]) -> frozenset[str]:
        """Return the workers whose process is gone and left no note."""
        known = {*wrote, *self.joined} - self.ends.keys()
        return frozenset(one for one in known if not self.joined.get(one, self.first_runs))


def read_presence(store: Store, reader: RunReader) -> Presence:
    """Return who writes to a run."""
    # In this order: a process that is gone has left its note.
    first_runs = Process.of(reader.manifest).may_run()
    joined = {
        # Of another machine we do not know; it will not go on for long without the first.
        worker: process.may_run() and (first_runs or process.is_here)
        for worker, process in read_processes(store).items()
    }
    return Presence(first_runs, joined, reader.ends(), reader.manifest.num_workers)


#: How long to wait before reading again, in seconds.
POLL_S = 0.2


def _never_saved(saved: list[int], step: int, mode: Mode) -> StepUnavailable:
    if not saved:
        return StepUnavailable(f"the run ended without a step of mode {mode}")
    near = min(saved, key=lambda other: abs(other - step))
    return StepUnavailable(
        f"step {step} of mode {mode} was not saved; the nearest saved step is {near}"
    )


class Trial:
    """A live, read-only view of a run.

    It shows the run as of its last ``refresh``; opening it is the first. Only complete steps
    are shown: steps for which no worker will write any more.

    Args:
        run: The run's directory or URL, or the store that holds it.

    Raises:
        RunNotFound: There is no run.
        CorruptRun: A part of it is damaged.

    Example:
        >>> from stepwatch.testing import make_run
        >>> trial = Trial(make_run("memory://doc", steps=3))
        >>> trial.steps()
        [0, 1, 2]
        >>> trial.tensor("loss/mse_loss").statistics()["mean"].shape
        (3,)
    """

    def __init__(self, run: str | os.PathLike[str] | Store) -> None:
        self._store = open_store(run) if isinstance(run, (str, os.PathLike)) else run
        self._note = read_note(self._store)
        self.reader = open_reader(self._store)
        self._order: tuple[object, dict[str, int]] = (None, {})
        #: How many steps are from the black box: the process was gone before they were stored.
        self.num_salvaged = 0
        self._is_salvaged = False
        #: What its readers keep of it, by their type: for as long as there is the trial.
        self.kept: dict[type, Any] = {}
        self.refresh()

    def __repr__(self) -> str:
        return f"Trial({self.url!r}, {self.state}, {len(self.steps())} steps)"

    def steps_by_mode(self) -> str:
        """Return how many steps of each mode were observed, in words; of how many if not all."""
        ends = self.reader.ends().values()
        observed = {mode.value: len(self.step_numbers(mode)) for mode in self.modes}
        return count_by_mode(observed, [end.counted for end in ends])

    def _repr_html_(self) -> str:
        steps = self.steps_by_mode()
        kinds = list(self.reader.tensors().values())
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        facts = [
            ("state", self.state),
            ("command", " ".join(self.reader.manifest.command)),
            ("steps", steps or "none"),
            ("workers", ", ".join(self.workers)),
            ("tensors", counts),
        ]
        return html_table(self.path, facts)

    @property
    def url(self) -> str:
        """Where the run lies."""
        return self._store.url

    @property
    def path(self) -> str:
        """Where the run lies as people write it: a path on this machine, else the URL."""
        return local_path(self.url)

    @property
    def store(self) -> Store:
        """What holds the run."""
        return self._store

    @cached_property
    def profile(self) -> Profile:
        """Where the time went, and what the machines did then; empty if nothing was profiled."""
        return profile_of(self._store)

    def refresh(self) -> None:
        """Show what was written since."""
        self._refresh()
        if self._state == "died" and not self._is_salvaged:
            self._is_salvaged = True
            self._store, self.num_salvaged = with_black_box(self._store, self.reader)
            if self.num_salvaged:
                self.reader = open_reader(self._store)
                self._refresh()

    def _refresh(self) -> None:
        note = read_note(self._store)
        if note not in (b"", self._note):  # it was resumed, and holds other steps
            self._note, self.reader = note, open_reader(self._store)
        # In this order: a worker that is gone has written all its parts.
        presence = read_presence(self._store, self.reader)
        self.reader.refresh()
        workers = self.reader.workers
        # How many workers there are may be known only by now.
        presence = replace(presence, num_workers=self.reader.manifest.num_workers)
        self._state = presence.state(workers)
        gone = presence.gone(workers)
        ranges = {worker: self.reader.step_ranges(worker) for worker in workers}
        self._log = StepLog(ranges, self.reader.last_complete(gone, presence.num_awaited(workers)))
        #: The last step of each worker that may still write, complete or not.
        self.last_steps = {
            worker: max((range_.last for range_ in found), default=-1)
            for worker, found in ranges.items()
            if worker not in gone
        }

    @property
    def settings(self) -> RunSettings:
        """What people call the run, and what they trained it with; it may grow meanwhile."""
        return read_settings(self.store)

    @property
    def state(self) -> str:
        """``running``, or how it ended.

        ``finished``, ``failed``, ``stopped`` or ``interrupted`` as its workers noted, the worst
        of them; ``died`` if no worker runs any more and one is gone without a note.
        """
        return self._state

    @property
    def death(self) -> str:
        """What is known of the end of a run whose process is gone; ``""`` for others."""
        if self._state != "died":
            return ""
        steps = self.mode_step_numbers(Mode.TRAIN if Mode.TRAIN in self.modes else Mode.GLOBAL)
        lost = f"what came after step {steps[-1]} is lost" if len(steps) else "no step is known"
        verb = "is" if self.num_salvaged == 1 else "are"
        kept = f"{self.num_salvaged} of its steps {verb} from the black box"
        kept = kept if self.num_salvaged else ""
        parts = ("its process is gone and left no note of its end", kept, lost)
        return "; ".join(filter(None, parts))

    @property
    def ended(self) -> bool:
        """Whether nothing more will be written."""
        return self.state != "running"

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote so far."""
        return self.reader.workers

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that have a step."""
        return self._log.modes

    @property
    def collections(self) -> dict[str, Collection]:
        """The collections that have a tensor or were asked for, by name."""
        requested = {collection.name: collection for collection in self.reader.manifest.collections}
        kinds = set(self.reader.tensors().values())
        observed = [name for name in BUILT_IN if name in kinds]
        return {name: Collection(name, (), default_policy(name)) for name in observed} | requested

    @property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """The patterns of the collections that have some, by collection name."""
        requested = self.reader.manifest.collections
        return {
            collection.name: collection.patterns for collection in requested if collection.patterns
        }

    @property
    def order(self) -> dict[str, int]:
        """The position of each tensor in the order of execution; see ``execution_order``."""
        if self._order[0] != (self.reader, self.modes):
            self._order = (self.reader, self.modes), execution_order(self)
        return self._order[1]

    def steps(self, mode: Mode | str = Mode.GLOBAL, *, incomplete: bool = False) -> list[int]:
        """Return the complete steps as ``mode`` counts them, ascending.

        Args:
            mode: Which count; ``GLOBAL`` is over all modes.
            incomplete: Also steps that some worker has yet to write.
        """
        return self._log.steps(Mode(mode), incomplete=incomplete).tolist()  # type: ignore[no-any-return]

    def global_steps(self, mode: Mode | str) -> list[int]:
        """Return the complete steps of a mode as they count over all modes.

        They are in the order of ``steps(mode)``.
        """
        return self._log.global_steps(Mode(mode)).tolist()  # type: ignore[no-any-return]

    def step_numbers(self, mode: Mode | str = Mode.GLOBAL) -> npt.NDArray[np.int64]:
        """Return the complete global steps of a mode, ascending; of a million that is no list."""
        return self._log.global_steps(Mode(mode))

    def mode_step_numbers(self, mode: Mode | str) -> npt.NDArray[np.int64]:
        """Return the complete steps as their mode counts them, in the order of ``step_numbers``."""
        return self._log.steps(Mode(mode))

    @cached_property
    def plot(self) -> Any:
        """Figures of this run, a ``stepwatch.plots.trial_plots.Plots``; needs plotly."""
        figures: Any = registry.load("stepwatch.plots", "trial")  # plots stand above
        return figures(self)

    def tensor_names(self, regex: str | None = None, collection: str | None = None) -> list[str]:
        """Return the names of tensors, sorted.

        Args:
            regex: Only names in which this finds something.
            collection: Only tensors of this collection.

        Raises:
            ConfigError: ``regex`` does not compile.
        """
        names = self.reader.tensors()
        if collection is not None:
            group = self.collections.get(collection) or Collection(collection)
            names = {name: kind for name, kind in names.items() if group.holds(name, kind)}
        search = None if regex is None else compiled(regex).search
        return [name for name in names if search is None or search(name)]

    def tensor(self, name: str) -> Tensor:
        """Return one tensor.

        Raises:
            TensorUnavailable: There is none of this name; the message names the nearest.
        """
        names = self.reader.tensors()
        if name not in names:
            hint = nearest(name, names) or f"; the run has {len(names)} tensors"
            raise TensorUnavailable(f"no tensor {name!r} in {self.url}{hint}")
        return Tensor(self, name, names[name])

    def rows(
        self,
        tensors: frozenset[str] | None,
        columns: Sequence[str],
        mode: Mode = Mode.GLOBAL,
        worker: str | None = None,
        step: int | None = None,
    ) -> pa.Table:
        """Return observations of complete steps as an Arrow table, ascending by step.

        Args:
            tensors: Names; ``None`` for all.
            columns: Columns of the observations; ``worker`` and ``step`` come by themselves.
            mode: Only steps of this mode.
            worker: Only what this worker saw.
            step: Read only parts that may hold this step, as ``mode`` counts it.

        Raises:
            TensorUnavailable: There is nothing at all, or nothing of this worker.
        """
        self._check_worker(worker)
        its_mode = () if mode is Mode.GLOBAL else ("mode",)
        wanted = [*dict.fromkeys(("step", *its_mode, *columns))]
        at = None if step is None else (mode, step)
        tables = [("", empty(SCHEMA).select(wanted))]
        tables += self.reader.observations(tensors, wanted, at)
        table = pa.concat_tables(
            table.select(wanted).append_column("worker", repeated(who, len(table)))
            for who, table in tables
            if worker is None or who in ("", worker)
        ).unify_dictionaries()
        if mode is not Mode.GLOBAL:
            table = rows_where(table, texts_where(table.column("mode"), mode.value.__eq__))
        steps = numbers(table.column("step"))
        complete = steps <= self._log.last_complete
        if complete.all() and (np.diff(steps) >= 0).all():
            return table  # the usual case: no copy
        order = np.argsort(steps, kind="stable")
        return rows_at(table, order[complete[order]])

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> list[Located]:
        """Return where a tensor's values of complete steps lie, ascending by step; see ``rows``."""
        self._check_worker(worker)
        found = self.reader.located(tensor, mode, worker, step)
        complete = (one for one in found if one.step <= self._log.last_complete)
        return sorted(complete, key=lambda one: one.step)

    def _check_worker(self, worker: str | None) -> None:
        if not self.workers or worker not in (None, *self.workers):
            raise TensorUnavailable(f"{self.url} holds no observations of {worker or 'anyone'} yet")

    def records(
        self, *, follow: bool = False, after: int = -1, waiting: bool = False
    ) -> Iterator[tuple[StepRecord, ...]]:
        """Yield the complete steps in order, each with what every worker saw of it.

        If the run is resumed meanwhile, the steps that are replaced come once more.

        Args:
            follow: Wait for more until the run ended.
            after: Only steps later than this one.
            waiting: Yield an empty tuple before each wait, for who has something else to do.
        """
        while True:
            ended = self.ended
            last = self._log.last_complete
            yield from by_step(
                [self.reader.records(worker, after) for worker in self.workers], last
            )
            after, num_resumes = max(after, last), len(self.reader.manifest.resumes)
            if ended or not follow:
                return
            if waiting:
                yield ()
            time.sleep(POLL_S)
            self.refresh()
            for first in self.reader.manifest.resumes[num_resumes:]:
                after = min(after, first - 1)

    def wait_for_steps(
        self, steps: Sequence[int], mode: Mode | str = Mode.GLOBAL, timeout: float | None = None
    ) -> None:
        """Wait until steps are complete.

        Args:
            steps: As ``mode`` counts them.
            mode: Which count.
            timeout: Seconds; for ever by default.

        Raises:
            StepUnavailable: One of them was passed over, or the run ended before it.
            TimeoutError: They did not come in time.
        """
        mode = Mode(mode)
        deadline = None if timeout is None else time.monotonic() + timeout
        missing = set(steps).difference(self.steps(mode))
        while missing:
            if self.ended or max(self.steps(mode), default=-1) > min(missing):
                raise _never_saved(self.steps(mode), min(missing), mode)
            left = POLL_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                what = f"step {min(missing)} of mode {mode}"
                raise TimeoutError(f"{what} did not come within {timeout} s")
            time.sleep(min(left, POLL_S))
            self.refresh()
            missing.difference_update(self.steps(mode))
