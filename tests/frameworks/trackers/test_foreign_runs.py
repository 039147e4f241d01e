"""What the real trackers write is read, judged, and listed: the same training in each of them."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from stepwatch.judge.evaluate import evaluate
from stepwatch.trial import Trial
from stepwatch.trial.run_listing import find_runs, summarize_run

pytestmark = pytest.mark.framework

STEPS = 260
#: Falls, and jumps up far above what it was at one step; the learning rate is constant.
LOSSES = [2.0 * math.exp(-step / 60) + 0.01 * math.sin(step) for step in range(STEPS)]
LOSSES[240] = 60.0


def rows():
    """Yield what is logged at each step."""
    for step, loss in enumerate(LOSSES):
        row = {"train/loss": loss, "train/learning_rate": 0.01, "train/grad_norm": 1.0}
        if step % 20 == 19:
            row["eval/loss"] = loss + 0.1
        yield step, row


def by_tensorboard(folder):
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder / "run") as writer:
        for step, row in rows():
            for name, value in row.items():
                writer.add_scalar(name, value, step)
        writer.add_histogram("weights", np.arange(10.0), 3)
    return folder / "run"


def by_wandb(folder):
    import wandb

    run = wandb.init(mode="offline", dir=folder, project="p", config={"lr": 0.01})
    for step, row in rows():
        run.log(row, step=step)
    run.finish()
    (found,) = folder.glob("wandb/offline-run-*")
    return found


def mlflow_run(folder, address):
    import mlflow

    mlflow.set_tracking_uri(address)
    with mlflow.start_run():
        mlflow.log_param("lr", 0.01)
        for step, row in rows():
            mlflow.log_metrics(row, step=step)


def by_mlflow_files(folder):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    mlflow_run(folder, f"file://{folder}/mlruns")
    (metrics,) = folder.glob("mlruns/*/*/metrics")
    return metrics.parent


def by_mlflow_database(folder):
    mlflow_run(folder, f"sqlite:///{folder}/mlflow.db")
    return folder / "mlflow.db"


def by_trackio(folder):
    program = (
        "import json, sys, trackio\n"
        "trackio.init(project='p', name='mine', config={'lr': 0.01})\n"
        "for step, row in json.load(sys.stdin):\n"
        "    trackio.log(row, step=step)\n"
        "trackio.finish()\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(list(rows())), text=True, check=True,
        env={**os.environ, "TRACKIO_DIR": str(folder), "HF_HOME": str(folder)}, cwd=folder,
        capture_output=True,
    )  # fmt: skip
    (found,) = folder.glob("**/p.db")
    return found


def by_lightning(folder):
    from lightning.pytorch.loggers import CSVLogger

    logger = CSVLogger(folder, name="mine")
    logger.log_hyperparams({"lr": 0.01})
    for step, row in rows():
        logger.log_metrics(row, step=step)
    logger.save()
    return folder / "mine/version_0"


WRITERS = {
    "tensorboard": by_tensorboard,
    "wandb": by_wandb,
    "mlflow": by_mlflow_files,
    "mlflow database": by_mlflow_database,
    "trackio": by_trackio,
    "csv": by_lightning,
}


@pytest.fixture(scope="module", params=WRITERS)
def logged(request, tmp_path_factory):
    """Where a tracker wrote the training, and its name."""
    folder = tmp_path_factory.mktemp("logged")
    return WRITERS[request.param](folder), request.param


class TestTrackers:
    def test_every_value_is_there_under_its_step_and_mode(self, logged):
        """As the tracker keeps it: TensorBoard in 32 bits."""
        trial = Trial(logged[0])
        loss = trial.tensor("loss/loss")
        train, eval_ = loss.statistics("TRAIN"), loss.statistics("EVAL")

        assert list(range(STEPS)) == trial.steps("TRAIN")
        assert list(range(19, STEPS, 20)) == trial.steps("EVAL")
        np.testing.assert_allclose(train["mean"], LOSSES, rtol=1e-6)
        np.testing.assert_allclose(eval_["mean"], np.add(LOSSES[19::20], 0.1), rtol=1e-6)
        assert {"learning_rate/learning_rate", "metric/grad_norm"} <= set(trial.tensor_names())

    def test_rules_that_need_scalars_judge_and_the_rest_lacked_data(self, logged):
        """The jump is found at the step of the tracker; nothing is called healthy unseen."""
        verdict = evaluate(Trial(logged[0]), ["loss_spike", "loss_not_decreasing", "dead_relu"])
        outcomes = {status.rule: status.outcome for status in verdict.statuses}

        assert [("loss_spike", 240)] == [(one.rule, one.mode_step) for one in verdict.findings]
        assert ("passed", "lacked data") == (outcomes["loss_not_decreasing"], outcomes["dead_relu"])

    def test_it_is_listed_with_its_last_loss(self, logged):
        path, _ = logged
        folder = path.parent if path.is_file() else path
        (name,) = find_runs(str(folder))
        summary = summarize_run(Trial(f"{folder}/{name}" if name else folder))

        assert LOSSES[-1] == pytest.approx(summary.last_loss, rel=1e-6)

    def test_how_it_ended_is_known_where_the_tracker_says_so(self, logged):
        """Of the others it goes on as long as its files change."""
        knows = logged[1] in ("wandb", "mlflow", "mlflow database")

        assert ("finished" if knows else "running") == Trial(logged[0]).state


class TestTrainers:
    def test_the_state_of_a_transformers_checkpoint_is_a_run(self, tmp_path):
        """The folder of its checkpoints is the run, by the newest of them."""
        import torch
        from transformers import Trainer, TrainingArguments

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(4, 1)

            def forward(self, x, labels):
                return {"loss": ((self.fc(x) - labels) ** 2).mean()}

        data = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(32)]
        arguments = TrainingArguments(
            tmp_path / "out", max_steps=12, save_steps=6, logging_steps=2, report_to=[],
            use_cpu=True, disable_tqdm=True, per_device_train_batch_size=4,
        )  # fmt: skip
        Trainer(Model(), arguments, train_dataset=data).train()
        trial = Trial(tmp_path / "out")

        assert [""] == find_runs(str(tmp_path / "out"))
        assert [2, 4, 6, 8, 10, 12] == trial.steps("TRAIN")
        assert {"loss/loss", "learning_rate/learning_rate"} <= set(trial.tensor_names())

    def test_keras_csv_and_tensorboard_are_runs(self, tmp_path, monkeypatch):
        """The folders for training and validation of one training are one run."""
        monkeypatch.setenv("KERAS_BACKEND", "torch")
        import keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x, y = np.random.rand(64, 4), np.random.rand(64, 1)
        callbacks = [keras.callbacks.CSVLogger(tmp_path / "history.csv")]
        model.fit(x, y, epochs=5, validation_split=0.5, callbacks=callbacks, verbose=0)
        trial = Trial(tmp_path)
        with (tmp_path / "history.csv").open() as file:
            written = [float(row["val_loss"]) for row in csv.DictReader(file)]

        assert [0, 1, 2, 3, 4] == trial.steps("TRAIN") == trial.steps("EVAL")
        np.testing.assert_allclose(trial.tensor("loss/loss").statistics("EVAL")["mean"], written)
