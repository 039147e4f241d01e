"""The verbs that keep runs: ``compact``, ``convert``, ``mirror`` and ``verify``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial

import click
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from ..errors import ConfigError, NotAFile, RunExists, RunNotFound, StoreError
from ..formats import run_format
from ..formats.convert import convert as convert_run
from ..formats.convert import copy_findings, target_names
from ..formats.copying import RunCopy, changes, list_keys
from ..formats.native.merge import compact as compact_parts
from ..formats.native.reader import NativeReader
from ..formats.outage import LONGEST_PAUSE_S, PAUSE_S
from ..formats.salvage import OverlayStore
from ..formats.verification import Damage, Verification
from ..formats.verification import verify as verify_run
from ..judge.verdict import plural
from ..runtime.terminal import print_text
from ..store import Store, clear, open_store, scheme_of
from ..store.local import local_path
from ..trial import Trial
from .console import print_json, progress_console, track_progress, working
from .fleets import attempt_each, labels
from .run_names import RUN, RunVerb, expand_runs


@click.command(cls=RunVerb)
@click.argument("run", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing where all went well.")
def compact(run: str, *, as_json: bool, quiet: bool) -> None:
    """Merge the parts of RUN, so that it opens and reads faster.

    Nothing is lost.
    """
    trial = Trial(run)
    if not trial.ended:
        raise ConfigError(f"{run} is still being written; compact it when it has ended")
    if not isinstance(trial.reader, NativeReader):
        raise ConfigError(
            f"{run} is in the smdebug format, which has no parts to merge; to get a native run: "
            f"stepwatch convert {run} DST --to native"
        )
    num_salvaged = 0
    if isinstance(trial.store, OverlayStore):
        trial.store.persist()
        num_salvaged = trial.num_salvaged
    parts = {}
    for worker in track_progress(trial.workers, description="compacting", total=len(trial.workers)):
        before = trial.reader.parts(worker)
        try:
            now = compact_parts(trial.store, before)
        except StoreError as error:  # parts go after the one that replaces them is there
            raise StoreError(
                f"{error}; nothing of the run is lost; call it again to go on"
            ) from None
        parts[worker] = {"before": len(before), "now": now}
    if as_json:
        print_json({"run": trial.url, "salvaged_steps": num_salvaged, "parts": parts})
    elif not quiet:
        if num_salvaged:
            print_text(f"{num_salvaged} steps of the black box are stored")
        for worker, counts in parts.items():
            print_text(f"{worker}: {counts['before']} parts before, {counts['now']} now")


@click.command(cls=RunVerb)
@click.argument("source", type=RUN, metavar="SRC")
@click.argument("destination", metavar="DST")
@click.option(
    "--to",
    "target",
    type=click.Choice(target_names()),
    required=True,
    help="The format to write: Stepwatch's own, smdebug's, or TensorBoard's event files.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, and say only what is lost.")
@click.option(
    "--ray", "on_ray", is_flag=True, help="On a Ray cluster, whose nodes see SRC and DST."
)
def convert(
    source: str, destination: str, target: str, *, as_json: bool, quiet: bool, on_ray: bool
) -> int:
    """Write the run SRC to DST in another format; SRC stays as it is.

    What the other format cannot hold is listed. Where SRC is a folder or URL that runs lie beneath,
    or a pattern that runs fit, such as 'runs/2026-*', each goes to a folder of its name in DST.
    """
    runs = expand_runs([source])
    if runs != [source] or on_ray:
        return _convert_each(runs, destination, target, as_json=as_json, on_ray=on_ray)
    trial = Trial(source)
    with _progress_bar(trial) as progress:
        done = _convert(trial, source, destination, target, partial(progress.advance, _TASK))
    if as_json:
        print_json(done.facts())
        return 0
    if not quiet:
        print_text(
            f"{destination}: {done.steps} steps of {done.tensors} tensors in the {target} format"
        )
    if not trial.ended:
        print_text(f"{source} has not ended; what it held just now was converted")
    if done.not_held:
        print_text(f"the {target} format cannot hold:")
    for line in done.not_held:
        print_text(f"  {line}")
    return 0


@dataclass(frozen=True, slots=True)
class _Converted:
    """A run that was written in another format.

    Args:
        not_held: What that cannot hold.
    """

    source: str
    destination: str
    format: str
    state: str
    steps: int
    tensors: int
    not_held: list[str]

    def facts(self) -> dict[str, object]:
        facts = asdict(self)
        del facts["tensors"]
        return facts


def convert_run_at(source: str, destination: str, target: str) -> _Converted:
    """Write a run in another format."""
    return _convert(Trial(source), source, destination, target, lambda: None)


def _convert(
    trial: Trial, source: str, destination: str, target: str, advance: Callable[[], None]
) -> _Converted:
    if target == run_format(trial.store):
        raise ConfigError(f"{source} is in the {target} format already; copy its folder")
    store = open_store(destination)
    if run_format(store) is not None:
        raise RunExists(f"{destination} already holds a run; give another DST, or delete it")
    if store.list():
        raise ConfigError(f"{destination} is not empty; give another DST")
    with _undone_if_broken_off(store):
        losses = convert_run(trial.reader, store, target, advance).lines()
        if target == "tensorboard":
            if trial.store.list("findings/"):
                losses.append("what rules found: TensorBoard has no place for it")
        else:
            copy_findings(trial.store, store)
    steps, tensors = len(trial.steps(incomplete=True)), len(trial.tensor_names())
    return _Converted(source, destination, target, trial.state, steps, tensors, losses)


def _convert_each(
    runs: Sequence[str], destination: str, target: str, *, as_json: bool, on_ray: bool
) -> int:
    place = destination if scheme_of(destination) else os.path.abspath(destination)
    calls = [
        (run, f"{place.rstrip('/')}/{label}", target)
        for run, label in zip(runs, labels(runs), strict=True)
    ]
    done = attempt_each(convert_run_at, calls, description="converting", on_ray=on_ray)
    converted = [one.value for one in done if one.value is not None]
    if as_json:
        print_json({"runs": [one.facts() for one in converted]})
    else:
        print_text(f"{destination}: {plural(len(converted), 'run')} in the {target} format")
        for line in dict.fromkeys(line for one in converted for line in one.not_held):
            print_text(f"  it cannot hold {line}")
    return 0 if len(converted) == len(done) else 2


@contextmanager
def _undone_if_broken_off(store: Store) -> Iterator[None]:
    """Leave nothing behind of a conversion that did not come to its end, or say what is left."""
    try:
        yield
    except BaseException as error:
        try:
            clear(store)
        except StoreError:
            raise StoreError(
                f"{error}; what was written of it to {store.url} is to be deleted by hand"
            ) from error
        raise


@contextmanager
def _progress_bar(trial: Trial) -> Iterator[Progress]:
    workers = trial.workers
    total = sum(range_.count for one in workers for range_ in trial.reader.step_ranges(one))
    columns = (TextColumn("converting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    output = progress_console()
    hidden = output.quiet or not (output.is_terminal and sys.stderr.isatty())
    with Progress(*columns, console=output, transient=True, disable=hidden) as progress:
        progress.add_task("steps", total=total)
        yield progress


_TASK = TaskID(0)  # the only one; rich counts from 0


_POLL_S = 2.0


@click.command(cls=RunVerb)
@click.argument("run", type=RUN)
@click.argument("url")
@click.option(
    "--patience",
    "patience_s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds for which a store that refuses is tried again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what is left out or refused.")
def mirror(run: str, url: str, patience_s: float, *, as_json: bool, quiet: bool) -> None:
    """Copy RUN to URL, such as s3://bucket/run, while it goes on.

    What is there already is not copied again, so it may be broken off and called again. It ends
    when the run has ended.
    """
    source, target = open_store(run), open_store(url)
    if source.url == target.url:
        raise ConfigError(f"{url} is the run itself; give another place")
    if not source.list():
        raise RunNotFound(
            f"no run at {local_path(source.url)}; to list runs: stepwatch runs FOLDER"
        )
    trial = _mirrored_trial(source)
    copy, before = RunCopy(source, target), set[str]()
    while True:
        is_over = trial is None or trial.ended  # read first: nothing is written after that
        keys = set(list_keys(source))
        for key in keys ^ before | {key for key in keys if changes(key)}:
            copy.note(key)
        before = keys
        _advance_mirror(copy, patience_s)
        if is_over:
            break
        time.sleep(_POLL_S)
        if trial is not None:
            trial.refresh()
    for why in copy.left_out.values():
        print_text(f"left out: {why}", file=sys.stderr)
    if as_json:
        facts = {"source": source.url, "destination": target.url, "copied": copy.copied}
        print_json({**facts, "left_out": copy.left_out})
    elif not quiet:
        what = "all" if not copy.left_out else "the files"
        here, there = local_path(source.url), local_path(target.url)
        print_text(f"{there} holds {what} of {here}; {copy.copied} files were copied")


def _advance_mirror(copy: RunCopy, patience_s: float) -> None:
    """Copy what is not copied yet; try again for so long after the store refused first."""
    began, pause_s = time.monotonic(), PAUSE_S
    while True:
        try:
            return copy.advance()
        except NotAFile:
            raise
        except StoreError as error:
            if time.monotonic() + pause_s > began + patience_s:
                raise StoreError(
                    f"{error}; tried again for {time.monotonic() - began:.0f} s: "
                    f"{plural(copy.copied, 'file')} were copied before, {copy.waiting} wait; "
                    "call it again to go on"
                ) from None
            if pause_s == PAUSE_S:
                print_text(f"{error}; it is tried again", file=sys.stderr)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _mirrored_trial(source: Store) -> Trial | None:
    """Return the run; ``None`` where only some of its workers wrote, and no reader knows it."""
    try:
        return Trial(source)
    except RunNotFound:
        return None


@click.command(cls=RunVerb)
@click.argument("run", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(run: str, *, as_json: bool) -> int:
    """Read all of RUN, and say what in it is damaged.

    What has a checksum is compared with it. The exit status is 0 where nothing is damaged, 1 where
    something is, 2 for an error.
    """
    store = open_store(run)
    with working("reading all of it"):
        found = verify_run(store)
    if as_json:
        facts = {"run": store.url, "files": found.num_files, "full_values": found.num_values}
        rest = {"full_values": found.num_unchecked, "files": found.unchecked_files}
        print_json({**facts, "damaged": [asdict(one) for one in found.damages], "unchecked": rest})
    else:
        for one in found.damages:
            print_text(f"damaged: {_damage_text(one)}")
        print_text(_verification_text(run, found))
    return 1 if found.damages else 0


def _damage_text(damage: Damage) -> str:
    step = "" if damage.step is None else f"step {damage.step}"
    about = ", ".join(filter(None, (step, damage.tensor)))
    offset = "" if damage.offset is None else f" at byte {damage.offset}"
    return f"{damage.key}{offset}{about and f' ({about})'}: {damage.reason}"


def _verification_text(run: str, found: Verification) -> str:
    what = f"{run}: {found.num_files} files and {found.num_values} full values read"
    lines = [f"{what}, {len(found.damages) or 'nothing'} damaged"]
    if found.num_unchecked:
        values = "1 has" if found.num_unchecked == 1 else f"{found.num_unchecked} have"
        lines.append(
            f"  of the full values {values} no checksum: they can be read, no more is known"
        )
    if found.unchecked_files:
        files = (
            "1 file has"
            if len(found.unchecked_files) == 1
            else f"{len(found.unchecked_files)} files have"
        )
        lines.append(f"  {files} checksums of pages alone, as an older release wrote them")
    return "\n".join(lines)
