"""The Trainer with accumulated gradients, over rows of several lengths with ignored labels."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


def collate(features):
    length = max(len(one) for one in features)
    ids = torch.zeros(len(features), length, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(features):
        ids[row, : len(one)], mask[row, : len(one)] = one, 1
    labels = ids.masked_fill(mask == 0, -100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


set_seed(2)
text = [torch.randint(1, 50, (int(torch.randint(6, 16, ())),)) for _ in range(256)]
config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=1, n_head=2, resid_pdrop=0,
                    embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0)  # fmt: skip
arguments = TrainingArguments("out", max_steps=12, per_device_train_batch_size=4,
                              gradient_accumulation_steps=4, save_strategy="no", use_cpu=True,
                              remove_unused_columns=False, report_to=[])  # fmt: skip
Trainer(GPT2LMHeadModel(config), arguments, train_dataset=text, data_collator=collate).train()
