"""``stepwatch replay RUN --step N``: run a recorded step again and say whether it is the same."""

from __future__ import annotations

import math
import os
import pickle
import shlex
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from ..diff.comparison import NOT_COMPUTED, Compared, Outcome, compare_steps, outcome_of
from ..errors import ConfigError, RunExists, StepUnavailable, TrainingStopped
from ..formats import RunTarget, open_writer, run_format
from ..formats.blackbox import SNAPSHOT_FRAME, Frame, read_frames
from ..formats.known_runs import is_known, remember
from ..formats.manifest import FIRST_WORKER, End, Manifest, script_digest
from ..model.record import StepRecord
from ..runtime.process import identity
from ..runtime.secrets import MASK
from ..store import Store, clear, open_store
from ..store.local import local_path
from ..trial import Trial
from ..trial.alternatives import AS_RECORDED, Alternative
from ..trial.recording import (
    Recording,
    drawn_rows,
    find_options,
    find_record,
    find_recording,
)
from .blackbox import why_no_black_box
from .console import console, print_json, table
from .launch import Script
from .replays import Replays, Task
from .run_names import RUN, RunVerb
from .script_command import TRUST

if TYPE_CHECKING:
    from ..hooks.torch.replay.replay import ReplayHook


class StopsAtStep(Protocol):
    """What gives a script its steps, and stops it by ``TrainingStopped`` after the last."""

    @property
    def refusal(self) -> str:
        """Why the steps could not be run; empty if they could."""

    @property
    def over(self) -> bool:
        """Whether the last step was run, or will not be."""

    def close(self) -> object:
        """The script has ended."""


def run_again(manifest: Manifest, hook: ReplayHook) -> tuple[StepRecord, str]:
    """Run the script of a run in this process, in the folder in which it ran.

    Args:
        manifest: The manifest of the run.
        hook: Gives the script its recorded steps.

    Returns:
        The last of the steps, as it was this time; and how the script ended, if it did so by
        itself within that step.

    Raises:
        StepUnavailable: The script is gone, is another, or did not come to the step.
    """
    how = run_until(manifest, hook)
    if hook.record is None:
        raise StepUnavailable(f"the script did not come to the end of the step: {how}")
    return hook.record, how


def run_until(manifest: Manifest, hook: StopsAtStep) -> str:
    """Run the script of a run in this process; return how it ended, if it did so by itself.

    Args:
        manifest: The manifest of the run.
        hook: Stops it.

    Raises:
        StepUnavailable: The script is gone, is another, or did not come to the step.
    """
    script = _script(manifest)
    how = "it ended"
    try:
        script.execute()
    except TrainingStopped:
        how = ""
    except (Exception, SystemExit) as raised:  # noqa: BLE001  a script may end in any way
        how = f"it ended by {type(raised).__name__}: {raised}".removesuffix(": ")
    hook.close()
    if hook.refusal:
        raise StepUnavailable(hook.refusal)
    if not hook.over:
        raise StepUnavailable(f"{script.name} did not come to the end of the step: {how}")
    return how


def leave_answer(place: Path, answer: object) -> None:
    """Leave what a process found in a file for the one that started it, which sees all or nothing.

    Args:
        place: The file, in a folder that only this user can read.
        answer: What can be pickled.
    """
    half_done = place.with_name(f"{place.name}.part")
    half_done.write_bytes(pickle.dumps(answer))
    half_done.rename(place)


def _script(manifest: Manifest) -> Script:
    """Return the script that wrote a run, in its folder; raise if it is gone or has changed."""
    name, *arguments = manifest.command
    if manifest.folder:
        try:
            os.chdir(manifest.folder)
        except OSError as error:
            why = f"the script ran in {manifest.folder}: {error.strerror}"
            raise StepUnavailable(why) from None
    is_module = not manifest.script_sha256 and not os.path.exists(name)
    script = Script(name, tuple(arguments), is_module=is_module)
    script.check()
    if manifest.script_sha256 != script_digest(manifest.command):
        raise StepUnavailable(
            f"{name} is not what it was when it ran; check out the version that ran"
        )
    return script


@contextmanager
def script_output(*, to_stderr: bool, quiet: bool) -> Iterator[None]:
    """Let what a script prints through, or not; also what is printed in C.

    Args:
        to_stderr: Whether its standard output goes to standard error.
        quiet: Whether neither goes anywhere.
    """
    saved = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        _flush()
        if to_stderr:
            os.dup2(2, 1)
        if quiet:
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        yield
    finally:
        _flush()
        for number, copy in enumerate(saved, 1):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


