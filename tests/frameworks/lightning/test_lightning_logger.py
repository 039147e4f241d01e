"""The logger for Lightning: a trainer that is given it is watched."""

from __future__ import annotations

import argparse

import pytest

import stepwatch
from stepwatch.integrations.lightning import StepwatchLogger
from stepwatch.trial import Trial
from tests.support.frameworks.lightning.lightning_trainings import loader, training

pytestmark = pytest.mark.framework
PL, REGRESSION = training("lightning.pytorch")


class Configured(REGRESSION):
    """Has hyperparameters."""

    def __init__(self, rate=0.1):
        super().__init__()
        self.save_hyperparameters()


def test_a_trainer_that_is_given_the_logger_is_watched_and_its_hyperparameters_are_kept(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    logger = StepwatchLogger("first", project="demo", quiet=True)
    quiet = dict.fromkeys(
        ("enable_progress_bar", "enable_model_summary", "enable_checkpointing"), False
    )
    trainer = PL.Trainer(max_epochs=2, accelerator="cpu", logger=[logger], **quiet)
    trainer.fit(Configured(rate=0.5), loader(10))
    stepwatch.finish()
    trial = Trial(logger.log_dir)

    assert logger.version.startswith("first-")
    assert ("finished", 20) == (trial.state, len(trial.steps()))
    assert "metric/train_loss" in trial.tensor_names()
    assert ("first", "demo") == (trial.settings.name, trial.settings.project)
    assert 0.5 == trial.settings.config["rate"]
    logger.log_hyperparams(argparse.Namespace(late=1))  # after the end nothing is done
