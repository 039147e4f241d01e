"""Tiny NER-style tagger: synthetic sentences, BertForTokenClassification, Trainer."""
import random
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForTokenClassification, Trainer,
                          TrainingArguments, set_seed)

set_seed(11)

NAMES = ["anna", "bert", "carla", "dmitri", "elif", "farid"]
SURNAMES = ["mueller", "okafor", "rossi", "tanaka", "lopez"]
CITIES = ["paris", "oslo", "lagos", "lima", "kyoto"]
VERBS = ["visited", "left", "likes", "saw"]
FILL = ["yesterday", "the", "old", "market", "near", "again", "river", "often"]
LABELS = ["O", "B-PER", "I-PER", "B-LOC"]
WORDS = NAMES + SURNAMES + CITIES + VERBS + FILL
VOCAB = {w: i + 3 for i, w in enumerate(WORDS)}
PAD, CLS, SEP = 0, 1, 2


def sentence(rng):
    toks, tags = [], []
    toks.append(rng.choice(NAMES + CITIES[:2]))
    tags.append(1)
    if rng.random() < 0.5:
        toks.append(rng.choice(SURNAMES))
        tags.append(2)
    toks.append(rng.choice(VERBS))
    tags.append(0)
    if rng.random() < 0.4:
        toks.append("the"); tags.append(0)
        toks.append(rng.choice(["old", "market", "river"])); tags.append(0)
        toks.append("near"); tags.append(0)
    toks.append(rng.choice(CITIES))
    tags.append(3)
    for _ in range(rng.randint(0, 4)):
        toks.append(rng.choice(FILL)); tags.append(0)
    return toks, tags


class NerData(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = [sentence(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        toks, tags = self.rows[i]
        return {"input_ids": [CLS] + [VOCAB[t] for t in toks] + [SEP],
                "labels": [-100] + tags + [-100]}


def collate(batch):
    width = max(len(b["input_ids"]) for b in batch)
    ids = torch.full((len(batch), width), PAD)
    lab = torch.full((len(batch), width), -100)
    for r, b in enumerate(batch):
        n = len(b["input_ids"])
        ids[r, :n] = torch.tensor(b["input_ids"])
        lab[r, :n] = torch.tensor(b["labels"])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": lab}


def metrics(p):
    pred = p.predictions.argmax(-1)
    keep = p.label_ids != -100
    acc = (pred[keep] == p.label_ids[keep]).mean()
    ent = keep & (p.label_ids != 0)
    return {"acc": acc, "entity_recall": (pred[ent] == p.label_ids[ent]).mean()}


config = BertConfig(vocab_size=len(VOCAB) + 3, hidden_size=48, num_hidden_layers=2,
                    num_attention_heads=4, intermediate_size=96, num_labels=len(LABELS),
                    max_position_embeddings=32)
model = BertForTokenClassification(config)
args = TrainingArguments(output_dir="/tmp/b01_out", per_device_train_batch_size=32,
                         per_device_eval_batch_size=64, num_train_epochs=3,
                         learning_rate=2e-3, warmup_steps=20, weight_decay=0.01,
                         logging_steps=25, eval_strategy="epoch", save_strategy="no",
                         report_to=[], use_cpu=True, disable_tqdm=True)
trainer = Trainer(model=model, args=args, train_dataset=NerData(1280, 0),
                  eval_dataset=NerData(300, 1), data_collator=collate, compute_metrics=metrics)
trainer.train()
print(trainer.evaluate())
