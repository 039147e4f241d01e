"""The recorder: takes what a hook observes and hands finished steps to the background.

The training thread adds observations to the open step and closes it; everything else (listeners,
files) happens on the background thread, so a slow disk costs a dropped step and never a slow
training.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import config
from ..errors import StepwatchError
from ..formats import RunTarget
from ..formats.known_runs import remember
from ..formats.manifest import FIRST_WORKER, RUN_KEY, End, read_note
from ..model.collection import Policy, as_collections, parse_save
from ..model.record import Layout, ScalarRow, StepRecord, TensorInfo
from ..model.steps import Mode, StepCounter
from ..store import open_store, scheme_of
from .budget import Budget
from .in_process import InProcess
from .lifecycle import (
    DELETED,
    describe_run,
    is_deleted,
    rank_and_size,
    resume_run,
    traceback_end,
    worker_name,
)
from .link import open_link
from .open_step import OpenStep, single_values
from .output import Output
from .pipeline import Listener as Listener
from .plan import Plan, PlanOverlay, Plans
from .profiling import Profiler

# What a run has versions of whatever trains.
_OF_ALL = ("python", "stepwatch")
# How long the end of training may wait for what is still queued.
CLOSE_TIMEOUT_S = 60.0
#: As many TRAIN steps are observed in full where the black box wants one captured in detail.
WANTED_STEPS = 3


class Recorder:
    """Takes what a hook observes of a training run.

    Args:
        run: Directory or URL to write to; it must not hold a run yet.
        policy: What to save; see ``collection.as_collections``.
        output: In which format, and what beside it.
        listeners: Called with every step before it is stored.
        command: The script and its arguments, for the record.
        versions: Versions of the frameworks, for the record.
        rank: Which process this is, and of how many; what the launcher said by default.

    Raises:
        RunExists: ``run`` already holds a run.
        RunNotFound: ``run`` is to be resumed, and there is none.
        StoreError: ``run`` cannot be written to.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        policy: Policy = None,
        output: Output = Output(),  # noqa: B008  it is frozen
        listeners: Sequence[Listener] = (),
        command: Sequence[str] = (),
        versions: Mapping[str, str] | None = None,
        rank: tuple[int, int] | None = None,
    ) -> None:
        needed = [text for one in listeners for text in getattr(one, "evidence", ())]
        requested = as_collections(policy)
        output.warn_of_unstored(requested)
        collections = (*requested, *map(parse_save, needed))
        number, size = rank or rank_and_size(config.environment())
        is_first = number == 0
        self.worker = worker_name(number)
        self._mirror = output.open_mirror(open_store(run), self.worker, is_first=is_first)
        self.store = self._mirror.store
        described = describe_run(output, collections, command, versions or {}, size)
        start, self.manifest = resume_run(output, self.store, described, is_first=is_first)
        #: What is saved, if a hook configuration says so.
        self.configured_plan = output.configured_plan()
        #: What is saved of which tensor; may be replaced between steps.
        self.plan: Plans = self.configured_plan or Plan(collections)
        #: Decides which steps are observed in full.
        self.budget = Budget(
            None if self.configured_plan else output.budget,
            requested,
            lambda: self._carrier.background_s,
        )
        self.counter = StepCounter(start.step, start.within) if start else StepCounter()
        #: What is profiled, if a listener does that.
        self.profiler = next((x for x in listeners if isinstance(x, Profiler)), Profiler(None))
        self.profiler.phases.counter = self.counter
        #: The steps that are being observed; to be read only.
        self.opened: dict[Mode, OpenStep] = {}
        self._layouts: dict[tuple[Mode, int], Layout] = {}
        target = RunTarget(
            self.store,
            self.worker,
            self.manifest,
            is_first=is_first,
            over_unfinished=output.over_unfinished,
            marks_end=not config.is_in_sagemaker(),
            start=start,
        )
        self._writers = output.open_writers(target, self.configured_plan)
        patterns = {c.name: c.patterns for c in collections if c.patterns}
        for listener in listeners:
            listener.start(self.store, self.worker, patterns)
        if is_first:
            remember(self.manifest)
        self.num_steps, self._last_step = 0, -1
        self._wanted = "", 0  # why one is, and the step from which on
        self._coverage: list[str] = []
        self._trained_by: dict[str, str] = {}
        #: Where in the script parts of the training were made; see ``End.sources``.
        self.sources: dict[str, str] = {}
        #: The hooks that write here.
        self.hooks: list[Any] = []
        #: Asked for what was found beside the training, when a step is over, whatever its mode.
        self.beside: list[Callable[[], Iterable[tuple[TensorInfo, npt.NDArray[np.generic]]]]] = []
        self._leaving: list[Callable[[], str]] = []
        self._end: End | None = None
        # Last: its thread ticks from now on, and a tick uses all of the above.
        self._carrier = open_link(
            output, target, self._writers, listeners, patterns, self._mirror
        ) or InProcess(output, target, self._writers, listeners, self._mirror)
        self.black_box = self._carrier.black_box

    @property
    def closed(self) -> bool:
        return self._end is not None

    def open_step(self, mode: Mode) -> OpenStep:
        """Return the step of ``mode`` that is being observed, a new one if none is."""
        step = self.opened.get(mode)
        if step is None:
            step = self.opened[mode] = self.new_step(mode)
        return step

    def new_step(self, mode: Mode) -> OpenStep:
        """Return a step that is not open yet: it may become the open one later."""
        ahead = 1 if mode in self.opened else 0
        return self.step_at(mode, self.counter.peek(mode)[1] + ahead)

    def is_open(self, mode: Mode) -> bool:
        return mode in self.opened

    def move(self, step: OpenStep | None, mode: Mode) -> OpenStep | None:
        """Make ``step`` the open one of ``mode`` (``None`` for no one); return the one it was."""
        before = self.opened.pop(mode, None)
        if step is not None:
            self.opened[mode] = step
        return before

    def end_step(self, mode: Mode) -> StepRecord | None:
        """Close the open step of ``mode`` and hand it to the background; see ``take``."""
        step = self.opened.pop(mode, None)
        if step is None:
            return None
        return self.take(step, mode, *self.counter.next(mode))

    def step_at(self, mode: Mode, mode_step: int) -> OpenStep:
        """Return a step for a hook that counts by itself; it hands it on by ``take``."""
        thins = self.budget.thins(mode, mode_step) and not self._must_be_full(mode, mode_step)
        return OpenStep(self.plan, mode, mode_step, self.budget if thins else None)

    def thins_next(self, mode: Mode, ahead: int = 0) -> bool:
        """Return whether of the step of ``mode`` that comes next only losses are observed.

        Args:
            ahead: Of a later one: so many come before it.
        """
        mode_step, budget = self.counter.peek(mode)[1] + ahead, self.budget
        thins = not budget.has_requests and budget.thins(mode, mode_step)
        return thins and not self._must_be_full(mode, mode_step)

    def take(self, step: OpenStep, mode: Mode, number: int, mode_step: int) -> StepRecord | None:
        """Close a step and hand it to the background.

        Args:
            step: Nothing may be added to it any more.
            mode: Its mode.
            number: Its global step, greater than those before; or that of the last, of which more
                was observed, where the format can add to a step.
            mode_step: The step within its mode.

        Returns:
            What was recorded; ``None`` if nothing was observed.
        """
        if mode is Mode.TRAIN:
            self.budget.end_step(mode_step, is_thin=step.is_thin)
        if not step.tensors:
            return None
        for info, value in self._found_beside():
            step.add(info, value)
        self.profiler.phases.took(mode, number, is_thin=step.is_thin)
        alike = mode, len(step)  # steps that observe more have a layout of their own
        self._layouts[alike], statistics = step.close(self._layouts.get(alike))
        record = self._record(
            mode,
            (number, mode_step),
            self._layouts[alike],
            statistics,
            raw=step.raw,
            digests=step.digests,
            exponents=step.exponents,
            times_ns=step.times_ns,
        )
        if mode is Mode.TRAIN and (loss := record.loss) is not None:
            self.budget.note_loss(mode_step, loss)
        if not (step.is_thin and step.is_small(statistics)):
            self._carrier.take(record)
        elif (values := single_values(statistics)) is not None:
            row = ScalarRow(mode, record.layout, number, mode_step, record.time_ns, values)
            self._carrier.take_soon(row)
        else:  # as where two losses have one name
            self._carrier.take_soon(record)
        return record

    def take_scalars(
        self,
        layout: Layout,
        values: tuple[float, ...],
        mode: Mode = Mode.TRAIN,
        numbers: tuple[int, int] | None = None,
    ) -> None:
        """Close a step of which a hook observed a few numbers only, without an open step.

        The background takes it with others, a few times a second.

        Args:
            layout: The tensors, each of one element; the very same for steps alike.
            values: The value of each.
            mode: Its mode.
            numbers: Its global step, and the step within its mode; the next ones by default.
        """
        number, mode_step = numbers or self.counter.next(mode)
        if mode is Mode.TRAIN:
            self.budget.end_step(mode_step, is_thin=True)
            if (losses := layout.rows_of.get("losses")) is not None:
                self.budget.note_loss(mode_step, values[losses[0]])
        self._count(number)
        row = ScalarRow(mode, layout, number, mode_step, time.time_ns(), values)
        self._carrier.take_soon(row)

    def take_thin_steps(
        self, layout: Layout, steps: Sequence[tuple[int, tuple[float, ...]]], spent_s: float
    ) -> None:
        """Close TRAIN steps in a row, of each of which a hook observed a few finite numbers.

        Args:
            layout: As for ``take_scalars``.
            steps: When each ended, in nanoseconds since the Unix epoch, and its values.
            spent_s: What was spent on observing all of them, seconds.
        """
        mode_step = 0
        for time_ns, values in steps:
            number, mode_step = self.counter.next(Mode.TRAIN)
            self._count(number)
            row = ScalarRow(Mode.TRAIN, layout, number, mode_step, time_ns, values)
            self._carrier.take_soon(row)
        self.budget.end_thin_steps(mode_step, len(steps), spent_s)

    def take_repeated(self, scalars: Iterable[tuple[TensorInfo, float]]) -> None:
        """Close a TRAIN step of which a hook observed a few numbers, some of them several times.

        Args:
            scalars: Each with what is known of it. Of those with one name statistics are stored.
        """
        number, mode_step = self.counter.next(Mode.TRAIN)
        step = OpenStep(self.plan, Mode.TRAIN, mode_step, self.budget)
        for info, value in scalars:
            step.add(info, np.asarray(value, info.dtype))
        self.take(step, Mode.TRAIN, number, mode_step)

    def _found_beside(self) -> list[tuple[TensorInfo, npt.NDArray[np.generic]]]:
        return [one for found in self.beside for one in found()]

    def _record(
        self,
        mode: Mode,
        numbers: tuple[int, int],
        layout: Layout,
        statistics: npt.NDArray[np.float64],
        **values: Any,
    ) -> StepRecord:
        """Return the record of a step that is over, and count it.

        Args:
            mode: Its mode.
            numbers: Its global step, and the step within its mode.
            layout: Of its tensors.
            statistics: Shape ``[tensors, NUM_FIELDS]``.
            values: Other fields of ``StepRecord``.
        """
        step, mode_step = numbers
        self._count(step)
        return StepRecord(
            worker=self.worker,
            mode=mode,
            step=step,
            mode_step=mode_step,
            time_ns=time.time_ns(),
            layout=layout,
            statistics=statistics,
            **values,
        )

    def _count(self, step: int) -> None:
        self.num_steps += step != self._last_step
        self._last_step = step

    def _must_be_full(self, mode: Mode, mode_step: int) -> bool:
        """Return whether something was requested for which a step has to be observed in full."""
        if isinstance(self.plan, PlanOverlay):
            return True
        if self.black_box is None or mode is not Mode.TRAIN:
            return False
        every, wanted = self.black_box.snapshot_every, self.black_box.wanted
        if wanted != self._wanted[0]:
            self._wanted = wanted, mode_step
        # Not every training has somebody who captures steps in detail.
        is_wanted = bool(wanted) and mode_step < self._wanted[1] + WANTED_STEPS
        return is_wanted or bool(every and mode_step % every == 0)

    def abandon(self) -> None:
        """Drop the open steps: capturing failed, and half a step says nothing."""
        self.opened.clear()

    def flush(self, timeout: float = CLOSE_TIMEOUT_S) -> bool:
        """Wait until every closed step was evaluated and handed to the writers."""
        return self._carrier.flush(timeout)

    def store_steps(self, timeout: float) -> bool:
        """Wait until every closed step is stored; return whether, within so many seconds."""
        return self._carrier.store_steps(timeout)

    def covered(self, line: str, instead_of: str = "") -> None:
        """Note what of a model is captured, for the note at the end, or note it anew."""
        self._coverage = [*(one for one in self._coverage if one != instead_of), line]

    def trained_by(self, versions: Mapping[str, str]) -> None:
        """Note with which versions it trains, once that is known: other frameworks were imported.

        Args:
            versions: By name; of each framework that trains, added up.
        """
        self._trained_by.update(versions)
        kept = {
            one: self.manifest.versions[one] for one in _OF_ALL if one in self.manifest.versions
        }
        known = {**kept, **self._trained_by}
        if known == dict(self.manifest.versions):
            return
        self.manifest = replace(self.manifest, versions=known)
        if self.worker == FIRST_WORKER:
            with suppress(StepwatchError, OSError):  # training goes on with what is there
                if read_note(self.store):
                    self.store.put(RUN_KEY, self.manifest.to_json())

    def before_close(self, leave: Callable[[], str]) -> None:
        """Call ``leave`` first when the run is closed; it returns its failure, or ""."""
        self._leaving.append(leave)

    def close(self, state: str = "finished", error: str = "", failure: str = "") -> End:
        """Store what is left and the note that says how the run ended.

        Args:
            state: ``finished``, ``failed``, ``stopped`` or ``interrupted``.
            error: The exception that ended training, if one did.
            failure: Our own error, if one ended capturing before the training ended.

        Returns:
            The note, with what was lost.
        """
        if self._end is not None:
            return self._end
        while self._leaving:
            failure = self._leaving.pop()() or failure
        lost = ""
        if failure:
            self.abandon()
            after = f"all after step {self._last_step}" if self._last_step >= 0 else "all steps"
            lost = f"{after} (capturing failed: {failure})"
            error = error or f"capturing failed: {failure}"
        for mode in list(self.opened):
            self.end_step(mode)
        if not failure and self.num_steps and (found := self._found_beside()):
            for info, value in found:  # since the last step, as of what is evaluated after it
                self.open_step(Mode.EVAL).add(info, value)
            self.end_step(Mode.EVAL)
        covered = "; ".join(self._coverage)
        note = End(
            state,
            time.time_ns(),
            self.num_steps,
            error=error,
            coverage=covered,
            lost=lost,
            cost=self.budget.cost(),
            cost_s=self.budget.cost_s(),
            sources=self.sources if self.worker == FIRST_WORKER else {},
            traceback=traceback_end(error) if state == "failed" else "",
            counted={mode.value: count for mode, count in self.counter.counted.items()},
        )
        self._end = self._carrier.end(note, CLOSE_TIMEOUT_S)
        # Of a server that does not answer no more is asked: that would take another half minute.
        is_local = scheme_of(self.store.url) == "file"
        if (is_local or not self._end.lost) and is_deleted(self.store):
            self._end = replace(self._end, lost=DELETED)
        return self._end
