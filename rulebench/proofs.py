"""The part proved: how often ``stepwatch prove`` proves the fault, and how often something else.

Each program is recorded by ``stepwatch run`` with a snapshot of every step, as a user would to have
a cause proved, and then ``stepwatch prove`` is asked for the cause of what was found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .causes import PROVED_BY
from .program import Program

#: The groups of faults of which a replay may show the cause.
GROUPS = ("numbers", "rate", "data", "bit flip")
RIGHT, WRONG, NOT = "right", "wrong", "not proved"
_ROOT = Path(__file__).parents[1]
_SCRIPT = Path(__file__).with_name("train_one.py")
_RECORDED = ("--snapshot", "every=1", "--black-box", "640", "--quiet")
_CANNOT = 2


@dataclass(frozen=True)
class Attempt:
    """What became of one program with one seed.

    Args:
        program: Its name.
        seed: The seed.
        group: Its group.
        fault: What is wrong with it; empty for a healthy one.
        rule: Whose finding was to be proved; empty where nothing was found.
        cause: What was proved; empty if nothing was.
        text: The proof in words, or why there is none.
    """

    program: str
    seed: int
    group: str
    fault: str
    rule: str
    cause: str
    text: str

    @property
    def outcome(self) -> str:
        """Whether the fault was proved, something else, or nothing."""
        if not self.cause:
            return NOT
        return RIGHT if self.cause in PROVED_BY.get(self.fault, ()) else WRONG


def attempt(program: Program, group: str, seed: int, runs: Path) -> Attempt:
    """Record a program, unless its run is there, and ask for the cause of what was found.

    Runs of which the fault was proved are removed; the others are kept, to be looked at.
    """
    run = runs / f"proved-{program.name}-{seed}-{program.digest()}"
    marker = run / "run.json"
    if not marker.exists():
        shutil.rmtree(run, ignore_errors=True)
        # A faulty training may end by any exception: what it recorded is there all the same.
        _stepwatch("run", "--run", str(run), *_RECORDED, str(_SCRIPT), program.name, str(seed))
    status, output, error = _stepwatch("prove", str(run), "--json", "--trust")
    known = (program.name, seed, group, program.cause)
    if status >= _CANNOT or not output:
        said = error.strip().splitlines()
        return Attempt(*known, "", "", said[-1] if said else f"ended with status {status}")
    proof = json.loads(output)["proof"]
    found = Attempt(*known, proof["rule"], proof["cause"], proof["text"])
    if found.outcome == RIGHT:
        shutil.rmtree(run)
    return found


def _stepwatch(*arguments: str) -> tuple[int, str, str]:
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "stepwatch", *arguments],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def table(attempts: Iterable[Attempt]) -> str:
    """Return how many there were of each outcome, by group, as Markdown."""
    groups: dict[str, list[Attempt]] = {}
    for one in attempts:
        groups.setdefault(one.group, []).append(one)
    rows = [_row(group, some) for group, some in groups.items()]
    faulty = [one for some in groups.values() for one in some if one.fault]
    if faulty:
        rows.append(_row("all faults", faulty))
    head = ("group", "trainings", "proved right", "proved wrong", "not proved")
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(name: str, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    counts = Counter(one.outcome for one in attempts)
    share = counts[RIGHT] / len(attempts)
    right = f"{counts[RIGHT]} ({share:.0%})"
    return name, str(len(attempts)), right, str(counts[WRONG]), str(counts[NOT])
