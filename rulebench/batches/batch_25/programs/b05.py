import tempfile
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(77)
words = "<pad> <cls> the a film book plot was is really great good lovely superb awful bad boring dull not and but it".split()
index = {w: i for i, w in enumerate(words)}
good, bad = "great good lovely superb".split(), "awful bad boring dull".split()


def sentence(rng):
    label = int(rng.integers(0, 2))
    negate = rng.random() < 0.4
    pool = good if label != negate else bad
    s = [rng.choice(["the", "a"]), rng.choice(["film", "book", "plot"]), rng.choice(["was", "is"])]
    if negate:
        s.append("not")
    if rng.random() < 0.5:
        s.append("really")
    s.append(rng.choice(pool))
    if rng.random() < 0.5:
        s += ["and", "it", "was"] + (["not"] if negate else []) + [rng.choice(pool)]
    return [str(w) for w in s], label


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.rows = [sentence(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        s, label = self.rows[i]
        ids = [index["<cls>"]] + [index[w] for w in s]
        return {"input_ids": ids, "label": label}


def collate(rows):
    width = max(len(r["input_ids"]) for r in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, r in enumerate(rows):
        ids[i, :len(r["input_ids"])] = torch.tensor(r["input_ids"])
        mask[i, :len(r["input_ids"])] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([r["label"] for r in rows])}


config = DistilBertConfig(vocab_size=len(words), dim=32, n_layers=2, n_heads=4, hidden_dim=64,
                          max_position_embeddings=32, num_labels=2, pad_token_id=0)
model = DistilBertForSequenceClassification(config)


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


with tempfile.TemporaryDirectory() as out:
    args = TrainingArguments(output_dir=out, num_train_epochs=6, per_device_train_batch_size=32,
                             per_device_eval_batch_size=128, learning_rate=1e-3, warmup_steps=30,
                             weight_decay=0.01, logging_steps=60, eval_strategy="epoch", save_strategy="no",
                             report_to="none", disable_tqdm=True, use_cpu=True)
    trainer = Trainer(model=model, args=args, train_dataset=Reviews(2000, 0), eval_dataset=Reviews(400, 1),
                      data_collator=collate, compute_metrics=metrics)
    trainer.train()
    print("test accuracy", trainer.evaluate(Reviews(500, 2))["eval_accuracy"])
