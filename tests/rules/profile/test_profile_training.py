"""Profile rules on a real training: the same in it, from its files, and while following."""

from __future__ import annotations

import time

import pytest
import torch
from torch import nn

from stepwatch import LiveWatch, Profiler, TorchHook, Trial, Watch, watch


def training(steps, slow):
    """Steps of a small net, of which some take long."""
    torch.manual_seed(0)
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        if number in slow:
            time.sleep(0.05)
        optimizer.step()


def judged(run, *, follow):
    engine = Watch(RULES)
    findings = [finding.to_json() for finding in watch(Trial(run), engine, follow=follow)]
    return findings, engine.statuses()


RULES = "step_outlier; overall_framework_metrics; max_initialization_time; low_gpu_utilization"


@pytest.mark.slow
def test_findings_are_the_same_wherever_they_are_found(tmp_path):
    """Under the real hook with the real profiler, in its process and from the run's files."""
    live = LiveWatch(RULES)
    with TorchHook(run=tmp_path, listeners=[Profiler(), live], say=lambda _: None, strict=True):
        training(400, slow=range(50, 350, 20))
    found = [finding.to_json() for finding in live.findings]

    assert ["step_outlier"] == [finding.rule for finding in live.findings]
    (finding,) = live.findings
    assert ("worker_0", "TRAIN") == (finding.worker, finding.mode)
    assert finding.value >= 15, "a busy machine adds some of its own"
    assert "the phase" in finding.message
    assert {"IssuesFound", "NoIssuesFound", "NotEvaluated"} == {s.status for s in live.statuses()}
    assert (found, live.statuses()) == judged(tmp_path, follow=False)
    assert (found, live.statuses()) == judged(tmp_path, follow=True)
