"""The same questions to the real smdebug, on runs of a size that it can finish.

One run is written in smdebug's format, and one of as many steps and tensors in ours. The real
smdebug 1.0.34 opens the first in its own environment; Stepwatch opens both.

    STEPWATCH_TREATY_PYTHON=PATH python bench/scale_rival.py [--steps N --tensors N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scale import ask, forget
from scale_run import tensor_name, write_run

from stepwatch.formats import RunTarget, Selection, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.smdebug.collections import RAW, SavedCollection
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize
from stepwatch.store import open_store

SIZES = ((2_000, 100), (20, 10_000))
ASK_REAL = """
import json, re, sys, time
start = time.perf_counter()
from smdebug.trials import create_trial
imported = time.perf_counter()
trial = create_trial(sys.argv[1])
opened = time.perf_counter()
if sys.argv[2] == "series":
    tensor = trial.tensor(sys.argv[3])
    found = len([float(tensor.value(step).mean()) for step in tensor.steps()])
else:
    step = int(sys.argv[3])
    found = len([trial.tensor(name).value(step) for name in trial.tensor_names(step=step)])
answered = time.perf_counter()
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024 / 1e6
print(json.dumps({"open_s": opened - imported, "answer_s": answered - opened, "peak_mb": peak,
                  "found": found}))
"""


def write_smdebug_run(folder: Path, steps: int, tensors: int) -> None:
    """Write a run in smdebug's format: a number for each tensor and step."""
    arrays = {tensor_name(number): np.ones(1, np.float32) for number in range(tensors)}
    layout = Layout(tuple(TensorInfo(name, "weights", "float32", (1,)) for name in arrays))
    rows = np.stack([summarize(array) for array in arrays.values()])
    manifest = Manifest("scale", time.time_ns(), run_format="smdebug")
    collections = [SavedCollection("weights", (r"\.weight$",))]
    writer = open_writer(
        RunTarget(open_store(folder), "worker_0", manifest), Selection(lambda *_: RAW, collections)
    )
    for step in range(steps):
        writer.write(StepRecord("worker_0", Mode.TRAIN, step, step, step, layout, rows, arrays))
    writer.close(End("finished", time.time_ns()))


def ask_real(python: str, folder: Path, question: str, what: object) -> dict[str, float]:
    """Return what one question costs the real smdebug."""
    quiet = {"SMDEBUG_LOG_LEVEL": "critical", "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0"}
    command = [python, "-W", "ignore", "-c", ASK_REAL, str(folder), question, str(what)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **quiet}
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(python: str, folder: Path, steps: int, tensors: int, repeats: int) -> None:
    """Ask all three both questions in turns, and print a line for each."""
    old, native = folder / "smdebug", folder / "native"
    write_smdebug_run(old, steps, tensors)
    write_run(native, steps, tensors)
    questions = {"series": (tensor_name(tensors // 2), steps), "step": (steps // 2, tensors)}
    for question, (what, expected) in questions.items():
        found: dict[str, list[dict[str, float]]] = {}
        for _ in range(repeats):
            forget(folder)
            answers = {
                "real smdebug": ask_real(python, old, question, what),
                "Stepwatch, smdebug format": ask(str(old), 0, question, what),
                "Stepwatch, native": ask(str(native), 0, question, what),
            }
            for name, answer in answers.items():
                assert answer["found"] == expected, name
                found.setdefault(name, []).append(answer)
        for name, several in found.items():
            median = {
                key: statistics.median(one[key] for one in several)
                for key in ("open_s", "answer_s", "peak_mb")
            }
            print(
                f"  {question:6} {name:26} open {median['open_s']:6.2f} s, "
                f"answer {median['answer_s']:6.2f} s, peak {median['peak_mb']:.0f} MB"
            )


def main() -> None:
    """Make the runs, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--tensors", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    python = os.environ.get("STEPWATCH_TREATY_PYTHON")
    if python is None:
        sys.exit("$STEPWATCH_TREATY_PYTHON names no Python with the real smdebug; run: make treaty")
    sizes = ((arguments.steps, arguments.tensors),) if arguments.steps else SIZES
    for steps, tensors in sizes:
        print(f"{steps:,} steps x {tensors:,} tensors, cold:")
        with tempfile.TemporaryDirectory(prefix="stepwatch-scale-") as folder:
            compare(python, Path(folder), steps, tensors, arguments.repeats)


if __name__ == "__main__":
    main()
