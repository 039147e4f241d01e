"""Resumes a run, as a training goes on from a checkpoint.

What was stored of the first step that is recorded anew, and of all that follow, is removed before
the run says that it is resumed: a follower never takes old steps for new ones. The first worker
also removes what is left of workers that are gone, so nobody waits for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from ..errors import ConfigError, RunExists
from ..model.steps import Mode
from ..store import Store
from .findings import keep_findings
from .interface import RunReader, StepRange
from .manifest import (
    RUN_KEY,
    Manifest,
    Process,
    end_key,
    read_ends,
    read_processes,
    worker_key,
    write_process,
)
from .profile import parts as profile
from .smdebug.layout import CLAIM_KEY, END_KEY


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a run is resumed.

    Args:
        step: The first global step that is recorded anew.
        within: The same as each mode counts.
    """

    step: int
    within: Mapping[Mode, int]


def resume_point(
    reader: RunReader, store: Store, train_step: int, num_workers: int, *, is_first: bool
) -> tuple[ResumePoint, Manifest]:
    """Return where a run is to be resumed, and its manifest.

    Args:
        reader: Reads it.
        store: Where it lies.
        train_step: The first TRAIN step that is recorded anew.
        num_workers: How many workers go on.
        is_first: Whether the calling worker is the first.

    Raises:
        RunExists: It is still being written.
        ConfigError: It has another number of workers.
    """
    there = reader.manifest
    first = Process.of(there)
    if is_first and "worker_0" not in read_ends(store) and first.is_here and first.may_run():
        raise RunExists(f"{store.url} is still being written; resume it when it has ended")
    if there.num_workers != num_workers:
        raise ConfigError(
            f"{store.url} has {there.num_workers} workers, and {num_workers} are to go on with "
            "it; start as many, or a new run"
        )
    reader.refresh()
    ranges = [range_ for worker in reader.workers for range_ in reader.step_ranges(worker)]
    return _resume_point(ranges, train_step), there


def _resume_point(ranges: Iterable[StepRange], train_step: int) -> ResumePoint:
    ranges = list(ranges)
    behind = [_first_from(one, train_step) for one in ranges if one.mode is Mode.TRAIN]
    known = [step for step in behind if step is not None]
    step = min(known, default=1 + max((one.last for one in ranges), default=-1))
    within = dict.fromkeys(Mode, 0)
    for one in ranges:
        if one.first < step:
            count = min(one.count, -(-(step - one.first) // (one.stride or 1)))
            last = one.mode_first + (count - 1) * one.mode_stride
            within[one.mode] = max(within[one.mode], last + 1)
    return ResumePoint(step, {**within, Mode.TRAIN: train_step})


def _first_from(range_: StepRange, mode_step: int) -> int | None:
    """Return the first global step of a range that its mode counts as this or later."""
    if range_.mode_last < mode_step:
        return None
    number = max(0, -(-(mode_step - range_.mode_first) // (range_.mode_stride or 1)))
    return range_.first + number * range_.stride


def resumed_manifest(manifest: Manifest, there: Manifest, start: ResumePoint) -> Manifest:
    """Return the manifest of a run from here on: the same run, by another process."""
    return replace(
        manifest,
        run_id=there.run_id,
        started_ns=there.started_ns,
        run_format=there.run_format,
        resumes=(*there.resumes, start.step),
    )


def resume_worker(
    store: Store,
    worker: str,
    manifest: Manifest,
    start: ResumePoint,
    *,
    is_first: bool,
    truncate: Callable[[Store, str, int], object],
) -> None:
    """Remove what a worker records anew, and store that it is resumed.

    Args:
        store: Where the run lies.
        worker: Who goes on.
        manifest: What the run is, by ``resumed_manifest``.
        start: Where it goes on.
        is_first: Whether it is the first worker.
        truncate: Removes what a worker stored of a step and of all that follow.
    """
    processes = read_processes(store)
    gone = {worker}
    if is_first:
        store.delete(END_KEY)
        store.delete(CLAIM_KEY)
        others = {f"worker_{number}" for number in range(1, manifest.num_workers)}
        gone |= {one for one in others if one not in processes or not processes[one].may_run()}
    else:  # said first, so that the first worker leaves it alone
        write_process(store, worker, Process.of(manifest))
    for one in gone:
        truncate(store, one, start.step)
        profile.truncate_spans(store, one, start.step)
        store.delete(end_key(one))
        if one != worker:
            store.delete(worker_key(one))
    keep_findings(store, worker, start.step)
    if is_first:
        store.put(RUN_KEY, manifest.to_json())
