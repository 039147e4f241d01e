"""The hook for Transformers keeps to what every hook keeps to."""

from __future__ import annotations

import pytest
import torch
from transformers import Trainer

from stepwatch.hooks.transformers import TransformersHook
from stepwatch.testing.hook_contract import HookContract
from tests.support.frameworks.transformers.transformers_trainings import train

pytestmark = pytest.mark.framework

SCRIPT = """
import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

transformers.set_seed(0)
config = GPT2Config(vocab_size=32, n_positions=8, n_embd=16, n_layer=1, n_head=2)
model = GPT2LMHeadModel(config)
rows = torch.randint(0, 32, (64, 8))
last = []

class Losing(Trainer):
    def compute_loss(self, *args, **kwargs):
        loss = super().compute_loss(*args, **kwargs)
        last.append(loss.item())
        return loss

arguments = TrainingArguments(
    "out", max_steps={steps}, per_device_train_batch_size=4, report_to=[], use_cpu=True,
    save_strategy="no", logging_strategy="no", disable_tqdm=True)
samples = [{{"input_ids": row, "labels": row}} for row in rows]
trainer = Losing(model, arguments, train_dataset=samples)
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()):
    trainer.train()
print(last[-1])
"""


class TestTransformers(HookContract):
    loss = "loss/Trainer"

    def make(self, run, **options):
        return TransformersHook(run, **options)

    def train(self, hook, steps, each=lambda _: None):
        return train(hook, steps, each)

    def script(self, steps):
        return SCRIPT.format(steps=steps)

    def patched(self):
        return (
            Trainer.__init__,
            Trainer.training_step,
            torch.optim.AdamW.step,
            torch.nn.functional.cross_entropy,
        )
