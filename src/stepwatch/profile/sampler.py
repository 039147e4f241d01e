"""The process that reads the devices of a machine while a training runs on it.

It is a process of its own, so that a busy interpreter does not blind it. It ends with the training,
however that ends, and never holds it up: nobody waits for what it does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Protocol

from ..errors import StepwatchError
from ..formats.profile.parts import PartsWriter, node_name
from ..formats.profile.reader import Machine as MachineNote
from ..formats.profile.reader import write_machine
from ..formats.profile.tables import SYSTEM, Clock, Sample, system_table
from ..runtime.process import identity
from ..store import Store, open_store
from .devices import (
    Cgroup,
    Machine,
    Pressure,
    Processes,
    Processors,
    Reading,
    SamplerCost,
    open_gpus,
    open_psutil,
)

#: A part is written about so often.
GATHER_S = 2.0
#: It may take this share of one core; where it takes more it reads less often.
MOST_CPU = 0.005
_BUDGET_EVERY_S = 30.0
# It is checked this often whether the training still runs.
_POLL_EVERY_S = 0.5


class Device(Protocol):
    """What can be read."""

    def read(self) -> Iterator[Reading]: ...


class Sampler:
    """Reads devices at an interval, and stores the readings.

    Args:
        store: Where the run lies.
        note: What is known of this machine.
        devices: What is read.
        clock: For the times of readings.
    """

    def __init__(
        self, store: Store, note: MachineNote, devices: Sequence[Device], clock: Clock | None = None
    ) -> None:
        self._store, self.note, self._devices = store, note, devices
        self._clock = clock or Clock()
        self._writer = PartsWriter(store, SYSTEM, note.node)
        self._samples: list[Sample] = []
        self._stored_at = self._evaluated_at = self._clock.ticks()
        self._cpu_s = time.process_time()
        self.interval_ns = note.interval_ms * 1_000_000
        write_machine(store, note)

    def read(self) -> None:
        """Read all devices once; one that fails is left out from then on, and that is noted."""
        now = self._clock.unix_ns(self._clock.ticks())
        for device in list(self._devices):
            try:
                readings = list(device.read())
            except Exception as error:  # noqa: BLE001  whatever a driver does, the others go on
                self._devices = [one for one in self._devices if one is not device]
                self.annotate(f"{type(device).__name__.lower()} is read no more: {error!r}")
                continue
            self._samples += [Sample(now, *reading) for reading in readings]
        if self._clock.ticks() - self._stored_at >= GATHER_S * 1e9:
            self.store()
        if self._clock.ticks() - self._evaluated_at >= _BUDGET_EVERY_S * 1e9:
            self._evaluate()

    def store(self) -> None:
        """Store what was read. What cannot be stored is given up."""
        samples, self._samples = self._samples, []
        self._stored_at = self._clock.ticks()
        self._clock.settle()
        with suppress(StepwatchError):
            self._writer.write(system_table(self.note.node, samples))

    def close(self) -> None:
        """Store what is left, and that this is the end."""
        self.store()
        self.note = replace(self.note, ended_ns=self._clock.unix_ns(self._clock.ticks()))
        write_machine(self._store, self.note)

    def _evaluate(self) -> None:
        """Read less often if that takes too much."""
        now, cpu_s = self._clock.ticks(), time.process_time()
        share = (cpu_s - self._cpu_s) / ((now - self._evaluated_at) / 1e9)
        self._evaluated_at, self._cpu_s = now, cpu_s
        if share > MOST_CPU:
            self.interval_ns *= 2
            every = self.interval_ns / 1e9
            took = f"reading took {share:.2%} of a core"
            self.annotate(f"{took}; it is done every {every:g} s from here")

    def annotate(self, text: str) -> None:
        """Add a line to the notes on this machine."""
        self.note = replace(self.note, notes=(*self.note.notes, text))
        with suppress(StepwatchError):
            write_machine(self._store, self.note)


def sample(run: str, parent: int, interval_ms: int) -> None:
    """Read this machine for a run until its process is gone, or this one gets a signal."""
    store = open_store(run)
    node = node_name(socket.gethostname())
    with alone(_lock_name(store)) as is_alone:
        if not is_alone:
            return  # another worker of this machine has begun one
        ends: SimpleQueue[int] = SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, _: ends.put(got))
        devices, note = open_devices(node, parent, interval_ms)
        sampler = Sampler(store, note, devices)
        try:
            until(ends, parent, sampler)
        except Exception as error:  # noqa: BLE001  nobody sees what this process prints
            sampler.annotate(f"its devices are read no more: {error!r}")
        with suppress(StepwatchError):
            sampler.close()


def wait_until_ended(run: str, timeout_s: float) -> bool:
    """Wait until no process of this machine samples a run; return whether that is so.

    A process that was killed leaves its sampler behind for a moment, in which it stores its last
    readings.
    """
    name, give_up_at = _lock_name(open_store(run)), time.monotonic() + timeout_s
    while True:
        with alone(name) as has_ended:
            if has_ended or time.monotonic() > give_up_at:
                return has_ended
        time.sleep(_POLL_EVERY_S / 10)


def _lock_name(store: Store) -> str:
    return f"stepwatch-sampler {store.url}"


def until(ends: SimpleQueue[int], parent: int, sampler: Sampler) -> None:
    """Read at the interval until a signal comes, or the parent is gone."""
    due = time.perf_counter_ns()
    while os.getppid() == parent:
        left_s = (due - time.perf_counter_ns()) / 1e9
        try:
            ends.get(timeout=min(max(left_s, 0.0), _POLL_EVERY_S))
        except Empty:
            if left_s > _POLL_EVERY_S:
                continue
        else:
            return
        sampler.read()
        # What was missed, because the machine slept, is not made up for.
        due = max(due + sampler.interval_ns, time.perf_counter_ns())


def open_devices(node: str, parent: int, interval_ms: int) -> tuple[list[Device], MachineNote]:
    """Return what can be read on this machine, and what it is."""
    psutil = open_psutil()
    gpus, why_not = open_gpus()
    devices: list[Device] = [
        Processors(psutil),
        Machine(psutil),
        Processes(psutil, parent),
        SamplerCost(),
        Cgroup(parent),
        Pressure(),
    ]
    note = MachineNote(
        node,
        host=socket.gethostname(),
        pid=os.getpid(),
        process=identity(),
        started_ns=time.time_ns(),
        interval_ms=interval_ms,
        cores=psutil.cpu_count() or 0,
        memory_bytes=psutil.virtual_memory().total,
        gpus=gpus.names if gpus else (),
        notes=() if gpus else (why_not,),
    )
    return ([*devices, gpus] if gpus else devices), note


@contextmanager
def alone(name: str) -> Iterator[bool]:
    """Hold a name that one process of this machine may hold at a time; yield whether it is held.

    It is given back when the process ends, however it ends. Where the system has no such names
    everybody is alone.
    """
    if sys.platform != "linux":
        yield True
        return
    digest = hashlib.sha256(name.encode()).hexdigest()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        try:
            held.bind(f"\0{digest}")  # a name in no folder
        except OSError:
            yield False
        else:
            yield True


class _WithoutPandas:
    """Arrow would import pandas where it is there: it is large, and nothing here needs it."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Refuse it."""
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__))
    parser.add_argument("run")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--interval-ms", type=int, default=500)
    given = parser.parse_args(arguments)
    sys.meta_path.insert(0, _WithoutPandas())
    sample(given.run, given.parent, given.interval_ms)


if __name__ == "__main__":
    main()
