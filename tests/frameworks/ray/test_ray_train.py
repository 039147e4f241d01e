"""Trainings of Ray Train, whose workers are processes that no script starts."""

from __future__ import annotations

import pytest
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from stepwatch.judge.engine import watch
from stepwatch.trial import Trial
from tests.support.frameworks.ray.ray_cluster import cluster

__all__ = ["cluster"]

pytestmark = [pytest.mark.framework, pytest.mark.timeout(300)]


def train(config):
    """A classifier, as each worker trains it."""
    import torch

    import stepwatch

    stepwatch.init(run=config["run"])
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    y = (x @ torch.randn(8, 3)).argmax(1)
    model = ray.train.torch.prepare_model(torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for at in torch.randperm(256).split(16):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[at]), y[at]).backward()
        optimizer.step()
    stepwatch.finish()


@pytest.mark.parametrize(("rate", "rules"), [(0.1, set()), (1000.0, {"step_size"})])
def test_each_worker_of_ray_train_is_a_worker_of_one_run(rate, rules, cluster, tmp_path):
    run = tmp_path / "run"
    trainer = TorchTrainer(
        train,
        train_loop_config={"run": str(run), "lr": rate},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=str(tmp_path / "ray")),
    )
    trainer.fit()

    trial = Trial(run)
    assert ["worker_0", "worker_1"] == sorted(trial.workers)
    assert 16 == len(trial.tensor("loss/cross_entropy").steps())
    assert rules == {one.rule for one in watch(trial, ["step_size"])}
