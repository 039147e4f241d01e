"""What `training_step` of Lightning returns is what is trained on."""

from __future__ import annotations

import pytest
import torch

from stepwatch.hooks.lightning import LightningHook
from stepwatch.rules import watch
from stepwatch.trial import Trial
from tests.support.frameworks.lightning.lightning_trainings import loader, quiet_trainer, training

pytestmark = pytest.mark.framework
PL, REGRESSION = training("lightning.pytorch")


class Forgets(REGRESSION):
    """Logs the loss, and does not return it."""

    def training_step(self, batch, batch_idx):
        super().training_step(batch, batch_idx)


class WritesOut(REGRESSION):
    """Neither returns the loss nor computes it by a function that is known."""

    def training_step(self, batch, batch_idx):
        self.log("train_loss", (self.net(batch) - batch.sum(1, keepdim=True)).square().mean())


class Skips(REGRESSION):
    """Skips two batches of three, the first ones among them."""

    def training_step(self, batch, batch_idx):
        return super().training_step(batch, batch_idx) if batch_idx % 3 == 2 else None


class WarmsUp(REGRESSION):
    """Fills a buffer for twelve batches, and has no loss until then."""

    def training_step(self, batch, batch_idx):
        self.net(batch)
        return super().training_step(batch, batch_idx) if self.trainer.global_step >= 12 else None


class ReturnsMore(REGRESSION):
    def training_step(self, batch, batch_idx):
        return {"loss": super().training_step(batch, batch_idx), "size": len(batch)}


class Manual(REGRESSION):
    """Optimizes by itself, and has nothing to return."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(super().training_step(batch, batch_idx))
        optimizer.step()


def found(folder, model, **options):
    """Train for 24 batches; return the conditions that the rule finds, and its messages."""
    torch.manual_seed(0)
    with LightningHook(folder / "run", say=lambda _: None, strict=True) as hook:
        trainer = quiet_trainer(
            PL, folder, max_epochs=1, callbacks=[hook], limit_val_batches=0, **options
        )
        trainer.fit(model, loader(24))
    findings = list(watch(Trial(hook.recorder.store.url), ["untrained_parameter"]))
    return [one.condition for one in findings], " ".join(one.message for one in findings)


@pytest.mark.parametrize("model", [Forgets, WritesOut])
@pytest.mark.parametrize("batches", [1, 2])
def test_a_loss_that_is_not_returned_is_named(tmp_path, model, batches):
    """Lightning skips backward() then and trains nothing."""
    conditions, message = found(tmp_path, model(), accumulate_grad_batches=batches)

    assert ["not_returned"] == conditions
    assert "training_step returned no loss (None) for any batch" in message


@pytest.mark.parametrize("model", [REGRESSION, ReturnsMore, Skips, WarmsUp, Manual])
def test_what_trains_is_no_fault(tmp_path, model):
    assert [] == found(tmp_path, model())[0]
