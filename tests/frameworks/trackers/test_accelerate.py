"""The tracker for Accelerate, by its name and as an object."""

from __future__ import annotations

import pytest
import torch

from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
accelerate = pytest.importorskip("accelerate")
integration = pytest.importorskip("stepwatch.integrations.accelerate")


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "object"])
def test_a_script_of_accelerate_becomes_a_run(tmp_path, monkeypatch, by_name):
    monkeypatch.chdir(tmp_path)
    by_object = integration.StepwatchTracker("demo", quiet=True)
    accelerator = accelerate.Accelerator(log_with="stepwatch" if by_name else by_object, cpu=True)
    accelerator.init_trackers("demo", config={"lr": 0.1})
    model = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for step in range(20):
        loss = torch.nn.functional.mse_loss(model(torch.randn(8, 4)), torch.zeros(8, 1))
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.log({"mine": step}, step=step)
    accelerator.end_training()
    (run,) = (tmp_path / "runs").iterdir()
    trial = Trial(run)

    assert ("finished", 20) == (trial.state, len(trial.steps()))
    assert {"gradient/weight", "metric/mine"} <= set(trial.tensor_names())
    assert ("demo", {"lr": 0.1}) == (trial.settings.project, trial.settings.config)
