"""The process of one rule of a job, whose work is done on a node of a Ray cluster.

``python -m stepwatch.jobs.ray.rule_process HOME JOB INDEX RESUMES``: as
``stepwatch.jobs.rule_process``. The records stay here: a file of SQLite must not be changed from
several machines. Who judges asks for what is in them, and for what is to be noted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from ...judge.evaluate import PartialEvaluation, evaluate_partition
from ...judge.step_view import StepView
from ...trial import Trial
from ..records import Records
from ..rule_process import RuleProcess
from .cluster import connect, num_cpus, spread

Done = Iterable[tuple[int, PartialEvaluation]]
Call = tuple[str, tuple[str, ...], int, int]


def evaluate_on_ray(
    runs: Sequence[str],
    rules: Sequence[str],
    progress: Callable[[Done, int], Done] = lambda done, _: done,
) -> list[list[PartialEvaluation]]:
    """Return the shares in which each run was judged.

    Every node must reach the runs, and have Stepwatch installed.

    Args:
        runs: URLs.
        rules: Specs; see ``parse_rules``.
        progress: Passes on what is done, and is told how much that will be.
    """
    calls = split_calls(runs, rules, num_cpus(connect()))
    found: list[list[PartialEvaluation]] = [[] for _ in runs]
    for index, share in progress(spread(judge_run, calls), len(calls)):
        found[index * len(runs) // len(calls)].append(share)
    return found


def split_calls(runs: Sequence[str], rules: Sequence[str], processors: int) -> list[Call]:
    """Return calls of ``judge_run``: as many for each run as keep all processors busy.

    Example:
        >>> split_calls(["a", "b"], ["x", "y"], 3)[:2]
        [('a', ('x', 'y'), 0, 2), ('a', ('x', 'y'), 1, 2)]
    """
    of = max(1, min(len(rules), -(-processors // len(runs))))
    return [(run, tuple(rules), share, of) for run in runs for share in range(of)]


def judge_run(run: str, rules: Sequence[str], share: int, of: int) -> PartialEvaluation:
    """Judge a share of a run, where this is called."""
    trial = Trial(run)
    steps = (StepView(records, trial.patterns) for records in trial.records())
    return evaluate_partition(steps, rules, share, of, trial.profile)


class RecordsActor:
    """The records of a folder, as an actor."""

    def __init__(self, home: Path) -> None:
        self._records = Records(home)

    def call(self, what: str, *values: Any) -> Any:
        """Call a method of the records."""
        return getattr(self._records, what)(*values)


class RemoteRecords:
    """The records on another node, by a handle of the ``RecordsActor`` there."""

    def __init__(self, home: Path, ledger: Any) -> None:
        self.home, self._ledger = home, ledger

    def __getattr__(self, what: str) -> Callable[..., Any]:
        return lambda *values: connect().get(self._ledger.call.remote(what, *values))


def run_on_node(home: Path, ledger: Any, job: str, number: int, resumes: int) -> None:
    """Judge a job on the node where this is called."""
    records = cast("Records", RemoteRecords(home, ledger))  # it answers the same calls
    RuleProcess(records, job, number).judge(resumes)


def main(home: Path, job: str, number: int, resumes: int) -> None:
    """Have a rule judge its job on a node, to the end."""
    ray = connect(show_output=True)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    ledger = ray.remote(num_cpus=0)(RecordsActor).options(scheduling_strategy=here).remote(home)
    # of no processor: rules must not wait until the training gives its own back
    spread = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": "SPREAD"}
    judge = ray.remote(**spread)(run_on_node)
    ray.get(judge.remote(home, ledger, job, number, resumes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
