"""The run of a trial, and its steps: which there are, and which are complete.

Once the training ended and all was read, a run is never read again.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from smdebug.analysis.utils import refresh
from smdebug.core import environment
from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys, from_mode, to_mode
from smdebug.core.tensor import StepState
from smdebug.core.utils import step_in_range
from smdebug.exceptions import (
    IndexReaderException,
    MissingCollectionFiles,
    NoMoreData,
    SMDebugError,
    SMDebugTypeError,
    StepUnavailable,
)
from stepwatch.errors import CorruptRun, RunNotFound
from stepwatch.formats import run_format
from stepwatch.formats.interface import RunReader, StepRange
from stepwatch.formats.smdebug.layout import COLLECTIONS, index_key, parse_collections_key
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.model.steps import Mode
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial as Run
from stepwatch.trial.step_log import StepLog

from .sources import EVERYTHING, NativeSource, SmdebugSource, Span, TensorSource, late_value

# Where SageMaker puts what a hook wrote, below the output of a job.
_UPLOADED = "debug-output"
#: How long the output of a job is waited for whose training may be about to begin, seconds.
PATIENCE_S = 600.0
_FIND_POLL_S = 0.5


class TrialNotFound(SMDebugError, RunNotFound):
    """There is no run at this path."""


class DamagedRun(IndexReaderException, CorruptRun):
    """Bytes of a run that cannot be what a writer wrote."""

    def __init__(self, error: CorruptRun) -> None:
        CorruptRun.__init__(self, error.key, error.offset, error.reason)
        self.message = str(error)

    def __str__(self) -> str:
        return self.message


def is_announced(path: str) -> bool:
    """Return whether a path is that of a job's output, whose run may still begin."""
    return path.rstrip("/").endswith(f"/{_UPLOADED}")


def find_run(path: str) -> tuple[str, Store]:
    """Return where the run lies that a folder or URL names, and the store that holds it.

    The output of a SageMaker job may be named instead of the folder in it that holds the run. If
    that folder is named, its run is waited for.

    Raises:
        TrialNotFound: There is none.
    """
    given = path.rstrip("/") or path
    give_up_at = time.monotonic() + (PATIENCE_S if is_announced(path) else 0)
    while (found := _find_once(path, given)) is None:
        if time.monotonic() >= give_up_at:
            raise TrialNotFound(
                f"no run at {path}: nothing that a hook writes is there, neither collections/ nor"
                " index/; a trial is opened at the out_dir of the hook, for a SageMaker job at its"
                " debug-output, once the training has begun"
            )
        time.sleep(_FIND_POLL_S)
    return found


def _find_once(path: str, given: str) -> tuple[str, Store] | None:
    parent = given.rpartition("/")[0]
    for candidate in (path, f"{given}/{_UPLOADED}", f"{parent}/{_UPLOADED}" if parent else ""):
        if not candidate or (candidate != path and not _is_output(given, candidate)):
            continue
        store = open_store(os.path.expanduser(candidate))
        if run_format(store) is not None:
            return candidate, store
    return None


def open_run(store: Store) -> Run:
    """Return a view of the run in a store.

    Raises:
        MissingCollectionFiles: The training ended and some worker never wrote its collections.
        DamagedRun: A part of the run is damaged.
    """
    try:
        run = Run(store)
        window = environment.integer(environment.INCOMPLETE_WINDOW)
        if isinstance(run.reader, SmdebugReader):
            if window is not None:
                run.reader.incomplete_steps = window
                run.refresh()
            _check_collections(store, run.reader)
    except CorruptRun as error:
        raise DamagedRun(error) from None
    return run


def _is_output(given: str, candidate: str) -> bool:
    """Return whether a folder may be meant: one below, or beside where ``output`` was given."""
    return candidate.startswith(f"{given}/") or given.endswith("/output")


def _check_collections(store: Store, reader: SmdebugReader) -> None:
    written = [key for key in store.list(COLLECTIONS) if parse_collections_key(key)]
    if reader.has_end and len(written) < reader.num_workers:
        raise MissingCollectionFiles


