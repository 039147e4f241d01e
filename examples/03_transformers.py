"""transformers: a learning rate lost its exponent.

Within a few steps the loss grows a hundredfold, and so do the weights.

    stepwatch run examples/03_transformers.py

Found: `step_size`, as the training diverged. Mended by `learning_rate=3e-3`.
"""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(0)
config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
model = GPT2LMHeadModel(config)
starts = torch.randint(0, 64, (512, 1))
rows = (starts + torch.arange(16)) % 64  # each token is the one before, plus one
samples = [{"input_ids": row, "labels": row} for row in rows]

arguments = TrainingArguments(
    "out",
    max_steps=60,
    per_device_train_batch_size=16,
    learning_rate=3.0,  # the mistake: 3e-3 was meant
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
    use_cpu=True,
)
Trainer(model, arguments, train_dataset=samples).train()
