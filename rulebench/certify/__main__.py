"""``python -m rulebench.certify``: certify every program, and say what was named and accused."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

import click

from .programs import PROGRAMS, Certified


def broken(program: Certified, *, steps: int, only: Sequence[str]) -> dict[str, str]:
    """Return the relations that break for a program, each with where.

    Raises:
        RuntimeError: It cannot be certified.
    """
    options = [part for name in only for part in ("--only", name)]
    with tempfile.TemporaryDirectory(prefix="rulebench-certify-") as folder:
        (Path(folder) / "train.py").write_text(program.text)
        done = subprocess.run(
            [sys.executable, "-m", "stepwatch", "certify", "--json", "--steps", str(steps),
             *options, "train.py"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{program.name}: {done.stderr[-300:]}")
    relations = json.loads(done.stdout)["relations"]
    return {one["relation"]: one["why"] for one in relations if one["outcome"] == "breaks"}


def outcome(program: Certified, found: dict[str, str]) -> str:
    """Return ``named``, ``missed``, ``accused`` or ``cleared``; of a fault only what it breaks."""
    if not program.breaks:
        return "accused" if found else "cleared"
    return "named" if program.breaks & found.keys() else "missed"


def _chosen(only: Sequence[str]) -> Iterator[Certified]:
    for program in PROGRAMS:
        if not only or any(fnmatchcase(program.name, pattern) for pattern in only):
            yield program


@click.command()
@click.option("--only", multiple=True, help="Programs whose name matches; several times.")
@click.option("--relation", multiple=True, help="Only this relation; several times.")
@click.option("--steps", default=8, show_default=True, help="TRAIN steps of each run.")
def main(only: tuple[str, ...], relation: tuple[str, ...], steps: int) -> None:
    """Certify faulty and healthy programs, and say how well that does."""
    counts: dict[str, int] = {}
    for program in _chosen(only):
        if program.needs and find_spec(program.needs) is None:
            print(f"skipped {program.name:32}{program.needs} is not installed")
            continue
        found = broken(program, steps=steps, only=relation)
        result = outcome(program, found)
        counts[result] = counts.get(result, 0) + 1
        print(f"{result:8}{program.name:32}{'; '.join(f'{k} at {v}' for k, v in found.items())}")
    print(", ".join(f"{number} {what}" for what, number in counts.items()))


if __name__ == "__main__":
    main()
