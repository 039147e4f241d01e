"""Runs to look at, made without a training."""

from __future__ import annotations

import json
import time

import numpy as np

from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.findings import write_findings, write_statuses
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.reader import Machine, write_machine
from stepwatch.formats.profile.tables import (
    PHASES,
    SPANS,
    SYSTEM,
    Sample,
    Span,
    spans_table,
    system_table,
)
from stepwatch.model.finding import Finding
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run

#: A name that would be markup, if anything took it for that.
EVIL = '<img src=x onerror="document.title=1">'
START_NS = 10**18
STEP_NS = 10**8

ORIGIN = Finding(
    "non_finite_origin",
    6,
    "output/fc",
    f"output/fc is not finite at step 6 {EVIL}",
    mode="TRAIN",
    mode_step=6,
    worker="worker_0",
    severity="error",
    remedy="look at the batch",
)
EFFECT = Finding(
    "exploding_tensor", 6, "gradient/fc.weight", "3 nan of 12", mode="TRAIN", severity="error"
)


def status(rule, status_, findings=0, details="", *, idle=False):
    return {
        "rule": rule,
        "status": status_,
        "evaluations": 10,
        "findings": findings,
        "details": details,
        "idle": idle,
    }


def begin(url):
    manifest = Manifest("made", START_NS, ("train.py", "--fast"), versions={"python": "3"})
    return open_writer(RunTarget(open_store(url), "worker_0", manifest))


def make_arrays(step, *, broken=False):
    random = np.random.default_rng(step)
    weight = random.normal(size=(4, 3)).astype(np.float32)
    fill = np.float32(np.nan if broken else 1 / (step + 1))
    return {
        "loss/mse": fill,
        "fc.weight": weight,
        "conv.weight": random.normal(size=(4, 2, 3, 3)).astype(np.float32),
        "output/fc": weight * fill,
        "gradient/fc.weight": weight * fill,
    }


def make_looked_at(url, *, steps=12, broken_from=None, name=""):
    """Write a finished run with raw values, and return its store.

    Args:
        url: Where.
        steps: How many TRAIN steps; each third is followed by one of EVAL.
        broken_from: From which step on all is nan.
        name: Of one more tensor.
    """
    writer = begin(url)
    step = 0
    for train in range(steps):
        broken = broken_from is not None and train >= broken_from
        arrays = make_arrays(train, broken=broken)
        if name:
            arrays[name] = np.ones(2, np.float32)
        writer.write(make_record(step, arrays, mode_step=train, raw=True))
        step += 1
        if train % 3 == 2:
            loss = {"loss/mse": np.float32(2.0)}
            writer.write(make_record(step, loss, mode=Mode.EVAL, mode_step=train // 3))
            step += 1
    writer.close(End("finished", time.time_ns(), step))
    return open_store(url)


def judge(store, findings=(ORIGIN, EFFECT)):
    """Store findings as a training does."""
    write_findings(store, "worker_0", [one.to_json() for one in findings])
    found = {one.rule for one in findings}
    write_statuses(
        store,
        "worker_0",
        [
            *(status(rule, "IssuesFound", 1, "first") for rule in sorted(found)),
            status("vanishing_gradient", "NoIssuesFound"),
            status("overfit", "NotEvaluated", details="no EVAL loss"),
            status("router_collapse", "NotEvaluated", details="no routing", idle=True),
        ],
    )


def profile(store, steps=10):
    """Store what a machine with two cores did in so many steps of a tenth of a second."""
    write_machine(store, Machine("node-1", cores=2))
    samples = [
        Sample(START_NS + step * STEP_NS, f"cpu{core}", "busy_percent", 10.0 * step + core)
        for step in range(steps)
        for core in range(2)
    ]
    PartsWriter(store, SYSTEM, "node-1").write(system_table("node-1", samples))
    spans = []
    for step in range(steps):
        at = START_NS + step * STEP_NS
        spans.append(Span(at, STEP_NS, "step", "TRAIN", "TRAIN", step))
        for number, phase in enumerate(PHASES):
            start, share = at + number * STEP_NS // 5, STEP_NS // 5
            spans.append(Span(start, share, "phase", phase, "TRAIN", step))
    PartsWriter(store, SPANS, "worker_0").write(spans_table("worker_0", spans))


def make_runs_folder(folder):
    """Write a healthy and a faulty run, one of smdebug's format, and a damaged one."""
    judge(make_looked_at(folder / "healthy"), findings=())
    judge(make_looked_at(folder / "deep/faulty", broken_from=5, name=EVIL))
    make_run(folder / "smdebug", steps=6, format="smdebug")
    make_run(folder / "damaged", steps=3)
    (part,) = (folder / "damaged/observations/worker_0").glob("*.parquet")
    part.write_bytes(b"PAR1" + bytes(200))
    return folder


def told(answer):
    """Return the JSON of an answer, and fail where it is not one that was asked for."""
    assert 200 == answer.status_code, answer.text
    return json.loads(answer.text)