class StepAxis:
    """The steps of a trial at one moment.

    Args:
        ranges: The steps that each worker shows.
        last_complete: The last global step that no worker will add to; -1 for none.
        span: The global steps to show.
    """

    def __init__(
        self,
        ranges: Mapping[str, Sequence[StepRange]],
        last_complete: int,
        span: Span = EVERYTHING,
    ) -> None:
        self._log = StepLog(ranges, last_complete)
        self._span = span
        # By mode, and whether incomplete ones are among them.
        self._kept: dict[tuple[ModeKeys, bool], tuple[list[int], list[int]]] = {}
        complete = self.steps(ModeKeys.GLOBAL)
        #: The last complete global step; -1 for none.
        self.last_complete = complete[-1] if complete else -1

    def steps(self, mode: ModeKeys, *, incomplete: bool = False) -> list[int]:
        """Return the steps as ``mode`` counts them, ascending. Do not change it."""
        return self._columns(mode, incomplete)[0]

    def to_global(self, step: int, mode: ModeKeys) -> int | None:
        """Return the global step of a step of ``mode``; ``None`` if there is no such step."""
        counted, numbers = self._columns(mode, True)
        index = bisect_left(counted, step)
        return numbers[index] if index < len(counted) and counted[index] == step else None

    def modes(self) -> list[ModeKeys]:
        """Return the modes that have a step, but for ``GLOBAL``."""
        found = [from_mode(mode) for mode in self._log.modes if mode is not Mode.GLOBAL]
        return [mode for mode in found if self.steps(mode, incomplete=True)]

    def mode_modestep(self, step: int) -> tuple[ModeKeys, int] | None:
        """Return mode and mode step of a global step; ``None`` if there is no such step."""
        for mode in self.modes():
            counted, numbers = self._columns(mode, True)
            index = bisect_left(numbers, step)
            if index < len(numbers) and numbers[index] == step:
                return mode, counted[index]
        known = self.to_global(step, ModeKeys.GLOBAL) is not None
        return (ModeKeys.GLOBAL, step) if known else None

    def state(self, step: int, mode: ModeKeys, *, ended: bool) -> StepState:
        """Return whether a step is there, will never be, or may still come.

        Args:
            step: The step, as ``mode`` counts it.
            mode: The mode.
            ended: Whether nothing more will be written.
        """
        known = self.steps(mode, incomplete=True)
        index = bisect_left(known, step)
        if index == len(known):
            return StepState.UNAVAILABLE if ended else StepState.NOT_YET_AVAILABLE
        found = self.to_global(known[index], mode)
        if not ended and found is not None and found > self.last_complete:
            return StepState.NOT_YET_AVAILABLE
        return StepState.AVAILABLE if known[index] == step else StepState.UNAVAILABLE

    def _columns(self, mode: ModeKeys, incomplete: bool) -> tuple[list[int], list[int]]:
        """Return the steps of a mode as it counts them, and their global numbers."""
        if (mode, incomplete) not in self._kept:
            ours = to_mode(mode)
            counted = self._log.steps(ours, incomplete=incomplete).tolist()
            numbers = self._log.global_steps(ours, incomplete=incomplete).tolist()
            pairs = zip(counted, numbers, strict=True)
            within = [pair for pair in pairs if step_in_range(self._span, pair[1])]
            self._kept[mode, incomplete] = ([a for a, _ in within], [b for _, b in within])
        return self._kept[mode, incomplete]


_POLL_S = 0.2


