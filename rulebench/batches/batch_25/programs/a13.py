import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments, set_seed
from sklearn.metrics import f1_score

set_seed(33)
rng = np.random.default_rng(33)

# hand-made named-entity data: O, PER, LOC. A name after "in/from" is a place, after "mr/dr" a person.
words = ["[PAD]", "in", "from", "mr", "dr", "said", "went", "the", "a", "and", "today", "house", "saw", "big"]
names = [f"name{i}" for i in range(40)]
vocab = {w: i for i, w in enumerate(words + names)}
LABELS = ["O", "PER", "LOC"]


def sentence():
    toks, labs = [], []
    while len(toks) < rng.integers(8, 20):
        r = rng.random()
        if r < 0.35:
            cue = ["in", "from", "mr", "dr"][rng.integers(4)]
            tag = 2 if cue in ("in", "from") else 1
            toks.append(cue); labs.append(0)
            for _ in range(rng.integers(1, 3)):
                toks.append(names[rng.integers(40)]); labs.append(tag)
        else:
            toks.append(words[rng.integers(5, len(words))]); labs.append(0)
    return [vocab[t] for t in toks], labs


class NER(Dataset):
    def __init__(self, n):
        self.rows = [sentence() for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    n = max(len(r[0]) for r in rows)
    return {
        "input_ids": torch.tensor([r[0] + [0] * (n - len(r[0])) for r in rows]),
        "attention_mask": torch.tensor([[1] * len(r[0]) + [0] * (n - len(r[0])) for r in rows]),
        "labels": torch.tensor([r[1] + [-100] * (n - len(r[1])) for r in rows]),
    }


def compute_metrics(p):
    pred, lab = p.predictions.argmax(-1), p.label_ids
    keep = lab != -100
    return {"entity_f1": f1_score(lab[keep], pred[keep], labels=[1, 2], average="macro", zero_division=0)}


config = BertConfig(vocab_size=len(vocab), hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
                    intermediate_size=128, max_position_embeddings=64, num_labels=3)
model = BertForTokenClassification(config)
args = TrainingArguments(
    output_dir="ner_out", num_train_epochs=6, per_device_train_batch_size=16, per_device_eval_batch_size=64,
    learning_rate=2e-2,
    weight_decay=0.01, warmup_steps=30,
    logging_steps=50, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, seed=33,
)
trainer = Trainer(model=model, args=args, train_dataset=NER(1200), eval_dataset=NER(300),
                  data_collator=collate, compute_metrics=compute_metrics)
trainer.train()
print("entity F1 on unseen sentences:", round(trainer.evaluate()["eval_entity_f1"], 4))
