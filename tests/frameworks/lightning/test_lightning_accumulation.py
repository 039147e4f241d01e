"""How Lightning puts micro-batches together to a step."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch.callbacks import GradientAccumulationScheduler

from stepwatch import LiveWatch
from stepwatch.hooks.lightning import LightningHook
from tests.support.frameworks.lightning.lightning_trainings import loader, quiet_trainer, training

pytestmark = pytest.mark.framework
PL, REGRESSION = training("lightning.pytorch")


class DividedTwice(REGRESSION):
    """Divides the loss by the number of micro-batches, as Lightning does."""

    def training_step(self, batch, batch_idx):
        return super().training_step(batch, batch_idx) / 4


def found(run, model, *, batches, epochs, callbacks=(), **options):
    """Train; return the conditions that the rule finds."""
    torch.manual_seed(0)
    live = LiveWatch("grad_accumulation_scale")
    with LightningHook(run, listeners=[live], say=lambda _: None, strict=True) as hook:
        callbacks = [hook, *callbacks]
        trainer = quiet_trainer(
            PL, run.parent, max_epochs=epochs, callbacks=callbacks, limit_val_batches=0, **options
        )
        trainer.fit(model, loader(batches))
    return [one.condition for one in live.findings]


def test_an_epoch_that_is_shorter_than_what_is_accumulated(tmp_path):
    """Each makes a step at its end, of losses that are divided by what was asked for."""
    run = tmp_path / "run"

    assert ["fewer"] == found(run, REGRESSION(), batches=2, epochs=24, accumulate_grad_batches=8)


def test_a_loss_that_the_script_divides_again(tmp_path):
    run = tmp_path / "run"

    assert ["divided_twice"] == found(
        run, DividedTwice(), batches=40, epochs=2, accumulate_grad_batches=4
    )


def test_what_it_does_itself_is_no_fault(tmp_path):
    """Also where the last step of an epoch has fewer, and where a callback changes the number."""
    once = found(tmp_path / "a", REGRESSION(), batches=10, epochs=9, accumulate_grad_batches=4)
    scheduler = GradientAccumulationScheduler({0: 4, 1: 2, 2: 1})
    changed = found(tmp_path / "b", REGRESSION(), batches=80, epochs=3, callbacks=[scheduler])

    assert [] == [*once, *changed]
