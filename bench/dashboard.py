"""How long the dashboard takes until something is on the screen, of runs as large as people make.

Serves runs by the command, looks at them with a real browser (Debian's chromium), and prints the
median of several visits, each in a new profile, beside what is promised.

    python bench/dashboard.py [--quick] [--folder KEPT] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from scale_run import write_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.store import open_store
from stepwatch.testing import make_record
from tests.browser.chromium import Chromium

STEPWATCH = Path(sys.executable).with_name("stepwatch")
SIZES = {"long": (1_000_000, 100), "wide": (100, 20_000)}
QUICK = {"long": (20_000, 20), "wide": (10, 2_000)}
NUM_RUNS, LIVE_STEPS = 10, 10
#: What is promised.
TARGETS = {
    "verdict of the long run, ms": 300,
    "its loss curve, ms": None,
    "heat map of the wide run, ms": 1000,
    "live step on the screen, ms": 3000,
    "memory with ten runs open, MB": 500,
}
# Notes when each element was on the screen: a task after the frame that shows it.
_NOTE = """
window.shownAt = {};
const selectors = %s;
new MutationObserver(() => {
  for (const selector of selectors) {
    if (selector in shownAt || !document.querySelector(selector)?.textContent.length) continue;
    shownAt[selector] = 0;
    requestAnimationFrame(() => setTimeout(() => { shownAt[selector] = performance.now(); }));
  }
}).observe(document, { subtree: true, childList: true, characterData: true });
"""
_VERDICT, _LOSSES, _LAYERS = (
    ".banner .headline",
    ".columns figure .js-plotly-plot .main-svg",
    ".page > figure .js-plotly-plot .main-svg",
)


@contextmanager
def served(place: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Serve the runs at a place by the command."""
    command = [str(STEPWATCH), "dash", str(place), "--port", "0", "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    found = re.search(r"http\S+", server.stdout.readline())
    assert found
    try:
        yield found[0], psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def shown_ms(browser: Chromium, address: str, *selectors: str) -> list[float]:
    """Return for each selector how long after the visit began it was on the screen."""
    script = _NOTE % json.dumps(selectors)
    with browser.visit(address, script=script, timeout_s=120) as visit:
        found = [
            visit.page.wait_for_function("selector => shownAt[selector]", arg=selector)
            for selector in selectors
        ]
        return [one.json_value() for one in found]


def of_large_runs(browser: Chromium, folder: Path, repeats: int) -> dict[str, list[float]]:
    """Visit the pages of large runs again and again."""
    found: dict[str, list[float]] = {name: [] for name in list(TARGETS)[:3]}
    with served(folder / "long") as (address, _):
        page = f"{address}#/run?run=long"
        first = shown_ms(browser, page, _VERDICT, _LOSSES)
        print(f"  the very first visit: verdict {first[0]:.0f} ms, losses {first[1]:.0f} ms")
        for _ in range(repeats):
            verdict, losses = shown_ms(browser, page, _VERDICT, _LOSSES)
            found["verdict of the long run, ms"].append(verdict)
            found["its loss curve, ms"].append(losses)
    for _ in range(repeats):  # each time a new server: what it has read is not counted
        with served(folder / "wide") as (address, _):
            page = f"{address}#/run?run=wide&collection=gradients&statistic=l2"
            verdict, layers = shown_ms(browser, page, _VERDICT, _LAYERS)
            found["heat map of the wide run, ms"].append(layers - verdict)
    return found


def of_live_steps(browser: Chromium, folder: Path) -> list[float]:
    """Write steps, and see how long each takes to be on the screen."""
    shutil.rmtree(folder / "live", ignore_errors=True)
    store = open_store(folder / "live")
    start_run(store, Manifest("live", time.time_ns(), pid=0))
    writer = NativeWriter(store, "worker_0")
    writer.write(make_record(0, {"loss/mse": np.float32(1)}))
    writer.flush()
    found = []
    with served(folder / "live") as (address, _), browser.visit(address) as visit:
        for step in range(1, LIVE_STEPS + 1):
            visit.page.get_by_text(f"{step} step", exact=False).first.wait_for()
            written = time.monotonic()
            writer.write(make_record(step, {"loss/mse": np.float32(step)}))
            while not visit.page.get_by_text(f"{step + 1} steps").count():
                writer.tick()  # four times a second, as in a training
                visit.page.wait_for_timeout(50)
            found.append((time.monotonic() - written) * 1000)
    writer.close(End("finished", time.time_ns(), LIVE_STEPS + 1))
    return found


def memory_mb(browser: Chromium, folder: Path) -> float:
    """Return what the server takes once it has shown ten runs, the large ones among them."""
    for number in range(NUM_RUNS - 2):
        if not (folder / f"small-{number}/end").is_dir():
            write_run(folder / f"small-{number}", 1000, 50, "gradients")
    names = ["long", "wide", *(f"small-{number}" for number in range(NUM_RUNS - 2))]
    with served(folder) as (address, process):
        for name in names:
            shown_ms(browser, f"{address}#/run?run={name}", _VERDICT, _LOSSES, _LAYERS)
        return process.memory_info().rss / 1e6


def measure(folder: Path, sizes: dict[str, tuple[int, int]], repeats: int) -> None:
    """Make the runs that are not there yet, look at them, and print what it took."""
    for name, (steps, tensors) in sizes.items():
        if not (folder / name / "end").is_dir():
            write_run(folder / name, steps, tensors, "gradients")
        print(f"{name}: {steps:,} steps x {tensors:,} tensors")
    with Chromium() as browser:
        found = of_large_runs(browser, folder, repeats)
        found["live step on the screen, ms"] = of_live_steps(browser, folder)
        found["memory with ten runs open, MB"] = [memory_mb(browser, folder)]
    for name, target in TARGETS.items():
        median = statistics.median(found[name])
        said = "" if target is None else f"of {target}: {'kept' if median < target else 'MISSED'}"
        spread = f"{min(found[name]):.0f} to {max(found[name]):.0f}"
        print(f"  {name}: {median:.0f} ({spread}) {said}")


def main() -> None:
    """Make the runs and print what they take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small runs; a minute")
    parser.add_argument("--folder", type=Path, help="keep the runs here, and take those there")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else SIZES
    if arguments.folder is not None:
        measure(arguments.folder, sizes, arguments.repeats)
        return
    with tempfile.TemporaryDirectory(prefix="stepwatch-dashboard-") as folder:
        measure(Path(folder), sizes, arguments.repeats)


if __name__ == "__main__":
    main()
