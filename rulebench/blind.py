"""The blind part: programs that somebody wrote who has not read the rules, each batch seen once.

A batch is a folder of ``batches``: programs, ``answers.json`` with what is wrong with which, and
``first_look.json`` with what was detected and named when it was run for the first time. What it
taught is mended afterwards, so only first looks count; from then on a batch is a test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from stepwatch.formats.findings import read_findings
from stepwatch.model.finding import Finding
from stepwatch.store import open_store

BATCHES = Path(__file__).with_name("batches")
_LIMIT_S = 300.0


@dataclass(frozen=True)
class Answer:
    """What is known of a program.

    Args:
        faulty: Whether anything is wrong with it.
        framework: What it is written with.
        text: What is wrong, or why it looks odd and is right.
    """

    faulty: bool
    framework: str
    text: str


@dataclass(frozen=True)
class BlindRun:
    """What plain ``stepwatch run`` found in a program.

    Args:
        name: Of the program.
        answer: What is known of it.
        alarms: Its warnings and errors, one of each rule and condition.
        status: The exit status; a healthy program that ends otherwise than by 0 was hurt by us.
    """

    name: str
    answer: Answer
    alarms: tuple[Finding, ...]
    status: int = 0


def programs(batch: Path) -> dict[Path, Answer]:
    """Return the programs of a batch, and what is known of each."""
    known: Mapping[str, Mapping[str, str]] = json.loads((batch / "answers.json").read_text())
    found = {}
    for path in sorted((batch / "programs").glob("*.py")):
        one = known[path.stem.partition("_")[0]]
        text = one.get("fault") or one.get("why_odd", "")
        found[path] = Answer(bool(one["faulty"]), one["framework"], text)
    return found


def run_batch(batch: Path, python: str = sys.executable) -> Iterator[BlindRun]:
    """Run each program of a batch as a user does, one after the other.

    Args:
        batch: The folder.
        python: An interpreter that has Stepwatch and the frameworks.
    """
    for path, answer in programs(batch).items():
        with tempfile.TemporaryDirectory() as folder:
            command = [python, "-m", "stepwatch", "run", "--quiet", "--run", "run", str(path)]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            ended = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
            found = tuple(alarms(Path(folder) / "run"))
            yield BlindRun(path.stem, answer, found, ended.returncode)


def alarms(run: Path) -> Iterator[Finding]:
    """Yield the warnings and errors of a run, one of each rule and condition."""
    seen: set[tuple[str, str]] = set()
    for line in read_findings(open_store(run)) if run.exists() else ():
        finding = Finding.from_json(line)
        kind = finding.rule, finding.condition
        if finding.severity != "info" and kind not in seen:
            seen.add(kind)
            yield finding


def first_looks() -> list[str]:
    """Return the table of first looks, in lines of Markdown."""
    lines = [
        "| batch | faulty | detected | cause named | healthy | accused |",
        "|---|---|---|---|---|---|",
    ]
    looks = BATCHES.glob("*/first_look.json")
    for path in sorted(looks, key=lambda one: int(one.parent.name.rpartition("_")[2])):
        look = json.loads(path.read_text())
        faulty, healthy = look["faulty"], look["healthy"]
        cells = [
            path.parent.name,
            str(faulty),
            _of(look["detected"], faulty),
            _of(look["named"], faulty),
            str(healthy),
            _of(look["accused"], healthy),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


#: How hard to notice a fault is, as its author said it.
_DIFFICULTIES = {
    "obvious": ("1", "obvious"),
    "medium": ("2", "medium", "late, medium"),
    "subtle": ("3", "subtle", "late, subtle", "subtle, late"),
}


#: The frameworks of programs, by how their authors began to name them.
_FRAMEWORKS = {
    "Keras": ("keras", "tensorflow"),
    "PyTorch, PyTorch Geometric": ("torch", "pyg"),
    "Lightning": ("lightning",),
    "Transformers, PEFT, TRL": ("transformers", "peft"),
    "JAX": ("jax",),
    "XGBoost, LightGBM, CatBoost": ("xgboost", "lightgbm", "catboost"),
}


def by_difficulty() -> list[str]:
    """Return the first looks by how hard each fault is to notice, in lines of Markdown."""
    return [
        "| to notice, says the author | faulty | detected | cause named |",
        "|---|---|---|---|",
        *(
            _row(title, [one for one in _faults() if str(one.answer.get("level")) in words])
            for title, words in _DIFFICULTIES.items()
        ),
    ]


def by_framework(last: int) -> list[str]:
    """Return the first looks of the last batches by framework, in lines of Markdown.

    Args:
        last: How many batches.
    """
    newest = max(one.batch for one in _faults()) - last
    return [
        f"| the last {last} batches | faulty | detected | cause named |",
        "|---|---|---|---|",
        *(
            _row(
                title,
                [
                    one
                    for one in _faults()
                    if one.batch > newest and str(one.answer["framework"]).startswith(begins)
                ],
            )
            for title, begins in _FRAMEWORKS.items()
        ),
    ]


class _Fault(NamedTuple):
    """A faulty program at its first look."""

    batch: int
    answer: dict[str, Any]
    is_detected: bool
    is_named: bool


def _faults() -> Iterator[_Fault]:
    for path in BATCHES.glob("*/first_look.json"):
        look = json.loads(path.read_text())
        number = int(path.parent.name.rpartition("_")[2])
        for program, answer in json.loads(path.with_name("answers.json").read_text()).items():
            if answer["faulty"]:
                found = program in look["detected"], program in look["named"]
                yield _Fault(number, answer, *found)


def _row(title: str, faults: Sequence[_Fault]) -> str:
    counts = (sum(one.is_detected for one in faults), sum(one.is_named for one in faults))
    shares = (f"{count} ({count / len(faults):.0%})" for count in counts)
    return f"| {title} | {len(faults)} | {' | '.join(shares)} |"


def _of(names: Sequence[str], total: int) -> str:
    return f"{len(names)} ({len(names) / total:.0%})"
