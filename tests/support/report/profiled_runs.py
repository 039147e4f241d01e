"""Runs with a profile made to order: what machines did, and how long steps took."""

from __future__ import annotations

from itertools import count

import numpy as np

from stepwatch.formats.manifest import End, end_key
from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.reader import Machine, write_machine
from stepwatch.formats.profile.tables import SPANS, SYSTEM, Sample, Span, spans_table, system_table
from stepwatch.store import open_store
from stepwatch.testing import make_run
from stepwatch.trial import Trial

#: When the first step of a made profile begins, nanoseconds since the Unix epoch.
START_NS = 1_700_000_000 * 10**9
STEP_NS, TICK_NS = 100_000_000, 500_000_000
_NUMBERS = count()
_PHASES = (("data", 0.1), ("forward", 0.3), ("backward", 0.5), ("optimizer", 0.05), ("other", 0.05))


def profiled_run(
    url,
    *,
    steps=200,
    slow=(),
    gpus=(("gpu0", 80.0), ("gpu1", 75.0)),
    core=40.0,
    iowait=1.0,
    nodes=("node-1",),
    loaders=2,
    tensors=True,
):
    """Write a run whose steps took 0.1 s, the slow ones ten times that; return its trial."""
    # Fixtures of a module are made again where tests of several take turns.
    store = open_store(make_run(f"{url}-{next(_NUMBERS)}", steps=steps if tensors else 0))
    spans, end_ns = _spans(steps, slow, loaders)
    PartsWriter(store, SPANS, "worker_0").write(spans_table("worker_0", spans))
    for node in nodes:
        rows = _readings(end_ns, gpus, core, iowait)
        PartsWriter(store, SYSTEM, node).write(system_table(node, rows))
        names = tuple(name for name, _ in gpus)
        ended = {"started_ns": START_NS, "ended_ns": end_ns, "interval_ms": 500}
        write_machine(store, Machine(node, cores=2, gpus=names, **ended))
    store.put(end_key("worker_0"), End("finished", end_ns + 10**9, steps).to_json())
    return Trial(store)


def _spans(steps, slow, loaders):
    """Return the spans of all steps, and when the last one ended."""
    rows, at = [], START_NS
    for step in range(steps):
        mode = "EVAL" if step % 10 == 9 else "TRAIN"
        lasts = STEP_NS * (10 if step in slow else 1)
        rows.append(Span(at, lasts, "step", mode, mode, step))
        begins = at
        for phase, share in _PHASES:
            took = int(lasts * share)
            rows.append(Span(begins, took, "phase", phase, mode, step))
            begins += took
        if loaders:
            who = f"loader/{step % loaders}"
            rows.append(Span(at, 30_000_000, "loader", "fetch", thread=who))
        if step in slow:
            rows.append(Span(at + 1000, lasts // 2, "pause", "checkpoint"))
        at += lasts
    return rows, at


def _readings(end_ns, gpus, core, iowait):
    random = np.random.default_rng(0)
    rows = []
    for tick in range(START_NS, end_ns, TICK_NS):
        noise = random.normal(0, 2, 2 + 2 * len(gpus))
        for number in range(2):
            busy = float(np.clip(core + noise[number], 0, 100))
            rows.append(Sample(tick, f"cpu{number}", "busy_percent", busy))
            rows.append(Sample(tick, f"cpu{number}", "iowait_percent", iowait))
        rows.append(Sample(tick, "cpu", "busy_percent", core))
        rows.append(Sample(tick, "cpu", "iowait_percent", iowait))
        rows.append(Sample(tick, "memory", "used_percent", 50.0))
        rows.append(Sample(tick, "network", "receive_bytes_per_second", 1000.0))
        rows.append(Sample(tick, "network", "transmit_bytes_per_second", 500.0))
        for number, (name, used) in enumerate(gpus):
            busy = float(np.clip(used + noise[2 + number], 0, 100))
            rows.append(Sample(tick, name, "busy_percent", busy))
            rows.append(Sample(tick, name, "memory_percent", 30.0 + number))
    return rows
