"""``python -m rulebench.certify``: certify every program, and say what was named and accused.

How long that takes is compared with one plain run: ``python train.py`` of the same training steps,
with the start of Python and all that the script imports and reads, as a user waits for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import click

from stepwatch.runtime.process import free_port

from .programs import PROGRAMS, Certified, strangers

_PLAIN_RUN = Path(__file__).with_name("plain_run.py")
#: What a certificate may take, in plain runs of the same steps.
MOST_TIMES = 20.0
_LIMIT_S = 900.0


@dataclass(frozen=True, slots=True)
class Judged:
    """What ``stepwatch certify`` said of a program.

    Args:
        program: The program.
        broken: The relations that break, each with where.
        held: How many hold.
        steps: How many training steps each run had.
        seconds: How long the command took.
        plain_seconds: How long one plain run of the same steps takes, with the start of Python; 0
            if it was not measured.
        training_seconds: How long these steps take without the start of Python and torch.
    """

    program: Certified
    broken: Mapping[str, str]
    held: int
    steps: int
    seconds: float
    plain_seconds: float
    training_seconds: float

    @property
    def outcome(self) -> str:
        """``named``, ``missed``, ``accused`` or ``cleared``; of a fault only what it breaks."""
        if not self.program.breaks:
            return "accused" if self.broken else "cleared"
        return "named" if self.program.breaks & self.broken.keys() else "missed"

    @property
    def times(self) -> float:
        """How many plain runs the command took."""
        return self.seconds / self.plain_seconds


def certify(
    program: Certified, *, steps: int, only: Sequence[str] = (), timed: bool = False
) -> Judged:
    """Certify a program in a folder of its own.

    Args:
        program: The program.
        steps: How many training steps each run has.
        only: These relations; all if empty.
        timed: Whether it is run plainly as well.

    Raises:
        RuntimeError: It cannot be certified.
    """
    options = [part for name in only for part in ("--only", name)]
    with tempfile.TemporaryDirectory(prefix="rulebench-certify-") as folder:
        (Path(folder) / "train.py").write_text(program.text)
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "stepwatch", "certify", "--json", "--steps", str(steps),
             *options, "train.py"],
            cwd=folder, capture_output=True, text=True, check=False, timeout=_LIMIT_S,
        )  # fmt: skip
        seconds = time.monotonic() - began
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{program.name}: {done.stderr[-300:]}")
        said = json.loads(done.stdout)
        relations = said["relations"]
        return Judged(
            program,
            {one["relation"]: one["why"] for one in relations if one["outcome"] == "breaks"},
            sum(one["outcome"] == "holds" for one in relations),
            said["steps"],
            seconds,
            _plain_seconds(folder, said["steps"]) if timed else 0.0,
            said["plain_seconds"],
        )


def _plain_seconds(folder: str, steps: int) -> float:
    """Return how long a program takes for so many training steps, as one process."""
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
    for launched in ({}, {**alone, "MASTER_PORT": str(free_port())}):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, str(_PLAIN_RUN), "train.py", str(steps)],
            cwd=folder, env={**os.environ, **launched}, capture_output=True, check=False,
            timeout=_LIMIT_S,
        )  # fmt: skip
        if not done.returncode:
            return time.monotonic() - began
    raise RuntimeError(done.stderr.decode()[-300:])


def _chosen(only: Sequence[str], batches: Sequence[str], every: int) -> Iterator[Certified]:
    for program in (*PROGRAMS, *strangers(batches, every=every)):
        if not only or any(fnmatchcase(program.name, pattern) for pattern in only):
            yield program


def summary(judged: Sequence[Judged], failed: int) -> list[str]:
    """Return what came of all programs, in lines."""
    if not judged:
        return ["nothing was certified"]
    outcomes = [one.outcome for one in judged]
    named, missed, cleared, accused = map(outcomes.count, ("named", "missed", "cleared", "accused"))
    lines = [
        f"faulty: {named} of {named + missed} named",
        f"healthy: {cleared} of {cleared + accused} cleared, {accused} accused",
    ]
    if failed:
        lines.append(f"not judged: {failed}")
    timed = [one for one in judged if one.plain_seconds]
    if timed:
        times = [one.times for one in timed]
        within = sum(one <= MOST_TIMES for one in times)
        worst = max(timed, key=lambda one: one.times)
        lines += [
            f"time: {within} of {len(timed)} within {MOST_TIMES:g} x a plain run of the same "
            f"steps; median {median(times):.1f} x, most {worst.times:.1f} x "
            f"({worst.program.name})",
            "time without the start of Python: median "
            f"{median(one.seconds / one.training_seconds for one in timed):.1f} x",
        ]
    return lines


@click.command()
@click.option("--only", multiple=True, help="Programs whose name matches; several times.")
@click.option("--relation", multiple=True, help="Only this relation; several times.")
@click.option("--steps", default=8, show_default=True, help="TRAIN steps of each run.")
@click.option(
    "--batch",
    "batches",
    multiple=True,
    help="Also the healthy programs of this batch, as 'batch_*'.",
)
@click.option("--every", default=1, show_default=True, help="Of these, each so-manyth.")
@click.option(
    "--timed/--untimed", default=True, show_default=True, help="Also run each plainly, and compare."
)
def main(
    only: tuple[str, ...],
    relation: tuple[str, ...],
    steps: int,
    batches: tuple[str, ...],
    every: int,
    *,
    timed: bool,
) -> None:
    """Certify faulty and healthy programs, and say how well that does."""
    judged: list[Judged] = []
    failed = 0
    for program in _chosen(only, batches, every):
        if program.needs and find_spec(program.needs) is None:
            print(f"skipped {program.name:36}{program.needs} is not installed")
            continue
        try:
            one = certify(program, steps=steps, only=relation, timed=timed)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"failed  {program.name:36}{' '.join(str(error).split())[-200:]}", flush=True)
            continue
        judged.append(one)
        times = f"{one.times:5.1f} x" if timed else ""
        found = "; ".join(f"{name} at {where}" for name, where in one.broken.items())
        print(f"{one.outcome:8}{program.name:36}{one.held:3} hold {times} {found}", flush=True)
    print("\n".join(summary(judged, failed)))


if __name__ == "__main__":
    main()
