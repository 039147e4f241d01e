"""The Trainer with activations checkpointed, that goes on from its last checkpoint."""

import os

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

set_seed(3)
generator = torch.Generator().manual_seed(3)
text = [torch.randint(0, 50, (12,), generator=generator) for _ in range(192)]
text = [{"input_ids": one, "labels": one} for one in text]
config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=2,
                    bos_token_id=0, eos_token_id=0)  # fmt: skip
arguments = TrainingArguments("out", max_steps=20, per_device_train_batch_size=8, save_steps=3,
                              save_total_limit=2, gradient_checkpointing=True, use_cpu=True,
                              report_to=[])  # fmt: skip
trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=text)
last = get_last_checkpoint("out") if os.path.isdir("out") else None
trainer.train(resume_from_checkpoint=last)
