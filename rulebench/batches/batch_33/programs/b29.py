import logging, warnings
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (DistilBertConfig, DistilBertForTokenClassification, Trainer, TrainingArguments, set_seed)

warnings.filterwarnings("ignore")
SEED = 1
set_seed(SEED)
torch.set_num_threads(1)
rng = np.random.default_rng(SEED)

# toy named-entity task: TITLE NAME NAME -> person, IN PLACE -> location
PAD, TITLE, IN = 0, 1, 2
TAGS = ["O", "PER", "LOC"]
V = 60                                    # tokens 10..59 are ordinary words, names and places share them


def sentence():
    toks, tags = [], []
    while len(toks) < rng.integers(8, 18):
        r = rng.random()
        if r < 0.2:
            toks += [TITLE, *rng.integers(10, V, 2)]; tags += [0, 1, 1]
        elif r < 0.4:
            toks += [IN, rng.integers(10, V)]; tags += [0, 2]
        else:
            toks.append(rng.integers(3, V)); tags.append(0)
    return [int(t) for t in toks], tags


class NER(Dataset):
    def __init__(self, n):
        self.data = [sentence() for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def collate(rows):
    m = max(len(t) for t, _ in rows)
    ids = torch.full((len(rows), m), PAD)
    lab = torch.full((len(rows), m), -100)
    for k, (t, g) in enumerate(rows):
        ids[k, :len(t)], lab[k, :len(g)] = torch.tensor(t), torch.tensor(g)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": lab}


def compute_metrics(p):
    pred, lab = p.predictions.argmax(-1), p.label_ids
    keep = lab != -100
    ent = keep & ((lab > 0) | (pred > 0))
    tp = (keep & (lab > 0) & (pred == lab)).sum()
    return {"accuracy": (pred == lab)[keep].mean(), "f1": 2 * tp / ((keep & (lab > 0)).sum() + (keep & (pred > 0)).sum())}


train, test = NER(2000), NER(400)
model = DistilBertForTokenClassification(DistilBertConfig(vocab_size=V, dim=48, hidden_dim=96, n_layers=2, n_heads=4,
                                                          max_position_embeddings=32, num_labels=3, pad_token_id=PAD))
args = TrainingArguments(output_dir="./ner_out", num_train_epochs=6, per_device_train_batch_size=32, learning_rate=1e-3,
                         per_device_eval_batch_size=200, warmup_steps=30, eval_strategy="epoch", save_strategy="no",
                         logging_steps=60, report_to=[], disable_tqdm=True, use_cpu=True, remove_unused_columns=False, seed=SEED)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test, data_collator=collate, compute_metrics=compute_metrics)
trainer.train()
m = trainer.evaluate()
print(f"test token accuracy {m['eval_accuracy']:.4f} entity F1 {m['eval_f1']:.4f}")
