"""What a black box holds of the steps that lead to one, so that they can be run again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import StepUnavailable
from ..formats.blackbox import (
    BEGIN_FRAME,
    DATA_ROWS,
    LOSS_FRAME,
    MERGE_FRAME,
    OPTIONS,
    SNAPSHOT_FRAME,
    Frame,
    step_records,
)
from ..model.record import StepRecord
from ..model.steps import Mode
from ..numerics.statistics import SUM
from .trial import Trial


@dataclass(frozen=True, slots=True)
class Forward:
    """One call of a model in a TRAIN step.

    Args:
        begin: Its batch, and the states of the random generators before it.
        losses: A frame for each loss that was called until the next model was: what it was given
            besides outputs.
    """

    begin: Frame
    losses: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A step, and what it takes to run it again.

    Args:
        first: The step of the snapshot, counted within TRAIN.
        snapshot: The state of models and optimizers in that step.
        steps: The calls of models in each step from there to the wanted one.
        evaluations: The calls of models in evaluations meanwhile, which are not in the black box:
            known once the steps were run again.
    """

    first: int
    snapshot: Frame
    steps: tuple[tuple[Forward, ...], ...]
    evaluations: tuple[Forward, ...] = ()

    @property
    def forwards(self) -> list[Forward]:
        """All calls of models, in order."""
        return [forward for step in self.steps for forward in step]

    def check_complete(self) -> None:
        """Raise StepUnavailable if something could not be kept, or did not fit the black box."""
        frames = [one for forward in self.forwards for one in (forward.begin, *forward.losses)]
        for frame in (self.snapshot, *frames):
            for name, why in _left_out(frame):
                # Not where no room would do, as for a sparse tensor.
                of_room = "; it gets more room by: stepwatch run --black-box MB"
                raise StepUnavailable(
                    f"{name} of TRAIN step {frame.mode_step} is not in the black box: {why}"
                    + (of_room if " bytes " in why else "")
                )


def _left_out(frame: Frame) -> Iterator[tuple[str, str]]:
    """Yield what a frame lacks, and why."""
    meta: Mapping[str, Any] = frame.meta
    if "left_out" in meta:
        yield "a forward" if frame.kind == BEGIN_FRAME else "the state", meta["left_out"]
    yield from meta.get("missing", {}).items()
    for name, kept in {**meta.get("batch", {}), **meta.get("targets", {})}.items():
        if "left_out" in kept:
            yield name, kept["left_out"]


def find_recording(
    frames: Sequence[Frame], mode_step: int, *, begins: int | None = None
) -> Recording:
    """Return what it takes to run a step again, from the nearest snapshot at or before it.

    Args:
        frames: Of one worker, in order.
        mode_step: The step, counted within TRAIN.
        begins: The snapshot is the nearest at or before this step instead, or the first one after
            it with every batch since.

    Raises:
        StepUnavailable: There is no snapshot, or the batch of a step since is gone.
    """
    forwards, snapshots = _by_step(frames)
    first = _first_of(mode_step, forwards, snapshots)
    if first is None:
        can = as_ranges(replayable_steps(frames))
        raise StepUnavailable(
            f"no snapshot at or before TRAIN step {mode_step} with every batch since; "
            + (f"can be replayed: TRAIN {can}" if can else "no step can be replayed")
            + "; to have more of them: stepwatch run --snapshot every=K"
        )
    if begins is not None:
        first = _first_since(begins, first, forwards, snapshots)
    steps = range(first, mode_step + 1)
    return Recording(first, snapshots[first], tuple(tuple(forwards[step]) for step in steps))


def replayable_steps(frames: Iterable[Frame]) -> list[int]:
    """Return the TRAIN steps that ``find_recording`` finds, as TRAIN counts them, ascending."""
    forwards, snapshots = _by_step(frames)
    return [step for step in sorted(forwards) if _first_of(step, forwards, snapshots) is not None]


def _first_of(
    step: int, forwards: Mapping[int, object], snapshots: Mapping[int, Frame]
) -> int | None:
    """Return the nearest snapshot at or before a step with every batch since."""
    while step in forwards and step not in snapshots:
        step -= 1
    return step if step in forwards else None


def _first_since(
    begins: int, last: int, forwards: Mapping[int, object], snapshots: Mapping[int, Frame]
) -> int:
    """Return the nearest snapshot at or before a step, else the first after it, up to ``last``."""
    step = first = last
    while step in forwards and first > begins:
        if step in snapshots and "left_out" not in snapshots[step].meta:
            first = step
        step -= 1
    return first


