"""A run that is read again when it is asked, and its steps.

Nothing is looked up twice: once the training ended and all was seen, a run is never read again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from smdebug.analysis.utils import refresh
from smdebug.core import environment
from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys
from smdebug.core.tensor import StepState
from smdebug.core.utils import step_in_range
from smdebug.exceptions import NoMoreData, SMDebugTypeError, StepUnavailable
from smdebug.trials.evidence import EVERYTHING, Evidence, Span
from smdebug.trials.late_values import value_when_there
from smdebug.trials.native_evidence import NativeEvidence
from smdebug.trials.opening import PATIENCE_S, DamagedRun, find_run, is_announced, open_run
from smdebug.trials.smdebug_evidence import SmdebugEvidence
from smdebug.trials.step_axis import StepAxis
from stepwatch.errors import CorruptRun
from stepwatch.formats.reader import RunReader
from stepwatch.formats.smdebug.layout import index_key
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import Store

_POLL_S = 0.2


class FollowedRun:
    """A run that is read again when it is asked, and its steps.

    Args:
        path: Its folder or URL.
        range_steps: First global step to look at, and the one behind the last; either may be
            ``None``, for open.

    Raises:
        TrialNotFound: There is no run.
        MissingCollectionFiles: The training ended without a word about its collections.
        AssertionError: ``range_steps`` is no range.
    """

    def __init__(self, path: str, range_steps: Span | None = None) -> None:
        _check_range(range_steps)
        #: Its folder or URL.
        self.path, store = find_run(path)
        self.range_steps = range_steps
        #: Whether it is read again when it is asked.
        self.dynamic_refresh = True
        self.logger = get_logger()
        self._span = range_steps or EVERYTHING
        self._run = open_run(store)
        reader = self._run.reader
        #: What is saved of the tensors.
        self.evidence: Evidence = (
            SmdebugEvidence(store, reader)
            if isinstance(reader, SmdebugReader)
            else NativeEvidence(self._run)
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
        """Whether the training ended, and all that it wrote is seen."""
        self.maybe_refresh()
        return self._loaded_all

    @property
    def last_complete_step(self) -> int:
        """The last global step that no worker will add to, -1 for none; as of the last look."""
        return self._axis.last_complete

    @property
    def last_index_token(self) -> str | None:
        """The index file of the last worker at the last complete step; ``None`` for none."""
        if self.last_complete_step < 0 or not self.worker_set:
            return None
        return f"{self.path.rstrip('/')}/{index_key(self.last_complete_step, max(self.worker_set))}"

    @property
    def store(self) -> Store:
        """What holds the run."""
        return self._run.store

    def read(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value at a global step, also if its file is still to come."""
        return value_when_there(self, worker, step, tensor)

    def refresh_data(self) -> None:
        """See what was written since.

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
        """See what was written since, unless all is seen or ``dynamic_refresh`` is off."""
        del name  # all tensors are read at once
        if self._loaded_all or not self.dynamic_refresh:
            return
        self.refresh_data()
        self._note_end()

    def refresh_tensor(self, tname: str, steps: Sequence[int] | None = None) -> None:
        """See what was written since."""
        del tname, steps
        self.refresh_data()

    def holds_step(self, step: int) -> bool:
        """Return whether a global step is one of those to look at."""
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
            required_steps: As ``mode`` counts them.
            mode: Which count.

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
        """Wait until there is something to look at: a notebook looks as soon as it is opened."""
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
        # Where files take time to appear, an end may be seen before them.
        delay_s = environment.whole(environment.END_DELAY)
        if delay_s:
            self.logger.info("the training ended; looking once more in %d s", delay_s)
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
