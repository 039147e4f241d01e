"""A training by the trainer of Transformers."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from stepwatch.testing.hook_contract import Trained


class Recording(LlamaForCausalLM):
    """Keeps the losses that it returned to be trained."""

    def forward(self, input_ids=None, labels=None, **kwargs):
        output = super().forward(input_ids, labels=labels, **kwargs)
        if self.training:
            self.losses.append(output.loss.item())
            self.each(len(self.losses) - 1)
        return output


def tiny_model(each=lambda _: None):
    """Return a model of one layer from a fixed seed."""
    torch.manual_seed(0)
    small = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
    config = LlamaConfig(
        **small, num_attention_heads=2, max_position_embeddings=16, tie_word_embeddings=False
    )
    model = Recording(config)
    model.losses, model.each = [], each
    return model


def samples(number=64):
    """Return sentences of 8 tokens, each with itself as its labels."""
    tokens = torch.randint(0, 32, (number, 8), generator=torch.Generator().manual_seed(1))
    return [{"input_ids": row, "labels": row} for row in tokens]


def arguments(folder, **options):
    """Return arguments for a training that stores nothing."""
    quiet = {"logging_strategy": "no", **options}
    return TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        **quiet,
    )


def train(hook, steps, each, folder="/tmp/none"):
    """Train for so many steps."""
    model = tiny_model(each)
    callbacks = [] if hook is None else [hook]
    options = arguments(folder, max_steps=steps, lr_scheduler_type="constant")
    Trainer(model, options, train_dataset=samples(), callbacks=callbacks).train()
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    return Trained(weights, model.losses)
