"""What a Ray cluster saves: checks of one large run and of many small ones, by some workers.

The cluster is started here, on the processors of this machine, so more workers than processors save
nothing. Each way is run several times in turns, and the fastest counts. On a busy machine the
processor time of the worker who had most to do says more than the clock.

    python bench/on_ray.py [--workers 1 2] [--steps 2000] [--runs 8] [--repeat 3]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))
import ray
from ray.cluster_utils import Cluster

from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.jobs.ray.cluster import num_cpus, spread
from stepwatch.jobs.ray.rule_process import judge_run, split_calls
from stepwatch.judge.evaluate import PartialEvaluation, evaluate_partition, merge_partitions
from stepwatch.judge.step_view import StepView
from stepwatch.rules import DEFAULT_RULES
from stepwatch.store import open_store
from stepwatch.trial import Trial
from tests.support.rules.made_runs import MadeRun

#: Layers of a large run, and of a small one; a layer has about three tensors.
_LAYERS, _SMALL = 130, 10
Timed = tuple[PartialEvaluation, str, float]


def main() -> None:
    """Make the runs, check them by each number of workers, and print how long it took."""
    arguments = parse_arguments()
    with TemporaryDirectory(prefix="stepwatch-ray-", dir=arguments.folder) as folder:
        large = [write(f"{folder}/large", _LAYERS, arguments.steps)]
        many = [
            write(f"{folder}/small-{number}", _SMALL, arguments.steps)
            for number in range(arguments.runs)
        ]
        ways = {"one large run": large, f"{arguments.runs} small runs": many}
        alone = {name: seconds_alone(runs) for name, runs in ways.items()}
        timed = {
            workers: by_workers(workers, ways, alone, arguments.repeat)
            for workers in arguments.workers
        }
    print_table(alone, timed)
    if arguments.json:
        found = {name: took for name, (took, _) in alone.items()}
        document = {"load": os.getloadavg(), "alone": found, "workers": timed}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")


def write(url: str, layers: int, steps: int) -> str:
    """Write a run and return where it lies."""
    store = open_store(url)
    manifest = Manifest("bench", time.time_ns(), ("bench/on_ray.py",))
    writer = open_writer(RunTarget(store, "worker_0", manifest))
    taken = [writer.write(record) for record in MadeRun(layers, steps).records()]
    writer.close(End("finished", time.time_ns(), len(taken)))
    return store.url


def seconds_alone(runs: list[str]) -> tuple[float, object]:
    """Return how long it takes in this process, and what is said."""
    began = time.perf_counter()
    said = []
    for run in runs:
        trial = Trial(run)
        steps = (StepView(records, trial.patterns) for records in trial.records())
        said.append(merge_partitions([evaluate_partition(steps, DEFAULT_RULES)])[:2])
    return time.perf_counter() - began, said


def by_workers(
    workers: int, ways: dict[str, list[str]], alone: dict[str, tuple[float, object]], repeat: int
) -> dict[str, tuple[float, float]]:
    """Return how long each way takes on a cluster of so many nodes with one processor each.

    Seconds by the clock, and of the processor of the node that had most to do.
    """
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(workers - 1):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
    try:
        fastest: dict[str, tuple[float, float]] = {}
        for name, runs in [*ways.items()] * (repeat + 1):  # the first turn starts the workers
            took, busiest, said = once(runs)
            assert alone[name][1] == said, "a cluster says something else"
            before = fastest.get(name, (took, busiest))
            fastest[name] = min(took, before[0]), min(busiest, before[1])
        return fastest
    finally:
        ray.shutdown()
        cluster.shutdown()


def once(runs: list[str]) -> tuple[float, float, object]:
    """Check runs on the cluster; return seconds, those of the busiest node, and what is said."""
    busy: dict[str, float] = {}

    shares: dict[str, list[PartialEvaluation]] = {run: [] for run in runs}
    began = time.perf_counter()
    calls = split_calls(runs, DEFAULT_RULES, num_cpus(ray))
    for place, (share, node, seconds) in spread(timed_share, calls):
        busy[node] = busy.get(node, 0.0) + seconds
        shares[calls[place][0]].append(share)
    took = time.perf_counter() - began
    return took, max(busy.values()), [merge_partitions(one)[:2] for one in shares.values()]


def timed_share(run: str, rules: Sequence[str], share: int, of: int) -> Timed:
    """Judge a share; say on which node, and how many seconds of its processor it took."""
    began = time.process_time()
    judged = judge_run(run, rules, share, of)
    return judged, ray.get_runtime_context().get_node_id(), time.process_time() - began


def print_table(
    alone: dict[str, tuple[float, object]], timed: dict[int, dict[str, tuple[float, float]]]
) -> None:
    """Print seconds, and how many times faster than one worker it is."""
    heads = [f"{workers} workers | its processor" for workers in timed]
    print(f"| | this process | {' | '.join(heads)} |")
    first = next(iter(timed.values()))
    for name, (took, _) in alone.items():
        cells = [
            f"{seconds:.1f} s ({before / seconds:.2f})"
            for one in timed.values()
            for seconds, before in zip(one[name], first[name], strict=True)
        ]
        print(f"| {name} | {took:.1f} s | {' | '.join(cells)} |")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="where the runs are written")
    parser.add_argument("--json", type=Path, help="write what was measured here as well")
    return parser.parse_args()


if __name__ == "__main__":
    main()
