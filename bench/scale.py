"""What it takes to open a run as large as people make them, and to ask it something.

Makes runs by the writer of the format, puts each question to each in a process that has done
nothing before, and prints seconds, requests, bytes and peak memory, the median of several.

    python bench/scale.py [--quick] [--steps N --tensors N] [--latency-ms N ...] [--compact]
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scale_run import compact_run, tensor_name, write_run

SIZES = ((1_000_000, 100), (2_000, 20_000))
QUICK = ((20_000, 20), (20, 2_000))
# What is promised, for each: seconds to open, seconds to answer, megabytes at most.
TARGETS = {"open_s": 1.0, "answer_s": 0.5, "peak_mb": 500.0}
COLUMNS = (
    "import_s",
    "open_s",
    "open_requests",
    "open_mb",
    "answer_s",
    "answer_requests",
    "answer_mb",
    "cpu_s",
    "peak_mb",
)


def ask(run: str, latency_s: float, question: str, what: object) -> dict[str, float]:
    """Return what one question costs a fresh process."""
    script = Path(__file__).with_name("scale_ask.py")
    command = [sys.executable, str(script), run, str(latency_s), question, str(what)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def forget(folder: Path) -> bool:
    """Take the files of a run out of the page cache; return whether that can be done here."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)  # what is not on the disk yet would stay
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
    return True


def measure(
    folder: Path, steps: int, tensors: int, latencies_ms: list[float], repeats: int
) -> None:
    """Ask a run both questions at each distance, and print a line for each."""
    name = tensor_name(tensors * 2 // 5)
    questions = {
        "curve": (name, steps),
        "series": (name, steps),
        "step": (steps * 5 // 9, tensors),
    }
    for latency_ms in latencies_ms:
        for question, (what, expected) in questions.items():
            found = []
            for _ in range(repeats):
                cold = forget(folder)
                found.append(ask(str(folder), latency_ms / 1000, question, what))
            assert all(one["found"] == expected for one in found)
            print(_line(question, latency_ms, found, cold=cold))


def _line(question: str, latency_ms: float, found: list[dict[str, float]], *, cold: bool) -> str:
    median = {name: statistics.median(one[name] for one in found) for name in COLUMNS}
    missed = [name for name, most in TARGETS.items() if median[name] >= most]
    return (
        f"  {question:6} {latency_ms:3.0f} ms a request, {'cold' if cold else 'warm'}: "
        f"open {median['open_s']:.2f} s ({median['open_requests']:.0f} requests, "
        f"{median['open_mb']:.1f} MB), answer {median['answer_s']:.2f} s "
        f"({median['answer_requests']:.0f} requests, {median['answer_mb']:.1f} MB), "
        f"CPU {median['cpu_s']:.2f} s, peak {median['peak_mb']:.0f} MB, "
        f"import {median['import_s']:.2f} s: "
        + (f"missed: {', '.join(missed)}" if missed else "within the targets")
    )


@contextmanager
def _run(arguments: argparse.Namespace, steps: int, tensors: int) -> Iterator[Path]:
    """Make a run, or take the one that was kept."""
    if arguments.folder is None:
        with tempfile.TemporaryDirectory(prefix="stepwatch-scale-") as folder:
            write_run(Path(folder), steps, tensors)
            yield Path(folder)
        return
    kept = arguments.folder / f"{steps}x{tensors}"
    if not (kept / "end").is_dir():
        write_run(kept, steps, tensors)
    yield kept


def main() -> None:
    """Make the runs and print what they take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--tensors", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="small runs; seconds")
    parser.add_argument("--folder", type=Path, help="keep the runs here, and take those there")
    parser.add_argument("--latency-ms", type=float, nargs="+", default=[0, 20])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--compact", action="store_true", help="ask again after compacting")
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else SIZES
    if arguments.steps:
        sizes = ((arguments.steps, arguments.tensors),)
    for steps, tensors in sizes:
        started = time.perf_counter()
        with _run(arguments, steps, tensors) as folder:
            made = time.perf_counter() - started
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            print(f"{steps:,} steps x {tensors:,} tensors, {size / 1e9:.2f} GB, in {made:.0f} s")
            parts = len(list((folder / "observations").rglob("*.parquet")))
            print(f" as the training left it, {parts} parts:")
            measure(folder, steps, tensors, arguments.latency_ms, arguments.repeats)
            if arguments.compact:
                compact_run(folder)
                parts = len(list((folder / "observations").rglob("*.parquet")))
                print(f" after stepwatch compact, {parts} parts:")
                measure(folder, steps, tensors, arguments.latency_ms, arguments.repeats)


if __name__ == "__main__":
    main()
