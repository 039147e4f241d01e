"""What is read of a machine: by the real one, and by files that it cannot be made to have."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from stepwatch.profile.devices import (
    Cgroup,
    Machine,
    Pressure,
    Processes,
    Processors,
    Rates,
    SamplerCost,
)


def burn(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def own_process() -> Processes:
    """Return what tells of this process as a sampler of it would: its own pid does not count."""
    return Processes(psutil, os.getpid())


class TestProcessors:
    def test_shares_are_of_the_time_between_two_readings(self):
        """The first reading has nothing to compare with; later ones are percentages."""
        processors = Processors(psutil)
        first = list(processors.read())
        burn(0.05)
        found = {(device, metric): value for device, metric, value in processors.read()}

        assert [] == first
        assert {f"cpu{n}" for n in range(psutil.cpu_count())} | {"cpu"} == {
            device for device, _ in found
        }
        assert all(0 <= value <= 100 for value in found.values())
        assert found["cpu", "busy_percent"] > 0

    def test_a_processor_that_goes_away_is_not_told(self, monkeypatch):
        """Processors may be switched off while they are read."""
        processors = Processors(psutil)
        list(processors.read())
        one = psutil.cpu_times(percpu=True)[:1]
        monkeypatch.setattr(psutil, "cpu_times", lambda percpu: one)

        assert {"cpu0", "cpu"} == {device for device, _, _ in processors.read()}


class TestMachine:
    def test_memory_disks_and_networks(self):
        """What passes is told from the second reading on."""
        machine = Machine(psutil)
        first = {metric for _, metric, _ in machine.read()}
        second = {(device, metric): value for device, metric, value in machine.read()}

        assert {"used_percent", "used_bytes", "swap_percent", "load_1m"} <= first
        assert 0 < second["memory", "used_percent"] <= 100
        assert second["network", "receive_bytes_per_second"] >= 0


class TestRates:
    def test_a_counter_that_began_anew_tells_nothing(self):
        """A device that was taken out and put in again is no negative rate."""
        rates = Rates()
        told = [
            list(rates.of("disk", "iops", count, now)) for now, count in enumerate((5, 8, 2, 4))
        ]

        assert [[], [("disk", "iops", 3.0)], [], [("disk", "iops", 2.0)]] == told


class TestProcesses:
    def test_children_count(self):
        """What a process and its children take is told together."""
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            together = {metric: value for _, metric, value in own_process().read()}
        finally:
            child.communicate()
        alone = {metric: value for _, metric, value in own_process().read()}

        assert together["memory_bytes"] > alone["memory_bytes"]
        assert together["threads"] > alone["threads"]

    def test_the_work_of_a_process_is_told(self):
        """100 percent are one core."""
        processes = own_process()
        list(processes.read())
        burn(0.2)
        found = {metric: value for _, metric, value in processes.read()}

        assert found["cpu_percent"] > 0

    def test_a_process_that_is_gone_tells_nothing(self):
        """It may end at any moment."""
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        processes = Processes(psutil, child.pid)
        child.communicate()

        assert [] == list(processes.read())


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


class TestCgroup:
    @pytest.fixture
    def proc(self, tmp_path):
        return tmp_path / "proc"

    def test_limits_of_the_second_version(self, tmp_path, proc):
        """A limit of a group above counts where the own group has none."""
        write(proc / "7", cgroup="0::/kube/pod\n")
        root = tmp_path / "cgroup"
        write(
            root / "kube",
            cpu__max="150000 100000\n",
            cpu__stat="usage_usec 1000\nnr_periods 10\nnr_throttled 1\n",
            memory__max="2000\n",
            memory__current="500\n",
        )
        pod = write(root / "kube" / "pod", cpu__max="max 100000\n", memory__max="max\n")
        cgroup = Cgroup(7, root, proc)
        list(cgroup.read())
        stat = "usage_usec 751000\nnr_periods 20\nnr_throttled 6\n"
        write(root / "kube", cpu__stat=stat)
        found = {metric: value for _, metric, value in cgroup.read()}

        assert pod.is_dir()
        assert (1.5, 2000.0, 25.0) == (
            found["cpu_limit_cores"],
            found["memory_limit_bytes"],
            found["memory_percent"],
        )
        assert pytest.approx(50.0) == found["throttled_percent"]
        assert found["cpu_percent"] > 0

    def test_limits_of_the_first_version(self, tmp_path, proc):
        """Each controller has a tree of its own there."""
        write(proc / "7", cgroup="4:memory:/a\n2:cpu,cpuacct:/b\n0::/\n")
        root = tmp_path / "cgroup"
        write(
            root / "cpu,cpuacct" / "b",
            cpu__cfs_quota_us="200000\n",
            cpu__cfs_period_us="100000\n",
            cpu__stat="nr_periods 0\nnr_throttled 0\n",
            cpuacct__usage="5000\n",
        )
        write(
            root / "memory" / "a",
            memory__limit_in_bytes="1000\n",
            memory__usage_in_bytes="100\n",
        )

        found = {metric: value for _, metric, value in Cgroup(7, root, proc).read()}

        assert {"cpu_limit_cores": 2.0, "memory_limit_bytes": 1000.0, "memory_percent": 10.0} == (
            found
        )

    def test_without_limits_nothing_is_told(self, tmp_path, proc):
        """A machine of one's own has none; another system has no such files."""
        write(proc / "7", cgroup="0::/\n")
        write(tmp_path / "cgroup", memory__max="max\n")
        none = "9223372036854771712\n"
        write(tmp_path / "cgroup" / "memory", memory__limit_in_bytes=none)

        assert [] == list(Cgroup(7, tmp_path / "cgroup", proc).read())
        assert [] == list(Cgroup(8, tmp_path / "nowhere", proc).read())


class TestPressure:
    def test_shares_of_the_time_between_two_readings(self, tmp_path):
        """The kernel tells microseconds in all; of processors only that some waited."""
        line = "{} avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
        for name in ("cpu", "memory", "io"):
            (tmp_path / name).write_text(line.format("some", 5) + line.format("full", 0))
        pressure = Pressure(tmp_path)
        first = list(pressure.read())
        (tmp_path / "io").write_text(line.format("some", 10**12) + line.format("full", 0))
        found = {metric: value for _, metric, value in pressure.read()}

        assert [] == first
        assert 100.0 == found["io_some_percent"]
        assert {"cpu_some_percent": 0.0, "memory_full_percent": 0.0}.items() <= found.items()
        assert "cpu_full_percent" not in found

    def test_another_kernel_tells_none(self, tmp_path):
        """Without these files nothing is told."""
        assert [] == list(Pressure(tmp_path / "nowhere").read())


class TestOwn:
    def test_what_reading_takes_is_told(self):
        """The profile tells its own cost, from the second reading on."""
        own = SamplerCost()
        first = list(own.read())
        burn(0.05)
        ((device, metric, value),) = own.read()

        assert [] == first
        assert ("sampler", "cpu_percent") == (device, metric)
        assert value > 0
