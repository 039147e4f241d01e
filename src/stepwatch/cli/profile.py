"""``stepwatch profile RUN``: where the time of a run went; or look at its next steps closely."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from statistics import median

import click
from rich.console import Console

from ..errors import ConfigError
from ..formats.profile.parts import CONFIG_KEY
from ..profile.analysis import DeviceSummary, Summary, summarize
from ..runtime.terminal import print_text
from ..trial import Trial
from .console import console, print_json, table, working
from .run_names import RunVerb, run_or_newest

# All workers know of a request within this time.
_KNOWN_AFTER_S = 5.0
_TITLES = {
    "collective": "waits for other workers",
    "layer": "modules, in the steps that were looked at",
    "loader": "processes of data loaders",
    "pause": "pauses",
    "window": "windows in detail",
}


@click.command(cls=RunVerb)
@run_or_newest
@click.option(
    "--trace",
    metavar="STEPS",
    type=click.IntRange(1, 10),
    help="Have every operation of so many of the next steps recorded, while RUN trains.",
)
@click.option(
    "--python",
    metavar="STEPS",
    type=click.IntRange(min=1),
    help="Have what Python's functions take in so many of the next steps recorded.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def profile(run: str, trace: int | None, python: int | None, *, as_json: bool) -> int:
    """Show where the time of RUN went, and how busy its machines were.

    The exit status is 1 if nothing was profiled.
    """
    trial = Trial(run)
    if trace or python:
        _request(trial, trace, python)
        return 0
    with working("reading the profile"):
        summary = summarize(trial.profile)
    if as_json:
        print_json(asdict(summary))
    else:
        _show(console(), summary)
    return 0 if _is_any(summary) else 1


def _request(trial: Trial, trace: int | None, python: int | None) -> None:
    """Store a request where the training finds it."""
    if trial.ended:
        raise ConfigError(f"{trial.path} is {trial.state}; only a run that trains can be traced")
    begins = _begins(trial)
    ranges = {"DetailedProfilingConfig": trace, "PythonProfilingConfig": python}
    parameters = {name: {**begins, "NumSteps": steps} for name, steps in ranges.items() if steps}
    # Asked for twice it is done twice, so no two say the same.
    request = {"ProfilingParameters": parameters, "AskedNs": time.time_ns()}
    trial.store.put(CONFIG_KEY, json.dumps(request, indent=1).encode())
    print_text(f"asked for; look at it with: stepwatch profile {trial.path}")


def _begins(trial: Trial) -> dict[str, int]:
    """Return when a window is to begin: at once, or for several workers at one step for all."""
    steps = trial.profile.steps()
    if not len(steps):
        raise ConfigError(f"{trial.path} is not profiled, so nobody listens; run it with --profile")
    if len(trial.profile.workers) < 2:
        return {}
    recent = steps.slice(max(0, len(steps) - 100)).to_pylist()
    seconds = median(one["duration_ns"] / one["count"] for one in recent) / 1e9
    last: int = max(one["step"] for one in recent)
    return {"StartStep": last + 1 + int(_KNOWN_AFTER_S / max(seconds, 1e-6))}


# What the names of metrics end in: what they are divided by, and the unit.
_UNITS = (
    ("_bytes_per_second", 1e6, "MB/s"),
    ("_bytes", 1e9, "GB"),
    ("_percent", 1, "%"),
    ("_watts", 1, "W"),
    ("_celsius", 1, "°C"),
    ("_seconds", 1, "s"),
)


def _device(one: DeviceSummary) -> list[object]:
    """Return a row on a device, its numbers with their unit."""
    end, size, unit = next((row for row in _UNITS if one.metric.endswith(row[0])), ("", 1, ""))
    values = (one.mean, one.p95, one.min, one.max)
    numbers = (f"{value / size:.3g} {unit}".strip() for value in values)
    return [one.device, one.metric.removesuffix(end).replace("_", " "), *numbers]


def _is_any(summary: Summary) -> bool:
    return bool(summary.steps or summary.spent or summary.devices)


def _show(output: Console, summary: Summary) -> None:
    if not _is_any(summary):
        output.print("nothing was profiled", style="bold")
    if summary.steps:
        phases = list(summary.steps[0].shares)
        headings = ["worker", "mode", "steps", "mean ms", "p50 ms", "p95 ms", "max ms", *phases]
        rows = [
            [
                *(one.worker, one.mode, one.count, one.mean_ms, one.p50_ms, one.p95_ms, one.max_ms),
                *(f"{one.shares[name]:.1%}" for name in phases),
            ]
            for one in summary.steps
        ]
        output.print(table(headings, rows))
    for kind, title in _TITLES.items():
        found = [one for one in summary.spent if one.kind == kind]
        if found:
            output.print(f"\n{title}", style="bold")
            headings = ["name", "worker", "times", "total ms", "mean ms", "max ms"]
            rows = [
                [one.name, one.worker, one.count, one.total_ms, one.mean_ms, one.max_ms]
                for one in found
            ]
            output.print(table(headings, rows))
    nodes = list(dict.fromkeys(one.node for one in summary.devices))
    for node in nodes:
        output.print(f"\nmachine {node}", style="bold", markup=False)
        rows = [_device(one) for one in summary.devices if one.node == node]
        output.print(table(["device", "metric", "mean", "p95", "min", "max"], rows))
    for line in (*summary.traces, *summary.notes):
        output.print(f"  {line}", style="dim", markup=False)
