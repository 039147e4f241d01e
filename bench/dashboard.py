"""What the dashboard takes: bytes, time until it is on the screen, and what a live page costs.

Serves runs by the command, looks at them with a real browser (Debian's chromium), and prints the
median of several visits, each in a new profile, beside what is promised. With ``--others`` a Python
that has TensorBoard and trackio serves the same run, converted, and the first page of each is
measured in the same session.

    python bench/dashboard.py [--quick] [--folder KEPT] [--repeats N] [--minutes M] [--others PY]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scale_run import write_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.store import open_store
from stepwatch.testing import make_record
from tests.browser.chromium import Chromium, Visit

STEPWATCH = Path(sys.executable).with_name("stepwatch")
SIZES = {"long": (100_000, 40), "wide": (100, 3000)}
QUICK = {"long": (5000, 40), "wide": (10, 600)}
LIVE_STEPS, LIVE_PARAMETERS = 10, 29
#: What is promised, of each number that is measured.
TARGETS: dict[str, float | None] = {
    "first page over the wire, kB": 250,
    "second visit over the wire, kB": None,
    "headline of the long run, ms": 300,
    "all its figures, ms": 1000,
    "heat map of the wide run, ms": 1000,
    "layout shift": 0.05,
    "live step on the screen, ms": 3000,
    "live page, kB a minute": 100,
    "growth of the tab's memory, MB": 5,
}
# Notes when each element was on the screen: a task after the frame that shows it.
_NOTE = """
window.shownAt = {};
window.shifted = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: 'layout-shift', buffered: true });
const selectors = %s;
new MutationObserver(() => {
  for (const selector of selectors) {
    const found = document.querySelector(selector);
    if (selector in shownAt || !found) continue;
    if (!found.textContent.length && !found.matches('canvas, .u-over')) continue;
    shownAt[selector] = 0;
    requestAnimationFrame(() => setTimeout(() => { shownAt[selector] = performance.now(); }));
  }
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
"""
# As many points of each number as TensorBoard keeps of it.
_TO_TRACKIO = """
import collections, pathlib, trackio
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
rows = collections.defaultdict(dict)
for folder in {path.parent for path in pathlib.Path(%r).rglob('*tfevents*')}:
    events = EventAccumulator(str(folder), size_guidance={'scalars': 1000}).Reload()
    for tag in events.Tags()['scalars']:
        for one in events.Scalars(tag):
            rows[one.step][tag] = one.value
trackio.init(project='same', name='converted')
for step, values in sorted(rows.items()):
    trackio.log(values, step=step)
trackio.finish()
"""
_HEADLINE, _LINES, _LAYERS = (
    ".banner .headline",
    ".numbers .lines .u-over",
    ".heat canvas[aria-label]",
)


@contextmanager
def served(place: Path) -> Iterator[str]:
    """Serve the runs at a place by the command."""
    command = [str(STEPWATCH), "dash", str(place), "--port", "0", "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    found = re.search(r"http\S+", server.stdout.readline())
    assert found
    try:
        yield found[0]
    finally:
        server.terminate()
        server.wait()


class Wire:
    """The bytes that a page took from the network, headers included."""

    def __init__(self, visit: Visit) -> None:
        self.total = 0.0
        session = visit.page.context.new_cdp_session(visit.page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._finished)
        session.on("Network.dataReceived", self._received)
        self._streamed: dict[str, float] = {}

    def _finished(self, event: dict[str, Any]) -> None:
        self._streamed.pop(event["requestId"], None)
        self.total += event["encodedDataLength"]

    def _received(self, event: dict[str, Any]) -> None:
        # A stream never ends; of the others the end says how much it was.
        known = self._streamed.get(event["requestId"], 0.0)
        self._streamed[event["requestId"]] = known + event["encodedDataLength"]

    @property
    def kilobytes(self) -> float:
        """All of it so far."""
        return (self.total + sum(self._streamed.values())) / 1000


def shown_ms(visit: Visit, *selectors: str) -> list[float]:
    """Return for each selector how long after the visit began it was on the screen."""
    found = [
        visit.page.wait_for_function("selector => shownAt[selector]", arg=selector)
        for selector in selectors
    ]
    return [one.json_value() for one in found]


def of_pages(browser: Chromium, folder: Path, repeats: int) -> dict[str, list[float]]:
    """Visit the pages of large runs again and again."""
    found: dict[str, list[float]] = {name: [] for name in TARGETS}
    script = _NOTE % json.dumps([_HEADLINE, _LINES, _LAYERS])
    with served(folder / "long") as address:
        page = f"{address}#/run?run=long"
        with browser.visit(page, script=script) as visit:
            headline, *figures = shown_ms(visit, _HEADLINE, _LINES, _LAYERS)
            print(f"  the very first visit: {headline:.0f} ms, figures {max(figures):.0f} ms")
        for _ in range(repeats):
            with browser.visit("about:blank", script=script) as visit:
                wire = Wire(visit)
                visit.page.goto(page)
                headline, *figures = shown_ms(visit, _HEADLINE, _LINES, _LAYERS)
                visit.page.wait_for_timeout(1500)
                found["headline of the long run, ms"].append(headline)
                found["all its figures, ms"].append(max(figures))
                found["first page over the wire, kB"].append(wire.kilobytes)
                found["layout shift"].append(visit.page.evaluate("() => window.shifted"))
                first = wire.kilobytes
                visit.page.reload()
                shown_ms(visit, _HEADLINE, _LINES, _LAYERS)
                visit.page.wait_for_timeout(1500)
                found["second visit over the wire, kB"].append(wire.kilobytes - first)
    for _ in range(repeats):  # each time a new server: what it has read is not counted
        with served(folder / "wide") as address:
            page = f"{address}#/run?run=wide&collection=gradients&statistic=l2"
            with browser.visit(page, script=script) as visit:
                headline, layers = shown_ms(visit, _HEADLINE, _LAYERS)
                found["heat map of the wide run, ms"].append(layers - headline)
    return found


def of_live_run(browser: Chromium, folder: Path, minutes: float) -> dict[str, list[float]]:
    """Write steps; see how long each takes to be on the screen, and what the page takes then."""
    shutil.rmtree(folder / "live", ignore_errors=True)
    store = open_store(folder / "live")
    start_run(store, Manifest("live", time.time_ns(), pid=0))
    writer = NativeWriter(store, "worker_0")
    random = np.random.default_rng(0)

    def write(step: int) -> None:
        arrays: dict[str, Any] = {"loss/mse": np.float32(1 / (step + 1))}
        for number in range(LIVE_PARAMETERS):
            weight = random.normal(size=(8, 8)).astype(np.float32)
            arrays |= {f"layer{number}.weight": weight, f"gradient/layer{number}.weight": weight}
        writer.write(make_record(step, arrays))

    write(0)
    writer.flush()
    took: list[float] = []
    with served(folder / "live") as address, browser.visit(address) as visit:
        page = visit.page
        for step in range(1, LIVE_STEPS + 1):
            page.get_by_text(f"{step} step", exact=False).first.wait_for()
            written = time.monotonic()
            write(step)
            while not page.get_by_text(f"{step + 1} steps").count():
                writer.tick()  # four times a second, as in a training
                page.wait_for_timeout(50)
            took.append((time.monotonic() - written) * 1000)
        wire = Wire(visit)
        used = [_heap_mb(page)]
        until = time.monotonic() + 60 * minutes
        step, began, minute = LIVE_STEPS, time.monotonic(), wire.kilobytes
        while time.monotonic() < until:
            step += 1
            write(step)
            writer.tick()
            page.wait_for_timeout(200)
            if time.monotonic() - began > 60 * len(used):
                used.append(_heap_mb(page))
        used.append(_heap_mb(page))
        cost = (wire.kilobytes - minute) / minutes
    writer.close(End("finished", time.time_ns(), step + 1))
    print(f"  the tab's heap, MB: {', '.join(f'{one:.1f}' for one in used)}; {step} steps")
    return {
        "live step on the screen, ms": took,
        "live page, kB a minute": [cost],
        "growth of the tab's memory, MB": [used[-1] - used[0]],
    }


def _heap_mb(page: Any) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    size = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return float(size) / 1e6


def of_others(browser: Chromium, folder: Path, python: Path) -> None:
    """Print what the first page of other dashboards takes for the same run, converted."""
    events = folder / "events"
    if not events.is_dir():
        command = [str(STEPWATCH), "convert", "-q", "--to", "tensorboard"]
        subprocess.run([*command, str(folder / "long"), str(events)], check=True)
    home = {**os.environ, "TRACKIO_DIR": str(folder / "trackio"), "HF_HUB_OFFLINE": "1"}
    convert = _TO_TRACKIO % str(events)
    subprocess.run([str(python), "-c", convert], env=home, check=True, stdout=subprocess.DEVNULL)
    show = (
        "import sys, trackio; trackio.show('same', open_browser=False, block_thread=True,"
        " server_port=int(sys.argv[1]))"
    )
    commands = {
        "TensorBoard": ["-m", "tensorboard.main", "--logdir", str(events), "--port"],
        "trackio": ["-c", show],
    }
    for name, arguments in commands.items():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with ExitStack() as stack:
            stack.enter_context(_running([str(python), *arguments, str(port)], home))
            _wait_for(port)
            kilobytes, shift = [], []
            for _ in range(3):
                with browser.visit("about:blank", script=_NOTE % "[]") as visit:
                    wire = Wire(visit)
                    visit.page.goto(f"http://127.0.0.1:{port}/")
                    visit.page.wait_for_timeout(8000)  # they go on asking, so nothing says when
                    kilobytes.append(wire.kilobytes)
                    shift.append(visit.page.evaluate("() => window.shifted"))
            print(
                f"  {name}: first page {statistics.median(kilobytes):.0f} kB over the wire,"
                f" layout shift {statistics.median(shift):.3f}"
            )


@contextmanager
def _running(command: Sequence[str], environment: dict[str, str]) -> Iterator[None]:
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        for child in psutil.Process(server.pid).children(recursive=True):
            child.terminate()
        server.terminate()
        server.wait()


def _wait_for(port: int, patience_s: float = 120) -> None:
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise RuntimeError(f"nothing listens on port {port}")


def measure(
    folder: Path,
    sizes: dict[str, tuple[int, int]],
    repeats: int,
    minutes: float,
    others: Path | None,
) -> None:
    """Make the runs that are not there yet, look at them, and print what it took."""
    for name, (steps, tensors) in sizes.items():
        if not (folder / name / "end").is_dir():
            write_run(folder / name, steps, tensors, "gradients")
        print(f"{name}: {steps:,} steps x {tensors:,} tensors")
    with Chromium() as browser:
        found = of_pages(browser, folder, repeats)
        found |= of_live_run(browser, folder, minutes)
        for name, target in TARGETS.items():
            median = statistics.median(found[name])
            said = ""
            if target is not None:
                said = f"of {target}: {'kept' if median <= target else 'MISSED'}"
            digits = 3 if name == "layout shift" else 0 if median >= 10 else 1
            spread = f"{min(found[name]):.{digits}f} to {max(found[name]):.{digits}f}"
            print(f"  {name}: {median:.{digits}f} ({spread}) {said}")
        if others is not None:
            of_others(browser, folder, others)


def main() -> None:
    """Make the runs and print what they take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small runs; a minute")
    parser.add_argument("--folder", type=Path, help="keep the runs here, and take those there")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10, help="how long to follow a live run")
    parser.add_argument("--others", type=Path, help="a Python that has tensorboard and trackio")
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else SIZES
    minutes = min(arguments.minutes, 1.0) if arguments.quick else arguments.minutes
    rest = sizes, arguments.repeats, minutes, arguments.others
    if arguments.folder is not None:
        measure(arguments.folder, *rest)
        return
    with tempfile.TemporaryDirectory(prefix="stepwatch-dashboard-") as folder:
        measure(Path(folder), *rest)


if __name__ == "__main__":
    main()
