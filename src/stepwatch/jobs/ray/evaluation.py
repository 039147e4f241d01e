"""Runs that are judged on the nodes of a cluster: several at once, and shares of large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...judge.evaluate import PartialEvaluation, evaluate_partition
from ...judge.step_view import StepView
from ...trial import Trial
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
