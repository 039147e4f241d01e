"""Snippets that are pasted from the web run as they stand, on a small run."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from stepwatch.formats.smdebug.collections import SavedCollection
from tests.support.compat.debugger_runs import Written
from tests.support.compat.pasted import LOAD_ALL, LOAD_SOME, NOTEBOOK


@pytest.fixture
def cloud(monkeypatch):
    """A cloud client that is imported and used for nothing."""
    monkeypatch.setitem(sys.modules, "boto3", MagicMock())


@pytest.fixture
def job(tmp_path):
    """A finished job of two workers; its run lies where SageMaker would put it."""
    run = Written(tmp_path / "job-1" / "debug-output", workers=2)
    for step in (0, 100):
        run.step(step, {"fc.weight": np.ones((3, 2), np.float32)}, workers=(0, 1))
    run.step(200, {"loss": 0.5}, workers=(1,))
    run.end()
    latest = SimpleNamespace(job_name="job-1")
    return {"place": str(tmp_path), "estimator": SimpleNamespace(latest_training_job=latest)}


class TestLoading:
    def test_all_of_a_run(self, cloud, job, capsys):
        """Every worker, tensor and step, with shape and dtype."""
        exec(LOAD_ALL, job)
        weight = ["Tensor: fc.weight"] + [
            f"Step: {step}, Shape: (3, 2), Data type: float32" for step in (0, 100)
        ]
        loss = ["Tensor: loss", "Step: 200, Shape: (), Data type: float64"]

        assert [
            "Processing node: worker_0",
            *weight,
            "Processing node: worker_1",
            *weight,
            *loss,
            "Finished loading debugger data",
        ] == capsys.readouterr().out.splitlines()

    def test_some_tensors(self, cloud, job, capsys):
        """Those that the pattern finds, of every worker."""
        exec(LOAD_SOME, job)
        of_step = "Tensor: fc.weight, Step: {}, Shape: (3, 2), Data type: float32"

        assert [
            "Found tensors matching '.*weight.*': ['fc.weight']",
            *[of_step.format(step) for step in (0, 100)] * 2,
            "Finished loading filtered debugger data",
        ] == capsys.readouterr().out.splitlines()


class TestNotebook:
    def test_watching_a_training(self, tmp_path, monkeypatch, capsys):
        """Chunks of steps are drawn while they come, each once, then the kernels; it ends."""
        random = np.random.default_rng(0)
        conv0 = [SavedCollection("conv0_tensors", ("conv0.*",))]
        run = Written(tmp_path, collections=conv0)
        todo = [0, 100, 200, 300]

        def train(_):
            """Write the next step whenever the notebook sleeps; then end."""
            if not todo:
                return
            step = todo.pop(0)
            run.step(
                step,
                {
                    "conv0_output_0": random.normal(size=(2, 3, 4, 4)).astype(np.float32),
                    "conv0_weight": random.normal(size=(3, 1, 5, 5)).astype(np.float32),
                    "dense0_bias": np.float32([1]),
                },
            )
            if not todo:
                run.end()

        drawn = []
        pyplot = MagicMock()
        pyplot.subplots.side_effect = lambda nrows, ncols, **_: (None, axes(ncols))

        def axes(number):
            made = [SimpleNamespace(imshow=show, set_title=drawn.append) for _ in range(number)]
            return made[0] if number == 1 else np.array(made, object)

        def show(image, cmap):
            assert 2 == image.ndim

        matplotlib = ModuleType("matplotlib")
        matplotlib.pyplot = pyplot
        monkeypatch.setitem(sys.modules, "matplotlib", matplotlib)
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
        monkeypatch.setattr("time.sleep", train)
        train(None)
        names = {
            "sagemaker_simple_estimator": SimpleNamespace(
                latest_job_debugger_artifacts_path=lambda: run.url
            )
        }
        exec(NOTEBOOK, names)

        kernels = ["0", "100", "200", "300"] * 3
        assert (["conv0_output_0", "conv0_weight"], kernels, kernels) == (
            names["names"],
            sorted(drawn[:4], key=int) * 3,
            drawn[4:],
        )
