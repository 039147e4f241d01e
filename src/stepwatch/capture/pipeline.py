"""The pipeline: what becomes of each step once the training is done with it.

The same in the background of the training process and in a process of its own. Nothing here may be
lost because something else failed: each listener and each writer is called, whatever the others
raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import Protocol, cast

from ..errors import StoreAway
from ..formats.interface import RunWriter
from ..formats.manifest import End
from ..formats.outage import store_the_last
from ..model.record import ScalarRow, ScalarSteps, StepRecord
from ..store import Store
from .black_box import BlackBox
from .lifecycle import DroppedSteps

#: So many steps of a few numbers may wait to be handed over together; more are dropped.
MOST_SOON = 100_000


class Listener(Protocol):
    """Is called with every step in the background, before it is stored.

    It may have ``tick()``, called a few times a second; ``on_scalars(steps)``, called in place of
    ``on_step`` with steps in a row, a ``ScalarSteps``, of which a few finite numbers are all that
    is known, or ``on_sample(record)``, called with the last of these; and ``evidence``, ``--save``
    texts of what it needs.
    """

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Learn where the run lies; called once, before the first step."""

    def on_step(self, record: StepRecord) -> None:
        """Evaluate one step."""

    def finish(self) -> None:
        """Called after the last step."""


class Pipeline:
    """Shows each step to the listeners, then stores it.

    Args:
        listeners: Called in this order.
        writers: Take each step after that.
    """

    def __init__(self, listeners: Sequence[Listener], writers: Sequence[RunWriter]) -> None:
        self.listeners, self.writers = tuple(listeners), writers
        self.dropped = DroppedSteps()
        self._last_step = -1
        self._black_box: BlackBox | None = None
        self._on_step: list[Callable[[StepRecord], object]] = [one.on_step for one in listeners]
        self._store_by: list[Callable[[StepRecord], object]] = [
            self._came,
            *(partial(self._write, writer) for writer in writers),
        ]
        self._store_scalars_by: list[Callable[[ScalarSteps], object]] = [
            self._scalars_came,
            *(partial(self._write_scalars, writer) for writer in writers),
        ]
        self._takers = [*self._on_step, *self._store_by]
        self._ticks: list[Callable[[], object]] = [
            *(one.tick for one in reversed(self.listeners) if hasattr(one, "tick")),
            *(partial(self._tick, writer) for writer in writers),
        ]

    def add_black_box(self, box: BlackBox) -> None:
        """Have a black box keep each step before the listeners see it, and judge it after."""
        self._black_box = box
        box.watch(self.listeners)
        self._takers = [box.record, *self._on_step, box.judge, *self._store_by]

    def _write(self, writer: RunWriter, record: StepRecord) -> None:
        self.dropped.store(writer.write, record)

    def _write_scalars(self, writer: RunWriter, steps: ScalarSteps) -> None:
        if hasattr(writer, "write_scalars"):
            self.dropped.store(writer.write_scalars, steps)
        else:
            _call_each(partial(self._write, writer, one) for one in steps.records())

    def _came(self, record: StepRecord) -> None:
        self.dropped.came(record.step != self._last_step)  # what is added to a step is no other
        self._last_step = record.step

    def _scalars_came(self, steps: ScalarSteps) -> None:
        first, last = steps.numbers[[0, -1], 0].tolist()
        self.dropped.came(len(steps) - (first == self._last_step))
        self._last_step = last

    def _tick(self, writer: RunWriter) -> None:
        self.dropped.store(writer.tick)

    def take(self, record: StepRecord) -> None:
        """Take a step, later than the ones before."""
        _call_each(iter(self._takers), record)

    def take_small(self, worker: str, waiting: Iterable[ScalarRow | StepRecord]) -> None:
        """Take steps later than the ones before, in their order; some are a few numbers only."""
        calls: list[Callable[[], object]] = []
        for are_rows, group in groupby(waiting, key=lambda one: isinstance(one, ScalarRow)):
            if are_rows:
                rows = cast("Iterable[ScalarRow]", group)
                calls += [partial(self.take_scalars, one) for one in ScalarSteps.of(worker, rows)]
            else:
                calls += [partial(self.take, one) for one in cast("Iterable[StepRecord]", group)]
        _call_each(iter(calls))

    def take_scalars(self, steps: ScalarSteps) -> None:
        """Take steps of which there are a few finite numbers only, later than the ones before."""
        box = self._black_box
        keep, judge = [], []
        if box is not None:
            keep, judge = [partial(box.record_scalars, steps)], [partial(box.judge, steps.last())]
        shows = (partial(self._show, one, steps) for one in self.listeners)
        takes = (partial(store, steps) for store in self._store_scalars_by)
        _call_each(chain(keep, shows, judge, takes))

    @staticmethod
    def _show(listener: Listener, steps: ScalarSteps) -> None:
        if hasattr(listener, "on_scalars"):
            listener.on_scalars(steps)
        elif hasattr(listener, "on_sample"):
            listener.on_sample(steps.last())
        else:
            _call_each(partial(listener.on_step, one) for one in steps.records())

    def tick(self) -> None:
        """Called a few times a second, and after the last step."""
        _call_each(iter(self._ticks))

    def store(self) -> None:
        """Have the writers store what they gathered; it waits where the store is away."""
        _call_each(partial(self.store_by, writer) for writer in self.writers)

    def store_by(self, writer: RunWriter) -> None:
        """Have a writer store what it gathered; it waits where the store is away."""
        with suppress(StoreAway):
            self.dropped.store(writer.flush)

    def ending(
        self, state: str, error: str, note: Callable[[], End]
    ) -> Iterator[Callable[[], object]]:
        """Yield what is to be done after the last step, in order; each may raise.

        Args:
            state: How the run ended.
            error: The exception that ended training, if one did.
            note: Returns the note to be stored, with what was lost up to then.
        """
        for listener in self.listeners:
            yield listener.finish
        for writer in self.writers:
            yield partial(self.dropped.store, store_the_last, writer.flush)
        if self._black_box is not None:
            yield partial(self._black_box.close, state, error)
        for writer in self.writers:
            yield partial(_close, writer, note)

    def with_losses(self, note: End, failures: int, first_error: str) -> End:
        """Return a note with what was lost so far.

        Args:
            note: Says how many steps were recorded, and in ``lost`` what never was.
            failures: How often something here raised.
            first_error: What the first was, ``""`` for none.
        """
        refused = max((writer.lost for writer in self.writers), default=0)
        return replace(
            note,
            dropped=self.dropped.count(note.steps, refused),
            failures=failures,
            error=note.error or first_error,
            lost=", ".join(filter(None, [self.dropped.line(note.steps, refused), note.lost])),
        )


def _call_each(calls: Iterator[Callable[..., object]], *arguments: object) -> None:
    """Make the calls in order, each whatever the others raise; raise what was raised last."""
    for call in calls:
        try:
            call(*arguments)
        except BaseException:
            _call_each(calls, *arguments)  # those that are left
            raise


def _close(writer: RunWriter, note: Callable[[], End]) -> None:
    writer.close(note())
