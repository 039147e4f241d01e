"""The process of one rule of a job, whose work is done on a node of a Ray cluster.

``python -m stepwatch.jobs.ray.judging HOME JOB PLACE RESUMES``: as ``stepwatch.jobs.judging``. The
records stay here: a file of SQLite must not be changed from several machines. Who judges asks for
what is in them, and for what is to be noted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from ..judging import Judging
from ..records import Records
from .cluster import connect


class Ledger:
    """The records, where they lie.

    Args:
        home: Where that is.
    """

    def __init__(self, home: Path) -> None:
        self._records = Records(home)

    def call(self, what: str, *values: Any) -> Any:
        """Do what is asked of the records."""
        return getattr(self._records, what)(*values)


class DistantRecords:
    """The records, for who is elsewhere.

    Args:
        home: Where they lie.
        ledger: A handle of the ``Ledger`` there.
    """

    def __init__(self, home: Path, ledger: Any) -> None:
        self.home, self._ledger = home, ledger

    def __getattr__(self, what: str) -> Callable[..., Any]:
        return lambda *values: connect().get(self._ledger.call.remote(what, *values))


def judge_there(home: Path, ledger: Any, job: str, number: int, resumes: int) -> None:
    """Judge a job on the node where this is called."""
    records = cast("Records", DistantRecords(home, ledger))  # it answers the same calls
    Judging(records, job, number).judge(resumes)


def main(home: Path, job: str, number: int, resumes: int) -> None:
    """Have a rule judge its job on a node, to the end."""
    ray = connect(show_output=True)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    ledger = ray.remote(num_cpus=0)(Ledger).options(scheduling_strategy=here).remote(home)
    # of no processor: rules must not wait until the training gives its own back
    spread = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": "SPREAD"}
    judge = ray.remote(**spread)(judge_there)
    ray.get(judge.remote(home, ledger, job, number, resumes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