NOT_REPRODUCED_STATUS = 1
_MOST_ROWS = 10
_LOGGED_LOSS = "loss/Trainer"  # by transformers, when the step is over
_ALIKE = (Outcome.SAME, Outcome.SAME_STATISTICS)
_OWN_LOSS = (
    "the loss is computed by the script itself: what it compares the outputs with is not recorded"
)
_WHY_CLOSE = "so it is where the order of a sum varies; --deterministic may give the same bits"
_WHY_DIFFERENT = (
    "state, batch and random numbers were the recorded ones; what may differ: a kernel that is not "
    "deterministic (try --deterministic), a random generator of the script's own, what the script "
    "reads from elsewhere, or the hardware; run it again to see whether it repeats"
)


@click.command(cls=RunVerb)
@click.argument("run", type=RUN)
@click.option(
    "--step", "number", type=int, required=True, help="The TRAIN step, as findings count."
)
@click.option("--to", help="Where to write the step as it was run again; RUN/replay-N by default.")
@click.option(
    "--deterministic",
    is_flag=True,
    help="Let torch use deterministic algorithms only; it fails where there is none.",
)
@TRUST
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the script prints to stderr.")
@click.option("-q", "--quiet", is_flag=True, help="Hide what the script prints.")
def replay(
    run: str,
    number: int,
    to: str | None,
    *,
    deterministic: bool,
    trust: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run a step of RUN again, and say whether it is the same.

    This runs the program that RUN names. Where you did not make RUN on this machine, the program
    is shown, and you are asked first.

    It begins with the state, batch and random numbers in the black box of RUN. The script is run
    up to this step and not beyond; of a run of several processes all of them run it together, on
    this machine. The exit status is 0 if the step was reproduced, as far as was
    recorded or within tolerance, 1 if not, 2 if it cannot be run again.
    """
    trial = Trial(run)
    recorded = find_recorded(trial, number)
    check_trusted(trial, trust=trust)
    target = _open_target(trial.store, number, to)
    manifest = trial.reader.manifest
    with script_output(to_stderr=as_json, quiet=quiet):
        if len(recorded) > 1:
            again = _run_together(manifest, recorded, deterministic=deterministic)
        else:
            again = [run_again(manifest, make_hook(recorded[0], deterministic=deterministic))]
    records = [
        replace(record, step=one.record.step, mode_step=number, worker=one.record.worker)
        for one, (record, _) in zip(recorded, again, strict=True)
    ]
    _write(target, manifest, records)
    results = [
        _Result(one, record, target, compare_steps(one.record, record), how)
        for one, record, (_, how) in zip(recorded, records, again, strict=True)
    ]
    if not all(result.compared for result in results):
        raise StepUnavailable(f"step {number} and its replay have no tensor in common")
    worst = max(results, key=lambda one: list(Outcome).index(one.outcome))
    if as_json:
        by_worker = [one.to_dict() for one in results] if len(results) > 1 else []
        print_json({**worst.to_dict(), "workers": by_worker})
    else:
        _show(results, worst)
    return NOT_REPRODUCED_STATUS if worst.outcome is Outcome.DIFFERENT else 0


def _workers(trial: Trial) -> list[str]:
    """Return the workers of a run by their ranks; raise StepUnavailable where some are missing."""
    size = max(trial.reader.manifest.num_workers, len(trial.workers))
    if size == 1:
        return [*trial.workers][:1] or [FIRST_WORKER]
    workers = [f"worker_{rank}" for rank in range(size)]
    for worker in workers:
        if worker not in trial.workers:
            raise StepUnavailable(
                f"all {size} processes would run the step together, and {trial.path} has nothing "
                f"of {worker}"
            )
    return workers


def _show(results: Sequence[_Result], worst: _Result) -> None:
    """Print what came of each process, and of the worst one in full."""
    if len(results) > 1:
        for one in results:
            if one is not worst:
                line = f"{one.record.worker}: {one.headline()}"
                console().print(line, style="dim", markup=False, soft_wrap=True)
    worst.show(f"{worst.record.worker}: " if len(results) > 1 else "")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A step of a run, and what it takes to run it again."""

    trial: Trial
    record: StepRecord
    recording: Recording
    options: dict[int, dict[int, dict[str, Any]]]
    drawn: dict[int, Any]  # as ``drawn_rows`` returns it

    @property
    def where(self) -> str:
        return f"TRAIN step {self.record.mode_step}"


def find_recorded(trial: Trial, number: int) -> list[Recorded]:
    """Return a TRAIN step of a run, as each worker saw it, by rank.

    Raises:
        StepUnavailable: It cannot be run again.
    """
    last = f"to see the last steps: stepwatch blackbox {trial.path}"
    found = []
    for worker, frames in frames_by_worker(trial).items():
        record = find_record(trial, frames, number, worker)
        try:
            recording = find_recording(frames, number)
        except StepUnavailable as error:
            raise StepUnavailable(f"{error}; {last}") from None
        recording.check_complete()
        options = find_options(trial, frames)
        found.append(Recorded(trial, record, recording, options, drawn_rows(frames)))
    return found


def frames_by_worker(trial: Trial) -> dict[str, list[Frame]]:
    """Return the black box of each worker by its name, without snapshots that some do not have.

    Raises:
        StepUnavailable: Some have none.
    """
    workers = _workers(trial)
    found = {}
    for worker in workers:
        frames = read_frames(trial.store, worker if len(workers) > 1 else None)
        if not frames:
            whose = f" of {worker}" if len(workers) > 1 else ""
            raise StepUnavailable(
                f"{trial.path} has no black box{whose}: {why_no_black_box(trial)}; one is kept for "
                "replay by: stepwatch run --snapshot every=K"
            )
        found[worker] = frames
    common = set.intersection(
        *(
            {one.mode_step for one in frames if one.kind == SNAPSHOT_FRAME}
            for frames in found.values()
        )
    )
    return {
        worker: [one for one in frames if one.kind != SNAPSHOT_FRAME or one.mode_step in common]
        for worker, frames in found.items()
    }


def check_trusted(trial: Trial, *, trust: bool) -> None:
    """Return if the program of a run may be run, which the user is asked for a stranger's.

    Raises:
        ConfigError: Nobody is there to be asked, or the answer is no.
    """
    manifest = trial.reader.manifest
    if MASK in " ".join(manifest.command):
        raise StepUnavailable(
            "an argument of the program was a secret, which is not recorded; for runs to be "
            "replayed, give secrets by environment variables"
        )
    if is_known(manifest):
        return
    if not trust:
        output = console(stderr=True)
        lines = {
            "run": trial.url,
            "program": shlex.join(manifest.command),
            "in folder": manifest.folder,
            "made on": f"{manifest.host}, {time.ctime(manifest.started_ns / 1e9)}",
        }
        output.print("You did not make this run here, and replay runs its program:", style="bold")
        for name, value in lines.items():
            output.print(f"  {name:<10}{value}", markup=False, soft_wrap=True)
        if not (sys.stdin and sys.stdin.isatty()):
            raise ConfigError("nothing was run; look at the program, and if you trust it: --trust")
        if not click.confirm("Run it?", err=True):
            raise ConfigError("nothing was run")
    remember(manifest)


def _open_target(store: Store, number: int, to: str | None) -> Store:
    """Return where the replayed step goes; an earlier replay at the default path is removed."""
    if to is None:
        target = open_store(f"{store.url.rstrip('/')}/replay-{number}")
        clear(target)
        return target
    target = open_store(to)
    if run_format(target) is not None:
        raise RunExists(f"{to} already holds a run; give another --to, or delete it")
    if target.list():
        raise ConfigError(f"{to} is not empty; give another --to")
    return target


def make_hook(recorded: Recorded, *, deterministic: bool) -> ReplayHook:
    """Return the hook that gives the script a step."""
    # Now and not when the script does: a script that makes a hook imports this before torch.
    from ..hooks.torch.replay.replay import ReplayHook

    return ReplayHook(recorded.recording, recorded.options, deterministic=deterministic)


def _run_together(
    manifest: Manifest, recorded: Sequence[Recorded], *, deterministic: bool
) -> list[tuple[StepRecord, str]]:
    """Run a step again in as many processes as recorded it; return what ``run_again`` does."""
    tasks = [
        Task(manifest, one.recording, options=one.options, limit_s=math.inf,
             deterministic=deterministic)
        for one in recorded
    ]  # fmt: skip
    with Replays(tasks, "replay", shows_output=True) as replays:
        again = replays.run(Alternative(AS_RECORDED, AS_RECORDED))
    if again[0].error:
        raise StepUnavailable(again[0].error)
    return [(one.records[-1], one.facts["ended"]) for one in again]


def _write(target: Store, manifest: Manifest, records: Sequence[StepRecord]) -> None:
    """Write a step as each worker saw it this time, the first one first."""
    about = replace(
        manifest,
        run_id=uuid.uuid4().hex,
        started_ns=records[0].time_ns,
        pid=os.getpid(),
        process=identity(),
        collections=(),
        run_format="native",
        debugger_collections={},
    )
    writers = [
        open_writer(RunTarget(target, one.worker, about, is_first=one is records[0]))
        for one in records
    ]
    for writer, record in zip(writers, records, strict=True):
        writer.write(record)
    for writer in reversed(writers):  # nobody joins what the first one has ended
        writer.close(End("finished", time.time_ns(), 1))


@dataclass(frozen=True, slots=True)
class _Result:
    """How near the replayed step is to the recorded one."""

    recorded: Recorded
    record: StepRecord
    target: Store
    compared: Sequence[Compared]
    how_it_ended: str

    @property
    def outcome(self) -> Outcome:
        return Outcome.DIFFERENT if self.gone else outcome_of(list(self.compared))

    @property
    def gone(self) -> list[str]:
        """What was recorded and not seen again; what scripts and trainers log may come too late."""
        again = self.record.layout.row_of
        tensors = self.recorded.record.layout.tensors
        kinds = {"scalars", "tensors", "metrics", *NOT_COMPUTED}
        return [
            one.name
            for one in tensors
            if one.name not in again and one.collection not in kinds and one.name != _LOGGED_LOSS
        ]

    @property
    def others(self) -> list[Compared]:
        """What is not the same, in the order of execution."""
        return [one for one in self.compared if one.outcome not in _ALIKE]

    def headline(self) -> str:
        where, total = self.recorded.where, len(self.compared)
        if self.outcome is Outcome.SAME:
            return f"{where} was reproduced bit for bit: {total} tensors {self.evidence()}"
        if self.outcome is Outcome.SAME_STATISTICS:
            return f"{where} was reproduced: {self.agreement()}"
        worse = [one for one in self.others if one.outcome is self.outcome]
        if not worse and self.how_it_ended:
            return f"{where} was NOT reproduced: it broke off after {total} tensors"
        if not worse:
            gone = f"{len(self.gone)} recorded tensors did not come back"
            return f"{where} was NOT reproduced: {gone}, the first is {self.gone[0]}"
        first = f"{len(worse)} of {total} tensors differ, the first is {worse[0].name}"
        if self.outcome is Outcome.CLOSE:
            return f"{where} was reproduced within tolerance: {first}"
        return f"{where} was NOT reproduced: {first}"

    def agreement(self) -> str:
        """Return how many are the same, such as ``5 tensors bit for bit, 11 with ...``."""
        proven = sum(one.outcome is Outcome.SAME for one in self.compared)
        rest = len(self.compared) - proven
        if not proven:
            return f"{rest} tensors with the same statistics"
        tensors = "tensor" if proven == 1 else "tensors"
        return f"{proven} {tensors} bit for bit, {rest} with the same statistics"

    def evidence(self) -> str:
        """Return by what tensors were compared, such as ``(4 by value, 9 by statistics)``."""
        ways = [one.by for one in self.compared]
        counts = [f"{ways.count(way)} by {way}" for way in dict.fromkeys(ways)]
        return f"({', '.join(counts)})"

    def notes(self) -> list[str]:
        """Return what else is to be known, a line each."""
        gone = self.gone
        notes = [f"not seen again: {len(gone)} recorded tensors, such as {gone[0]}"] if gone else []
        if self.how_it_ended:
            notes.append(f"the script was not stopped after the step: {self.how_it_ended}")
        if self.outcome in _ALIKE:
            return notes
        losses = [frame for one in self.recorded.recording.steps[-1] for frame in one.losses]
        if "loss/backward" in self.recorded.record.layout.row_of and not losses:
            notes.append(_OWN_LOSS)
        if len(self.recorded.recording.steps) > 1:
            first = self.recorded.recording.first
            notes.append(f"the snapshot is of TRAIN step {first}: it may have begun since there")
        return [*notes, _WHY_CLOSE if self.outcome is Outcome.CLOSE else _WHY_DIFFERENT]

    def show(self, prefix: str = "") -> None:
        output = console()
        output.print(prefix + self.headline(), style="bold", markup=False)
        for note in self.notes():
            output.print(f"  {note}", style="dim", markup=False, soft_wrap=True)
        if self.others:
            columns = ("tensor", "outcome", "by", "at", "recorded", "replayed", "ulp", "relative")
            output.print(table(columns, [_row(one) for one in self.others[:_MOST_ROWS]]))
        if len(self.others) > _MOST_ROWS:
            output.print(f"  and {len(self.others) - _MOST_ROWS} more")
        output.print(
            f"written to {local_path(self.target.url)}", style="dim", markup=False, soft_wrap=True
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "run": self.recorded.trial.url,
            "step": self.record.step,
            "mode_step": self.record.mode_step,
            "outcome": str(self.outcome),
            "headline": self.headline(),
            "notes": self.notes(),
            "replay": self.target.url,
            "tensors": [{**asdict(one), "outcome": str(one.outcome)} for one in self.compared],
        }


def _row(one: Compared) -> tuple[object, ...]:
    """Return a row of the table; numbers with all the digits that tell them apart."""
    ulp = "" if one.ulp is None else f"{one.ulp:g}"
    return (
        one.name,
        one.outcome,
        one.by,
        one.at,
        f"{one.recorded:.9g}",
        f"{one.replayed:.9g}",
        ulp,
        f"{one.relative:.2g}",
    )
