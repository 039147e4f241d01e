"""Measurements in processes of their own: each way alone, and the real smdebug."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from footprint import Footprint
from rounds import Timed
from ways import Written

HERE = Path(__file__).parent
QUIET = {"SMDEBUG_LOG_LEVEL": "critical", "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0"}
#: The real smdebug's ways, and how its script names them.
SMDEBUG = {"smdebug-statistics": "reductions", "smdebug-raw-10": "raw"}
SMDEBUG_NONE = "smdebug-none"


class ProcessFailed(RuntimeError):
    """A process ended with an error; the message is what it said last."""


def find_smdebug() -> str | None:
    """Return the interpreter with the real smdebug, ``None`` where there is none."""
    usual = Path("~/.cache/stepwatch/treaty/bin/python").expanduser()
    python = os.environ.get("STEPWATCH_TREATY_PYTHON", str(usual))
    return python if Path(python).exists() else None


def footprint_alone(kind: str, way: str, folder: Path, steps: int) -> Footprint:
    """Return what one of our ways, or of the rivals in process, takes when it trains alone."""
    script = str(HERE / "alone.py")
    found = ask([sys.executable, "-W", "ignore", script, kind, way, str(folder), str(steps)], 1)
    return Footprint(**found)


def smdebug_footprint(python: str, kind: str, way: str, folder: Path, steps: int) -> Footprint:
    """Return the same of the real smdebug; of ``SMDEBUG_NONE`` without a hook."""
    saved = SMDEBUG.get(way, "none")
    return Footprint(**ask([*smdebug(python), kind, saved, str(folder), str(steps), "alone"], 1))


def smdebug_times(
    python: str, kind: str, way: str, folder: Path, steps: int, mode: str
) -> tuple[Timed, Timed]:
    """Return what the real smdebug took, and what training without it did in that process."""
    command = [*smdebug(python), kind, SMDEBUG[way], str(folder), str(steps), mode]
    found = ask(command, torch.get_num_threads())
    watched = Timed(found["watched"], found["recompiled"], Written(found["size_bytes"]))
    return watched, Timed(found["plain"])


def smdebug(python: str) -> list[str]:
    return [python, "-W", "ignore", str(HERE / "smdebug_rival.py")]


def ask(command: Sequence[str], threads: int) -> dict[str, Any]:
    """Run a script on so many threads and return what it printed last, as JSON.

    Raises:
        ProcessFailed: It ended with an error.
    """
    environment = {**os.environ, **QUIET, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise ProcessFailed(said[-1])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
