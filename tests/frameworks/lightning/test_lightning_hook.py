"""What the hook for Lightning adds to that of torch."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

from stepwatch.hooks.lightning import LightningHook
from stepwatch.hooks.torch import models
from stepwatch.model.steps import Mode
from stepwatch.rules import watch
from stepwatch.trial import Trial
from tests.frameworks.lightning.test_lightning_contract import SCRIPT
from tests.support.frameworks.lightning.lightning_trainings import loader, quiet_trainer, training

pytestmark = pytest.mark.framework
PL, REGRESSION = training("lightning.pytorch")


@pytest.fixture
def hook(tmp_path):
    """A hook that raises its own failures."""
    with LightningHook(tmp_path / "run", say=lambda _: None, strict=True) as made:
        yield made


def trained(hook, folder, fitted=lambda trainer, model: None, **options):
    """Train for an epoch of 4 batches, and validate on 2; return the run."""
    torch.manual_seed(0)
    model = REGRESSION()
    trainer = quiet_trainer(PL, folder, max_epochs=1, callbacks=[hook], **options)
    trainer.fit(model, loader(4), loader(2, seed=2))
    fitted(trainer, model)
    hook.close()
    return Trial(hook.recorder.store.url)


class TestModes:
    def test_validation_is_evaluation_and_the_sanity_check_is_nothing(self, hook, tmp_path):
        """The batches of the check before the training leave no step."""
        trial = trained(hook, tmp_path, num_sanity_val_steps=2)

        assert (4, 2) == (len(trial.steps(Mode.TRAIN)), len(trial.steps(Mode.EVAL)))

    def test_tests_are_evaluation_and_predictions_are_their_own(self, hook, tmp_path):
        """After the training, by the same trainer."""

        def use(trainer, model):
            trainer.test(model, loader(3))
            trainer.predict(model, loader(5))

        trial = trained(hook, tmp_path, use)

        assert 2 + 3 == len(trial.steps(Mode.EVAL))
        assert 5 == len(trial.steps(Mode.PREDICT))


class TestMonitors:
    @pytest.mark.parametrize(("mode", "found"), [("min", ["EarlyStopping"]), ("max", [])])
    def test_one_that_is_told_the_wrong_direction_is_named(self, hook, tmp_path, mode, found):
        """By default less is better, whatever is monitored."""
        stops = EarlyStopping("val_accuracy", mode=mode, strict=False)
        keeps = [
            ModelCheckpoint(tmp_path, monitor="val_accuracy", save_top_k=-1),
            ModelCheckpoint(tmp_path, monitor="val_loss"),
        ]
        trainer = quiet_trainer(
            PL, tmp_path, max_epochs=1, callbacks=[hook, stops], limit_val_batches=0
        )
        trainer.callbacks += keeps
        trainer.fit(REGRESSION(), loader(4))
        hook.close()

        judged = watch(Trial(hook.recorder.store.url), ["setup"])
        assert [f"monitor {name}" for name in found] == [one.condition for one in judged]


class TestPartsOfData:
    """Options by which a trainer tries out whether a model can learn, and that stayed there."""

    def found(self, hook, folder, *, epochs=3, use="test", data=None, **options):
        """Return what is found where a model that was trained on 20 batches is used."""
        data = data or loader(20)
        trainer = quiet_trainer(PL, folder, max_epochs=epochs, callbacks=[hook], **options)
        model = REGRESSION()
        trainer.fit(model, data, loader(2, seed=2))
        given = data if use == "test of the same" else loader(2, seed=2)
        if use:
            (trainer.predict if use == "predict" else trainer.test)(model, given)
        hook.close()
        judged = watch(Trial(hook.recorder.store.url), ["setup"])
        return [one.message for one in judged if one.condition == "part_of_data"]

    @pytest.mark.parametrize("use", ["test", "predict"])
    @pytest.mark.parametrize("options", [{"overfit_batches": 2}, {"limit_train_batches": 2}])
    def test_a_model_of_a_few_batches_that_is_used_is_found(self, hook, tmp_path, options, use):
        (message,) = self.found(hook, tmp_path, use=use, **options)

        assert f"{next(iter(options))} of the Trainer let it take 2 of 20 batches" in message
        assert "in all of 3 epochs" in message

    @pytest.mark.parametrize(
        "options",
        [
            {"overfit_batches": 2, "use": ""},
            {"overfit_batches": 2, "use": "test of the same"},
            {"overfit_batches": 2, "epochs": 1},
            {"limit_train_batches": 0.5},
            {"fast_dev_run": True},
            {},
        ],
        ids=["to see that it learns", "of the same", "once", "half", "a dry run", "all"],
    )
    def test_whoever_tries_out_is_not_accused(self, hook, tmp_path, options):
        assert [] == self.found(hook, tmp_path, **options)

    def test_other_batches_in_each_epoch_are_all_in_the_end(self, hook, tmp_path):
        """A limit says how long an epoch is."""
        data = torch.utils.data.DataLoader(loader(20).dataset, batch_size=4, shuffle=True)

        assert [] == self.found(hook, tmp_path, data=data, limit_train_batches=2)


class TestMetrics:
    def test_what_is_logged_belongs_to_its_step(self, hook, tmp_path):
        """Those of a batch with its step, those of an evaluation with its last one."""
        trial = trained(hook, tmp_path)

        losses = trial.tensor("loss/mse_loss").statistics(mode=Mode.TRAIN)["mean"]
        logged = trial.tensor("metric/train_loss")
        np.testing.assert_allclose(losses, logged.statistics(mode=Mode.TRAIN)["mean"], rtol=1e-6)
        assert [1] == trial.tensor("metric/val_loss").steps(Mode.EVAL)
        assert [] == trial.tensor("metric/val_loss").steps(Mode.TRAIN)
        assert list(range(4)) == trial.tensor("metric/epoch").steps(Mode.TRAIN)

    def test_so_it_does_where_most_steps_are_thin(self, tmp_path, monkeypatch):
        """A step that only its loss is observed of is held, too, until something runs."""
        # As where the hook is there before any optimizer is made.
        monkeypatch.setattr(models, "may_have_optimizers", lambda: False)
        torch.manual_seed(0)
        model = REGRESSION()
        with LightningHook(tmp_path / "run", say=lambda _: None, strict=True, budget=0.03) as hook:
            hook.recorder.budget.period = 20
            trainer = quiet_trainer(PL, tmp_path, max_epochs=5, callbacks=[hook])
            trainer.fit(model, loader(12), loader(2, seed=2))
        trial = Trial(tmp_path / "run")

        names = "loss/mse_loss", "metric/train_loss", "metric/epoch", "learning_rate/0"
        logged = {
            name: [float(trial.tensor(name).value(step, "TRAIN")) for step in range(60)]
            for name in names
        }
        assert model.losses == pytest.approx(logged["loss/mse_loss"])
        assert model.losses == pytest.approx(logged["metric/train_loss"])
        assert [step // 12 for step in range(60)] == logged["metric/epoch"]
        assert [0.01] * 60 == pytest.approx(logged["learning_rate/0"])
        assert 10 == len(trial.steps(Mode.EVAL))
        assert len(trial.tensor("gradient/net.0.weight").steps("TRAIN")) < 40

    def test_accumulated_batches_are_one_step(self, hook, tmp_path):
        """An update for every two batches."""
        trial = trained(hook, tmp_path, accumulate_grad_batches=2)

        assert [0, 1] == trial.steps(Mode.TRAIN)
        assert [0, 1] == trial.tensor("metric/train_loss").steps(Mode.TRAIN)
        counts = trial.tensor("loss/mse_loss").statistics(mode=Mode.TRAIN)["count"]
        assert [2, 2] == list(counts)

    def test_so_are_those_of_thin_steps(self, tmp_path, monkeypatch):
        """What is logged after the first of two batches is of the step, too."""
        monkeypatch.setattr(models, "may_have_optimizers", lambda: False)
        torch.manual_seed(0)
        model = REGRESSION()
        with LightningHook(tmp_path / "run", say=lambda _: None, strict=True, budget=0.03) as hook:
            hook.recorder.budget.period = 20
            options = {"max_epochs": 10, "accumulate_grad_batches": 2, "callbacks": [hook]}
            quiet_trainer(PL, tmp_path, **options).fit(model, loader(12))
        trial = Trial(tmp_path / "run")

        logged = trial.tensor("metric/train_loss").statistics(mode=Mode.TRAIN)
        assert [2] * 60 == list(logged["count"])
        pairs = np.asarray(model.losses).reshape(60, 2)
        np.testing.assert_allclose(pairs.mean(1), logged["mean"], rtol=1e-6)

    def test_what_is_logged_is_not_read_at_once(self, hook, tmp_path, monkeypatch):
        """To ask a tensor for its number would wait for the device at each batch."""
        asked, after_batch = [], hook.on_train_batch_end

        def watched(*args):
            with monkeypatch.context() as patch:
                patch.setattr(torch.Tensor, "item", lambda _: asked.append("item"))
                after_batch(*args)

        hook.on_train_batch_end = watched
        trial = trained(hook, tmp_path)

        assert [] == asked
        assert 4 == len(trial.tensor("metric/train_loss").steps(Mode.TRAIN))

    def test_what_was_logged_by_the_sanity_check_is_of_no_step(self, hook, tmp_path):
        """It is not taken for something new after the first batch."""
        trial = trained(hook, tmp_path, num_sanity_val_steps=2)

        assert [] == trial.tensor("metric/val_loss").steps(Mode.TRAIN)

    def test_a_hook_that_was_closed_asks_for_nothing(self, hook):
        """A trainer works out its metrics when it is asked for them."""
        hook.close()

        hook.on_train_batch_end(SimpleNamespace(current_epoch=0), None)
        hook.on_validation_end(SimpleNamespace(sanity_checking=False), None)


class TestTraining:
    def test_gradients_are_those_of_the_step(self, tmp_path):
        """Lightning has them computed within the step of the optimizer, by a closure."""
        policy = ["weights:raw", "gradients:raw"]
        hook = LightningHook(tmp_path / "run", policy=policy, say=lambda _: None, strict=True)
        trial = trained(hook, tmp_path)

        inputs = loader(4).dataset[:16].numpy()
        seen = {name: trial.tensor(name) for name in ("net.2.bias", "gradient/net.2.bias")}
        assert seen["gradient/net.2.bias"].steps(Mode.TRAIN) == [0, 1, 2, 3]
        assert seen["gradient/net.2.bias"].value(0).shape == seen["net.2.bias"].value(0).shape
        output = trial.tensor("output/net").statistics(mode=Mode.TRAIN)["mean"][0]
        expected = 2 * (output - inputs.sum(1).mean())
        np.testing.assert_allclose(expected, seen["gradient/net.2.bias"].value(0).item(), rtol=1e-5)

    def test_a_training_is_stopped_without_an_exception(self, hook, tmp_path):
        """What comes after ``fit`` in a script is still run."""
        model = REGRESSION(lambda step: hook.stop("enough") if step == 1 else None)
        trainer = quiet_trainer(PL, tmp_path, max_epochs=9, callbacks=[hook])
        trainer.fit(model, loader(4), loader(2))

        assert trainer.should_stop
        assert 2 == len(model.losses)
        assert "stopped" == hook.close().state

    def test_a_trainer_has_the_hook_once(self, hook, tmp_path):
        """Whether it was given or not."""
        given = quiet_trainer(PL, tmp_path, callbacks=[hook])
        not_given = quiet_trainer(PL, tmp_path)

        assert [1, 1] == [one.callbacks.count(hook) for one in (given, not_given)]

    def test_a_copy_of_a_trainer_has_the_same_hook(self, hook, tmp_path):
        """It is the hook of this process, of which there is one for a run."""
        trainer = quiet_trainer(PL, tmp_path, callbacks=[hook])

        assert hook is copy.deepcopy(trainer.callbacks)[-1]

    def test_a_trainer_is_sent_to_another_process_without_the_hook(self, hook, tmp_path):
        """As ``strategy="ddp_spawn"`` does: a callback that does nothing takes its place."""
        trainer = quiet_trainer(PL, tmp_path, callbacks=[hook])
        place = trainer.callbacks.index(hook)

        sent = pickle.loads(pickle.dumps(trainer.callbacks))

        assert PL.Callback is type(sent[place])

    def test_its_other_name_is_watched_as_well(self, tmp_path):
        """``pytorch_lightning``, by ``stepwatch run``."""
        name = "pytorch_lightning"
        (tmp_path / "train.py").write_text(SCRIPT.format(steps=3, name=name, logger=name))
        command = [sys.executable, "-m", "stepwatch", "run", "--run", "run", "train.py"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

        trial = Trial(tmp_path / "run")
        assert [0, 1, 2] == trial.tensor("metric/epoch").steps(Mode.TRAIN)
