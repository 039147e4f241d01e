"""How accelerate, and the trainer of Transformers, put micro-batches together to a step."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch.optim.lr_scheduler import LinearLR
from torch.utils.data import DataLoader, TensorDataset
from transformers import Trainer

from stepwatch import LiveWatch, TorchHook
from stepwatch.hooks.transformers import TransformersHook
from tests.support.frameworks.transformers.transformers_trainings import (
    arguments,
    samples,
    tiny_model,
)

pytestmark = pytest.mark.framework
RULES = ["grad_accumulation_scale", "learning_rate_anomaly", "logged_metric"]
ASKED = 4


@pytest.fixture
def accelerator():
    """An accelerator that is asked for micro-batches; what it shares is forgotten afterwards."""
    yield Accelerator(cpu=True, gradient_accumulation_steps=ASKED)
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


def accelerated(
    accelerator, run, *, enter=True, divide_by=1, ours=False, plain_schedule=False, steps=40
):
    """Train by accelerate's own loop; return the conditions that are found.

    Args:
        enter: Enter ``accumulate()`` for each micro-batch.
        divide_by: By what the script divides the loss.
        ours: Call ``loss.backward()``, and not that of the accelerator.
        plain_schedule: Leave the schedule to the script.
    """
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = TensorDataset(torch.randn(4 * ASKED * steps, 8), torch.randint(4, (4 * ASKED * steps,)))
    schedule = LinearLR(optimizer, 1.0, 0.1, total_iters=steps)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, 4))
    if not plain_schedule:
        schedule = accelerator.prepare(schedule)
    live = LiveWatch(RULES)
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True):
        for x, y in loader:
            with accelerator.accumulate(model) if enter else contextlib.nullcontext():
                loss = F.cross_entropy(model(x), y) / divide_by
                loss.backward() if ours else accelerator.backward(loss)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    return [one.condition for one in live.findings]


class TestAccelerate:
    def test_what_it_does_itself_is_no_fault(self, accelerator, tmp_path):
        assert [] == accelerated(accelerator, tmp_path / "run")

    def test_accumulation_that_is_asked_for_and_not_entered(self, accelerator, tmp_path):
        """The optimizer steps for each micro-batch, of which each loss is divided all the same."""
        assert ["fewer"] == accelerated(accelerator, tmp_path / "run", enter=False)

    def test_loss_that_the_script_divides_again(self, accelerator, tmp_path):
        assert ["divided_twice"] == accelerated(accelerator, tmp_path / "run", divide_by=ASKED)

    def test_loss_that_nobody_divides(self, accelerator, tmp_path):
        assert ["sum"] == accelerated(accelerator, tmp_path / "run", ours=True)

    def test_schedule_that_it_was_not_given(self, accelerator, tmp_path):
        """It takes a step for each micro-batch."""
        found = accelerated(accelerator, tmp_path / "run", plain_schedule=True)

        assert ["per_micro_batch"] == found


class OfMeans(Trainer):
    """Computes the mean of each micro-batch, and leaves the number of all targets alone."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss


def trained(run, kind=Trainer, *, number=64, asked=ASKED, steps=24):
    """Train by a trainer; return the conditions that are found."""
    live = LiveWatch(RULES)
    options = arguments(
        run.parent,
        gradient_accumulation_steps=asked,
        max_steps=steps,
        logging_strategy="steps",
        logging_steps=1,
    )
    with TransformersHook(run, listeners=[live], say=lambda _: None, strict=True) as hook:
        kind(tiny_model(), options, train_dataset=samples(number), callbacks=[hook]).train()
    return [one.condition for one in live.findings]


class TestTrainer:
    def test_what_it_does_itself_is_no_fault(self, tmp_path):
        """It divides by the number of targets of all micro-batches, and logs what it measured."""
        assert [] == trained(tmp_path / "run")

    def test_loss_of_the_script_that_nobody_divides(self, tmp_path):
        """The trainer leaves it to the loss where the model takes the number of targets."""
        assert ["sum"] == trained(tmp_path / "run", OfMeans)

    def test_epochs_that_are_shorter_than_what_is_accumulated(self, tmp_path):
        """Each epoch of two batches makes a step at its end."""
        assert ["fewer"] == trained(tmp_path / "run", number=8, asked=8)
