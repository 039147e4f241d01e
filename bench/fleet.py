"""A fleet of runs, judged by one process and by nodes of a Ray cluster, one of which is killed.

All nodes are raylets on this machine, so more of them than processors save nothing. What each way
prints must be the same, or this ends with an error.

    python bench/fleet.py [--runs 1000] [--workers 64] [--steps 100] [--nodes 1 2]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

sys.path.insert(0, str(Path(__file__).parents[1]))
import ray
from ray.cluster_utils import Cluster

from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.store import open_store
from tests.support.rules.made_runs import MadeRun

_CHECK = (sys.executable, "-m", "stepwatch", "check", "--all")
#: A node is killed when so long of the way without it has gone by, as a fraction.
_KILLED_AT = 0.5


def main() -> None:
    """Write the runs, judge them in each way, and print how long it took."""
    arguments = parse_arguments()
    with TemporaryDirectory(prefix="stepwatch-fleet-", dir=arguments.folder) as folder:
        write_fleet(Path(folder), arguments)
        size = sum(one.stat().st_size for one in Path(folder).rglob("*") if one.is_file())
        print(
            f"{arguments.runs} runs of {arguments.steps} steps, one of them of "
            f"{arguments.workers} workers, {size / 1e6:.0f} MB in {folder}",
            flush=True,
        )
        took, expected, _ = check(folder)
        report("one process, no cluster", took, took)
        for nodes in arguments.nodes:
            with cluster_of(nodes):
                warm_up(folder)
                seconds, said, _ = check(folder, "--ray")
                assert expected == said, "a cluster says something else"
                report(f"{nodes} nodes", seconds, took)
        with cluster_of(max(arguments.nodes) + 1) as cluster:
            warm_up(folder)
            killing = kill_one(cluster, after_s=_KILLED_AT * seconds)
            seconds, said, told = check(folder, "--ray")
            killing.join()
            if expected != said:
                raise SystemExit(f"a cluster that lost a node says something else:\n{said}\n{told}")
            report(f"{max(arguments.nodes) + 1} nodes, one killed", seconds, took)
            print("\n".join(line for line in told.splitlines() if "lost node" in line))
    print(expected.splitlines()[-2])
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def write_fleet(folder: Path, arguments: argparse.Namespace) -> None:
    """Write runs of one worker, and one of many."""
    for number in range(arguments.runs - 1):
        write(folder / f"run-{number:05}", arguments, 1)
    write(folder / "crowd", arguments, arguments.workers)


def write(folder: Path, arguments: argparse.Namespace, workers: int) -> None:
    """Write a run, each of whose workers saw the same."""
    for worker in reversed(range(workers)):  # nobody joins a run that the first has ended
        name = f"worker_{worker}"
        manifest = Manifest("bench", time.time_ns(), ("bench/fleet.py",), num_workers=workers)
        target = RunTarget(open_store(str(folder)), name, manifest, is_first=worker == 0)
        writer = open_writer(target)
        steps = 0
        for record in MadeRun(arguments.layers, arguments.steps).records():
            writer.write(replace(record, worker=name))
            steps += 1
        writer.close(End("finished", time.time_ns(), steps))


def check(folder: str, *options: str) -> tuple[float, str, str]:
    """Judge the fleet by the command; return seconds, what it printed, and what it said besides."""
    began = time.perf_counter()
    done = subprocess.run([*_CHECK, folder, *options], capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return took, done.stdout, done.stderr


def warm_up(folder: str) -> None:
    """Judge a few runs, which starts what nodes keep for the next calls."""
    check(f"{folder}/run-0000?", "--ray")


@contextmanager
def cluster_of(nodes: int) -> Iterator[Cluster]:
    """Start raylets of one processor each, of which the commands know."""
    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(nodes - 1):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    os.environ["RAY_ADDRESS"] = cluster.address
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def kill_one(cluster: Cluster, *, after_s: float) -> Thread:
    """Kill a node with what works on it, after so many seconds."""
    node = list(cluster.worker_nodes)[-1]

    def kill() -> None:
        time.sleep(after_s)
        cluster.remove_node(node, allow_graceful=False)

    killing = Thread(target=kill)
    killing.start()
    return killing


def report(way: str, seconds: float, alone: float) -> None:
    """Print a row, and the largest memory of a process that has ended so far."""
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"| {way} | {seconds:.1f} s | {alone / seconds:.2f} | {peak_mb:.0f} MiB |", flush=True)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--folder", help="where the runs are written")
    return parser.parse_args()


if __name__ == "__main__":
    main()
