"""A small GPT-2 that predicts tokens, with a collator that makes the labels."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


def collate(features):
    ids = torch.stack([one["input_ids"] for one in features])
    return {"input_ids": ids, "labels": ids.clone()}


set_seed(1)
text = [{"input_ids": torch.randint(0, 50, (16,)).cumsum(0) % 50} for _ in range(192)]
config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=2,
                    bos_token_id=0, eos_token_id=0)  # fmt: skip
arguments = TrainingArguments("out", max_steps=24, per_device_train_batch_size=8, warmup_steps=4,
                              lr_scheduler_type="cosine", learning_rate=1e-3, weight_decay=0.1,
                              save_strategy="no", use_cpu=True, report_to=[])  # fmt: skip
Trainer(GPT2LMHeadModel(config), arguments, train_dataset=text, data_collator=collate).train()