def forwards_and_snapshots(
    frames: Iterable[Frame],
) -> tuple[dict[int, tuple[Forward, ...]], dict[int, Frame]]:
    """Return the calls of models, and the snapshots, by TRAIN step."""
    forwards, snapshots = _by_step(frames)
    return {step: tuple(calls) for step, calls in forwards.items()}, snapshots


def _by_step(frames: Iterable[Frame]) -> tuple[dict[int, list[Forward]], dict[int, Frame]]:
    """Return the calls of models, and the snapshots, by TRAIN step."""
    forwards: dict[int, list[Forward]] = {}
    snapshots: dict[int, Frame] = {}
    last: list[Forward] = []
    for frame in frames:
        step = frame.mode_step
        if frame.kind == BEGIN_FRAME:
            last = forwards.setdefault(step, [])
            last.append(Forward(frame, ()))
        elif frame.kind == LOSS_FRAME and last:
            last[-1] = replace(last[-1], losses=(*last[-1].losses, frame))
        elif frame.kind == SNAPSHOT_FRAME:
            snapshots[step] = frame
        elif frame.kind == MERGE_FRAME:  # no step had begun, so it was no state before one
            last = forwards.setdefault(int(frame.meta["into"]), [])
            last += forwards.pop(step, [])
            snapshots.pop(step, None)
    return forwards, snapshots


def find_record(
    trial: Trial, frames: Sequence[Frame], mode_step: int, worker: str | None = None
) -> StepRecord:
    """Return a TRAIN step as it was recorded: by the run, by its black box, or by both.

    Args:
        trial: A run.
        frames: Of the black box of the worker.
        mode_step: The step, counted within TRAIN.
        worker: Whose; ``None`` for the only one.

    Raises:
        StepUnavailable: It was not recorded.
    """
    records = (record for record in step_records(frames) if record.mode is Mode.TRAIN)
    boxed = {record.mode_step: record for record in records}
    stored = dict(zip(trial.steps(Mode.TRAIN), trial.global_steps(Mode.TRAIN), strict=True))
    if mode_step not in stored:
        if mode_step not in boxed:
            known = sorted({*stored, *boxed})
            there = f"; there are {as_ranges(known)}" if known else ""
            raise StepUnavailable(f"TRAIN step {mode_step} was not recorded{there}")
        return boxed[mode_step]
    together = next(iter(trial.records(after=stored[mode_step] - 1)))
    (record,) = [one for one in together if worker in (None, one.worker)]
    if mode_step in boxed:
        return replace(record, raw={**boxed[mode_step].raw, **record.raw})
    return record


def drawn_rows(frames: Iterable[Frame]) -> dict[int, Any]:
    """Return the rows that were drawn last before each call of a model, by the frame's number."""
    return {
        frame.sequence: frame.arrays[DATA_ROWS]
        for frame in frames
        if frame.kind == BEGIN_FRAME and DATA_ROWS in frame.arrays
    }


def find_options(trial: Trial, frames: Sequence[Frame]) -> dict[int, dict[int, dict[str, Any]]]:
    """Return what was recorded of the options of optimizers.

    Learning rates are those at the step of the optimizer; of other options, as a momentum that a
    schedule changes, those as the TRAIN step began, where the run has snapshots.

    Returns:
        By TRAIN step, number of the parameter group and name of the option.
    """
    found: defaultdict[int, defaultdict[int, dict[str, Any]]]
    found = defaultdict(lambda: defaultdict(dict))
    for frame in frames:
        for number, options in frame.meta.get(OPTIONS, {}).items():
            found[frame.mode_step][int(number)] = dict(options)
    for record in step_records(frames):
        if record.mode is Mode.TRAIN:
            rows = {name: record.statistics[row] for name, row in record.layout.row_of.items()}
            for number, rate in _learning_rates({name: rows[name][SUM] for name in rows}):
                found[record.mode_step][number]["lr"] = rate
    for name in trial.tensor_names(collection="learning_rates"):
        series = trial.tensor(name).statistics(Mode.TRAIN)
        for mode_step, value in zip(series.mode_steps.tolist(), series["sum"], strict=True):
            for number, rate in _learning_rates({name: value}):
                found[mode_step][number]["lr"] = rate
    return {step: dict(groups) for step, groups in found.items()}


def _learning_rates(values: Mapping[str, float]) -> Iterator[tuple[int, float]]:
    prefix = "learning_rate/"
    for name, value in values.items():
        if name.startswith(prefix) and name.removeprefix(prefix).isdigit():
            yield int(name.removeprefix(prefix)), float(value)


def as_ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers in a readable way.

    Example:
        >>> as_ranges([0, 1, 2, 5, 7, 8])
        '0-2, 5, 7-8'
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, ends)) for ends in ranges)