class FollowedRun:
    """A run that is read again whenever it is used, and its steps.

    Args:
        path: Its folder or URL.
        range_steps: First global step to show, and the one after the last; ``None`` for open.

    Raises:
        TrialNotFound: There is no run.
        MissingCollectionFiles: The training ended without its collections files.
        AssertionError: ``range_steps`` is no range.
    """

    def __init__(self, path: str, range_steps: Span | None = None) -> None:
        _check_range(range_steps)
        #: Its folder or URL.
        self.path, store = find_run(path)
        self.range_steps = range_steps
        #: Whether it is read again whenever it is used.
        self.dynamic_refresh = True
        self.logger = get_logger()
        self._span = range_steps or EVERYTHING
        self._run = open_run(store)
        reader = self._run.reader
        #: What is saved of the tensors.
        self.evidence: TensorSource = (
            SmdebugSource(store, reader)
            if isinstance(reader, SmdebugReader)
            else NativeSource(self._run)
        )
        self._axis = self._new_axis()
        self._loaded_all = False
        self._note_end()
        if is_announced(path):
            self._wait_for_first_step()

    @property
    def index_reader(self) -> RunReader:
        """Stepwatch's reader of the run."""
        return self._run.reader

    @property
    def num_workers(self) -> int:
        """How many workers write."""
        return self._run.reader.manifest.num_workers

    @property
    def worker_set(self) -> set[str]:
        """The names of the workers."""
        return set(self._run.reader.workers)

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the training ended, and all that it wrote is read."""
        self.maybe_refresh()
        return self._loaded_all

    @property
    def last_complete_step(self) -> int:
        """The last global step that no worker will add to, -1 for none; as of the last refresh."""
        return self._axis.last_complete

    @property
    def last_index_token(self) -> str | None:
        """The index file of the last worker at the last complete step; ``None`` for none."""
        if self.last_complete_step < 0 or not self.worker_set:
            return None
        return f"{self.path.rstrip('/')}/{index_key(self.last_complete_step, max(self.worker_set))}"

    @property
    def store(self) -> Store:
        """The store of the run."""
        return self._run.store

    def read(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value at a global step, also if its file is still to come."""
        return late_value(self, worker, step, tensor)

    def refresh_data(self) -> None:
        """Read what was written since.

        Raises:
            DamagedRun: It cannot be what a hook wrote.
        """
        try:
            self._run.refresh()
            self.evidence.refresh()
        except CorruptRun as error:
            raise DamagedRun(error) from None
        self._axis = self._new_axis()

    def maybe_refresh(self, name: str | None = None) -> None:
        """Read what was written since, unless all is read or ``dynamic_refresh`` is off."""
        del name  # all tensors are read at once
        if self._loaded_all or not self.dynamic_refresh:
            return
        self.refresh_data()
        self._note_end()

    def refresh_tensor(self, tname: str, steps: Sequence[int] | None = None) -> None:
        """Read what was written since."""
        del tname, steps
        self.refresh_data()

    def holds_step(self, step: int) -> bool:
        """Return whether a global step is in ``range_steps``."""
        return step_in_range(self._span, step)

    def modes(self) -> list[ModeKeys]:
        """Return the modes that have a step; ``GLOBAL`` is never among them."""
        return self._axis.modes()

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        """Return the global step of a step of ``mode``; ``None`` if there is no such step.

        A global step is its own, also before it is there.
        """
        if mode is ModeKeys.GLOBAL:
            return mode_step
        found = self._axis.to_global(mode_step, mode)
        if found is None:
            self.maybe_refresh()
            found = self._axis.to_global(mode_step, mode)
        return found

    def mode_modestep(self, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]:
        """Return mode and mode step of a global step; twice ``None`` if there is no such step."""
        found = self._axis.mode_modestep(global_step)
        if found is None:
            self.maybe_refresh()
            found = self._axis.mode_modestep(global_step)
        return (None, None) if found is None else found

    def mode(self, global_step: int) -> ModeKeys | None:
        """Return the mode of a global step; ``None`` if there is no such step."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step: int) -> int | None:
        """Return the step within its mode of a global step; ``None`` for no such step."""
        return self.mode_modestep(global_step)[1]

    def has_passed_step(self, step: int, mode: ModeKeys | None = ModeKeys.GLOBAL) -> StepState:
        """Return whether a step is there, will never be, or may still come."""
        self.maybe_refresh()
        return self._axis.state(step, as_mode(mode), ended=self._loaded_all)

    def wait_for_steps(
        self, required_steps: Sequence[int], mode: ModeKeys | None = ModeKeys.GLOBAL
    ) -> None:
        """Wait until steps are complete.

        Args:
            required_steps: The steps, as ``mode`` counts them.
            mode: The mode.

        Raises:
            StepUnavailable: One of them was passed over.
            NoMoreData: The training ended before it.
        """
        wanted = as_mode(mode)
        with refresh(self):
            for step in required_steps:
                while (state := self.has_passed_step(step, wanted)) is not StepState.AVAILABLE:
                    if state is StepState.UNAVAILABLE:
                        raise self._never(step, wanted)
                    time.sleep(_POLL_S)

    def _never(self, step: int, mode: ModeKeys) -> Exception:
        known = self._axis.steps(mode, incomplete=True)
        last = known[-1] if known else -1
        if not self._loaded_all or step < last:
            return StepUnavailable(step, mode)
        return NoMoreData(step, mode, last)

    def _wait_for_first_step(self) -> None:
        """Wait until there is a step: a notebook reads one as soon as it is opened."""
        give_up_at = time.monotonic() + PATIENCE_S
        while self.last_complete_step < 0 and not self.loaded_all_steps:
            if time.monotonic() >= give_up_at:
                return
            time.sleep(_POLL_S)

    def _new_axis(self) -> StepAxis:
        reader = self._run.reader
        complete = self._run.steps()
        ranges = {worker: reader.step_ranges(worker) for worker in reader.workers}
        return StepAxis(ranges, complete[-1] if complete else -1, self._span)

    def _note_end(self) -> None:
        if not self._run.ended:
            return
        # Where files take time to appear, an end may be there before them.
        delay_s = environment.integer(environment.END_DELAY)
        if delay_s:
            self.logger.info("the training ended; reading once more in %d s", delay_s)
            time.sleep(delay_s)
            self.refresh_data()
        self._loaded_all = True
        self.logger.info("loaded all steps of %s", self.path)


def as_mode(mode: object) -> ModeKeys:
    """Return a mode; ``GLOBAL`` for ``None``.

    Raises:
        SMDebugTypeError: It is none.
    """
    if mode is None:
        return ModeKeys.GLOBAL
    if isinstance(mode, ModeKeys):
        return mode
    raise SMDebugTypeError(f"a mode such as modes.TRAIN is needed, got {mode!r}")


def _check_range(range_steps: Span | None) -> None:
    """Raise what old code expects of a range that is none."""
    for bound in range_steps or ():
        if bound is not None and (not isinstance(bound, int) or bound < 0):
            raise AssertionError(f"range_steps takes steps of at least 0, got {range_steps!r}")
    if range_steps and None not in range_steps and range_steps[0] >= range_steps[1]:  # type: ignore[operator]
        raise AssertionError(f"range_steps begins before it ends, got {range_steps!r}")
