"""Processes that train together are compared while they train, as ``stepwatch run`` shows it."""

from __future__ import annotations

import os
import threading

import pytest

from stepwatch import Trial
from stepwatch.formats.findings import read_findings, read_statuses
from stepwatch.judge.evaluate import evaluate
from stepwatch.model.finding import Finding
from stepwatch.store import open_store
from tests.support import ROOT
from tests.support.hooks.torch.rank_divergence import AT
from tests.support.hooks.torch.ranks_fixture import HERE, TIMEOUT_S, start

pytestmark = pytest.mark.slow

RULE = "replica_divergence"


class Training:
    """A training of ``rank_divergence`` under ``stepwatch run``, in several processes.

    It ends once the first worker has printed a line that holds ``until``, or by itself.
    """

    def __init__(self, folder, what, size, until, *options):
        self.url = folder / "run"
        run = ("-m", "stepwatch", "run", "--run", self.url, "--rules", RULE, *options)
        script = HERE / "rank_divergence.py", folder, what
        paths = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
        processes = start("-X", size, "utf8", *run, *script, PYTHONPATH=paths)
        give_up = threading.Timer(TIMEOUT_S, lambda: [one.kill() for one in processes])
        give_up.start()
        try:
            self.lines = [[] for _ in processes]
            for line in processes[0].stderr:
                self.lines[0].append(line)
                if until in line:
                    (folder / "over").touch()
            for lines, process in zip(self.lines, processes, strict=True):
                lines += process.communicate()[1].splitlines()
            self.codes = [process.returncode for process in processes]
        finally:
            give_up.cancel()
            for process in processes:
                process.kill()

    @property
    def findings(self):
        """What was found and stored while it trained."""
        return [Finding.from_json(line) for line in read_findings(open_store(self.url))]

    def statuses(self):
        return [one for one in read_statuses(open_store(self.url)) if one["rule"] == RULE]


@pytest.mark.parametrize("options", [(), ("--companion",)], ids=["thread", "companion"])
def test_a_replica_that_was_changed_is_reported_while_training_goes_on(tmp_path, options):
    """By the first worker, which ends the training only once it has; and as by a check."""
    training = Training(tmp_path, "diverge", 2, RULE, *options)
    (found,) = training.findings

    assert [0, 0] == training.codes, training.lines
    reported = next(i for i, line in enumerate(training.lines[0]) if RULE in line)
    ended = next(i for i, line in enumerate(training.lines[0]) if "finished" in line)
    assert reported < ended
    assert ("diverged", True) == (found.condition, found.step > AT)
    assert [found] == list(evaluate(Trial(training.url), [RULE]).findings)
    assert ["IssuesFound", "NotEvaluated"] == [one["status"] for one in training.statuses()]


def test_of_healthy_replicas_nothing_is_said_and_once_only(tmp_path):
    """The first worker shows what is captured and how it ended, the other has nothing to say."""
    training = Training(tmp_path, "healthy", 2, "capturing")

    assert [0, 0] == training.codes, training.lines
    assert [] == training.findings
    assert [] == [line for line in training.lines[1] if "stepwatch" in line]
    assert 1 == sum("capturing" in line for line in training.lines[0])


def test_without_one_that_was_killed_the_others_are_compared(tmp_path):
    """They train on by themselves, and are replicas no more."""
    training = Training(tmp_path, "die", 3, RULE)
    found = training.findings[0]

    assert [0, 0, -9] == training.codes, training.lines
    assert ("unaveraged", True) == (found.condition, found.step > AT)
