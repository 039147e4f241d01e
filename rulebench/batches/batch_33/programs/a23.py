"""Supervised fine-tuning style training: prompt tokens get label -100, only the answer counts.

Task: "<letters> = <sorted letters>", decoder-only model (GPT-2 configuration, random weights).
"""
import random
import torch
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed)

SEED = 13
set_seed(SEED)
torch.set_num_threads(1)
PAD, SEP, EOS = 0, 1, 2
LETTERS = list(range(3, 15))


def example():
    k = random.randint(2, 5)
    w = [random.choice(LETTERS) for _ in range(k)]
    return w + [SEP], sorted(w) + [EOS]


def collate(items):
    width = max(len(p) + len(a) for p, a in items)
    ids, lab, att = [], [], []
    for p, a in items:
        gap = width - len(p) - len(a)
        ids.append(p + a + [PAD] * gap)
        lab.append([-100] * len(p) + a + [-100] * gap)
        att.append([1] * (len(p) + len(a)) + [0] * gap)
    return {"input_ids": torch.tensor(ids), "labels": torch.tensor(lab), "attention_mask": torch.tensor(att)}


train = [example() for _ in range(12000)]
seen = {tuple(p) for p, _ in train}
test = [e for e in (example() for _ in range(800)) if tuple(e[0]) not in seen][:200]

model = GPT2LMHeadModel(GPT2Config(vocab_size=15, n_positions=16, n_embd=64, n_layer=2, n_head=4,
                                   bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD,
                                   resid_pdrop=0., embd_pdrop=0., attn_pdrop=0.))
args = TrainingArguments(output_dir="sort_out", per_device_train_batch_size=64, num_train_epochs=4,
                         learning_rate=3e-3, warmup_steps=50, lr_scheduler_type="cosine", weight_decay=0.01,
                         logging_steps=75, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
                         remove_unused_columns=False, seed=SEED)
Trainer(model=model, args=args, train_dataset=train, data_collator=collate).train()

model.eval()
right = 0
with torch.no_grad():
    for p, a in test:
        seq = list(p)
        while len(seq) < len(p) + len(a):
            seq.append(int(model(input_ids=torch.tensor([seq])).logits[0, -1].argmax()))
        right += seq[len(p):] == a
print(f"exact match on {len(test)} unseen prompts: {right / len(test):.4f}")
