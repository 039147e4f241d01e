"""The profile of a job as SageMaker and smdebug leave it, in a folder."""

from __future__ import annotations

import json
from pathlib import Path

#: 2020-06-03 05:04:00 and a second in, in microseconds since the Unix epoch.
MINUTE_S = 1591160640
START_US = MINUTE_S * 1_000_000 + 1_000_000
HOUR = "2020060305"
#: The GPU is idle in the first and the last seconds.
GPU = [0, 0, 90, 95, 92, 91, 0, 0]


def write_job(folder: Path) -> str:
    """Write eight seconds of a job: six steps of training, and two of evaluation."""
    system = folder / "system" / "incremental" / HOUR
    system.mkdir(parents=True)
    lines = [line for second in range(8) for line in _readings(second)]
    (system / f"{MINUTE_S}.algo-1.json").write_text("\n".join(lines))
    pevents = folder / "framework" / "pevents" / HOUR
    pevents.mkdir(parents=True)
    events = [_step(number, "TRAIN", 2 + number / 2, 0.4 + number / 100) for number in range(6)]
    events += [_step(number, "EVAL", 5 + number / 4, 0.2) for number in range(2)]
    _write(pevents, 6, "pythontimeline.json", events + _loading())
    return str(folder)


def _readings(second: int) -> list[str]:
    values = [
        ("cpu", "cpu0", "CPUUtilization", 10.0 * second),
        ("cpu", "cpu1", "CPUUtilization", 5.0),
        ("gpu", "gpu0", "GPUUtilization", float(GPU[second])),
        ("memory", "MemoryUsedPercent", "", 40.0 + second),
    ]
    return [
        json.dumps({"Type": kind, "Name": name, "Dimension": dimension, "Value": value,
                    "NodeId": "algo-1", "Timestamp": MINUTE_S + 1 + second})
        for kind, name, dimension, value in values
    ]  # fmt: skip


def _step(number: int, mode: str, after_s: float, took_s: float) -> tuple[str, dict[str, object]]:
    name = f"Step:ModeKeys.{mode}"
    args = {"pid": 88, "step_num": str(number)}
    return name, {"name": name, "ts": after_s * 1e6, "dur": took_s * 1e6, "args": args}


def _loading() -> list[tuple[str, dict[str, object]]]:
    waits = [
        ("DataLoaderIter::GetNext", {"name": "_MultiProcessingDataLoaderIter.next",
         "ts": (1.5 + number / 2) * 1e6, "dur": (0.05 if number else 0.4) * 1e6,
         "args": {"pid": 88, "worker_id": number % 2}})
        for number in range(6)
    ]  # fmt: skip
    begun = {"name": "_MultiProcessingDataLoaderIter.__init__", "ts": 1.2e6, "dur": 2e5,
             "args": {"pid": 88, "num_workers": 2, "pin_memory": True}}  # fmt: skip
    worker = {
        "name": "DataLoaderWorker",
        "ts": 1.2e6,
        "dur": 4e6,
        "args": {"pid": 90, "worker_id": 0},
    }
    return [*waits, ("DataLoaderIterInitialize", begun), ("DataLoaderWorker", worker)]


def _write(
    folder: Path, end_s: int, suffix: str, events: list[tuple[str, dict[str, object]]]
) -> None:
    phases = list(dict.fromkeys(phase for phase, _ in events))
    rows: list[dict[str, object]] = [
        {"name": "process_name", "ph": "M", "pid": 0,
         "args": {"start_time_since_epoch_in_micros": START_US}},
        {"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
    ]  # fmt: skip
    for number, phase in enumerate(phases, 1):
        rows += [
            {"name": "process_name", "ph": "M", "pid": number, "args": {"name": phase}},
            {
                "name": "process_sort_index",
                "ph": "M",
                "pid": number,
                "args": {"sort_index": number},
            },
        ]
    rows += [{"ph": "X", "pid": 1 + phases.index(phase), **event} for phase, event in events]
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
    (folder / f"{START_US + end_s * 1_000_000}_88-algo-1_{suffix}").write_text(text)
