"""Takes a run up again, as a training goes on from a checkpoint.

What was stored of the step at which it goes on, and of those after, is removed before the run
says that it is taken up: who follows it never sees old steps for new ones. The first worker
removes also what workers left that are not there again; so nobody waits for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..errors import ConfigError, RunExists, RunNotFound
from ..steps import Mode
from ..store import Store
from .findings import keep_findings
from .manifest import Manifest, read_ends
from .native import resume as native
from .native.reader import NativeReader
from .notes import RUN_KEY, end_key, worker_key
from .profile import resume as profile
from .reader import RunReader
from .smdebug import resume as smdebug
from .smdebug.layout import CLAIM_KEY, END_KEY
from .smdebug.reader import SmdebugReader
from .step_range import StepRange
from .workers import Process, read_processes, write_process


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run is taken up again.

    Args:
        step: The first global step that is recorded anew.
        within: The same as each mode counts.
    """

    step: int
    within: Mapping[Mode, int]


def find_start(
    store: Store, train_step: int, num_workers: int, *, is_first: bool
) -> tuple[Start, Manifest]:
    """Return where a run is to be taken up again, and what it is.

    Args:
        store: Where it lies.
        train_step: The first TRAIN step that is recorded anew.
        num_workers: How many workers go on.
        is_first: Whether the worker that asks is the one that begins a run.

    Raises:
        RunNotFound: There is no run.
        RunExists: It is still being written.
        ConfigError: It has another number of workers.
    """
    reader = _open(store)
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
    return _start(ranges, train_step), there


def _open(store: Store) -> RunReader:
    try:
        there = Manifest.from_json(RUN_KEY, store.get(RUN_KEY))
    except FileNotFoundError:
        raise RunNotFound(f"no run to resume at {store.url}: it holds no {RUN_KEY}") from None
    return NativeReader(store) if there.run_format == "native" else SmdebugReader(store)


def _start(ranges: Iterable[StepRange], train_step: int) -> Start:
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
    return Start(step, {**within, Mode.TRAIN: train_step})


def _first_from(range_: StepRange, mode_step: int) -> int | None:
    """Return the first global step of a range that its mode counts as this or later."""
    if range_.mode_last < mode_step:
        return None
    number = max(0, -(-(mode_step - range_.mode_first) // (range_.mode_stride or 1)))
    return range_.first + number * range_.stride


def resumed(manifest: Manifest, there: Manifest, start: Start) -> Manifest:
    """Return what a run is from here on: the same, by another process."""
    return replace(
        manifest,
        run_id=there.run_id,
        started_ns=there.started_ns,
        run_format=there.run_format,
        resumes=(*there.resumes, start.step),
    )


def take_up(store: Store, worker: str, manifest: Manifest, start: Start, *, is_first: bool) -> None:
    """Make room for what a worker records anew, and say that it does.

    Args:
        store: Where the run lies.
        worker: Who goes on.
        manifest: What the run is, by ``resumed``.
        start: Where it goes on.
        is_first: Whether it is the one that begins a run.
    """
    cut = native.cut if manifest.run_format == "native" else smdebug.cut
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
        cut(store, one, start.step)
        profile.cut(store, one, start.step)
        store.delete(end_key(one))
        if one != worker:
            store.delete(worker_key(one))
    keep_findings(store, worker, start.step)
    if is_first:
        store.put(RUN_KEY, manifest.to_json())
