"""Profiles made to order: readings twice a second, and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.reader import Machine, write_machine
from stepwatch.formats.profile.tables import SPANS, SYSTEM, Sample, Span, spans_table, system_table
from stepwatch.rules import Watch
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile

SECOND = 10**9
START = 1_700_000_012 * SECOND
TICK = SECOND // 2
#: What devices are read of, so that tests can say ``gpu0``.
USE = "busy_percent"
_places = count()


def samples(device: str, values: Sequence[float], metric: str = USE) -> list[Sample]:
    """Return readings of a device, two each second."""
    return [
        Sample(START + number * TICK, device, metric, float(value))
        for number, value in enumerate(values)
    ]


def cores(*of_each: Sequence[float]) -> list[Sample]:
    """Return readings of several cores."""
    return [one for number, values in enumerate(of_each) for one in samples(f"cpu{number}", values)]


def steps(seconds: Sequence[float], mode: str = "TRAIN", *, data: float = 0.0) -> list[Span]:
    """Return steps that follow each other, of which a share is waited for data."""
    spans, now = [], START
    for number, length in enumerate(seconds):
        took, waited = round(length * SECOND), round(length * data * SECOND)
        spans.append(Span(now, took, "step", mode, mode, number))
        spans.append(Span(now, waited, "phase", "data", mode, number))
        spans.append(Span(now + waited, took - waited, "phase", "forward", mode, number))
        now += took
    return spans


def made_profile(
    system: Mapping[str, Sequence[Sample]] | Sequence[Sample] = (),
    spans: Mapping[str, Sequence[Span]] | Sequence[Span] = (),
    machines: Sequence[Machine] = (),
) -> Profile:
    """Return a profile of machines, ``node-1`` by default, and workers, ``worker_0`` by default."""
    store = open_store(f"memory://made-profile-{next(_places)}")
    by_node = system if isinstance(system, Mapping) else {"node-1": system}
    by_worker = spans if isinstance(spans, Mapping) else {"worker_0": spans}
    for node, rows in by_node.items():
        PartsWriter(store, SYSTEM, node).write(system_table(node, sorted(rows)))
    for worker, found in by_worker.items():
        PartsWriter(store, SPANS, worker).write(spans_table(worker, sorted(found)))
    for machine in machines:
        write_machine(store, machine)
    return Profile(store)


def judged(spec, profile):
    """Return what a rule finds in a profile, and its status."""
    watch = Watch(spec)
    found = [*watch.scan(profile, ended=True), *watch.finish()]
    return found, watch.statuses()[0]


def noisy(mean: float, deviation: float, length: int, seed: int = 0) -> np.ndarray:
    """Return values about a mean, from 0 to 100, the same ones at each call."""
    values = np.random.default_rng(seed).normal(mean, deviation, length)
    return np.clip(values, 0, 100)
