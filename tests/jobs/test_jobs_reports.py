"""A job that asks for a report has it where SageMaker's jobs do."""

from __future__ import annotations

import json

import pytest

from stepwatch.jobs import RuleSpec
from stepwatch.judge.rule import PROFILE_RULES
from tests.support.jobs.living import TIMEOUT_S, submit

__all__ = ["submit"]

# Long enough for the machine to be read.
TRAINS = """
import time, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(30):
    x = torch.randn(16, 4)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    time.sleep(0.1)
"""


@pytest.mark.slow
def test_a_report_on_the_profile(submit, tmp_path):
    """Here and in the output: a page, a notebook, and the numbers of each rule."""
    asked = {"rule_to_invoke": "ProfilerReport", "StepOutlier_stddev": "5"}
    job = submit(
        TRAINS,
        capture=True,
        profiler=True,
        rules=[RuleSpec(asked, "ProfilerReport-1700000000")],
        output=str(tmp_path / "out"),
    )
    record = job.wait(TIMEOUT_S)

    assert ("Completed", ["NoIssuesFound"]) == (record.status, [one.status for one in record.rules])
    for root in (tmp_path / "jobs" / job.name, tmp_path / "out" / job.name):
        place = root / "rule-output" / "ProfilerReport-1700000000" / "profiler-output"
        assert "worker_0" in (place / "profiler-report.html").read_text()
        assert "cells" in json.loads((place / "profiler-report.ipynb").read_text())
        numbers = {
            path.stem: json.loads(path.read_text())
            for path in (place / "profiler-reports").iterdir()
        }
        assert len(PROFILE_RULES) == len(numbers)
        assert 5 == numbers["StepOutlier"]["RuleParameters"]["stddev"]
        # Of 30 steps the first 11 are always seen in full.
        assert 11 <= numbers["OverallFrameworkMetrics"]["Datapoints"] <= 30
        assert 0 < numbers["OverallSystemUsage"]["Datapoints"]
