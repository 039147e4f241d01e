import argparse

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed


class ReviewDataset(Dataset):
    """Token sequences whose sentiment depends on the balance of positive and negative words."""

    def __init__(self, n, seed, max_len=24):
        rng = np.random.default_rng(seed)
        self.rows = []
        for _ in range(n):
            length = rng.integers(10, max_len)
            ids = rng.integers(100, 300, size=length)
            label = int(rng.integers(0, 2))
            for p in rng.choice(length, size=5, replace=False):
                agrees = rng.random() < 0.85
                positive = bool(label) == bool(agrees)
                ids[p] = rng.integers(20, 40) if positive else rng.integers(40, 60)
            padded = np.zeros(max_len, dtype=np.int64)
            mask = np.zeros(max_len, dtype=np.int64)
            padded[0], mask[0] = 1, 1
            padded[1 : length + 1] = ids
            mask[1 : length + 1] = 1
            self.rows.append({"input_ids": torch.tensor(padded), "attention_mask": torch.tensor(mask), "labels": label})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((logits.argmax(-1) == labels).mean())}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--warmup", type=int, default=4000)
    ap.add_argument("--batch-size", type=int, default=32)
    cli = ap.parse_args()

    set_seed(2)
    config = DistilBertConfig(vocab_size=300, dim=64, n_layers=2, n_heads=4, hidden_dim=128,
                              max_position_embeddings=32, num_labels=2, dropout=0.0, attention_dropout=0.0,
                              seq_classif_dropout=0.0)
    model = DistilBertForSequenceClassification(config)
    training_args = TrainingArguments(
        output_dir="/tmp/review_model",
        num_train_epochs=cli.epochs,
        learning_rate=cli.lr,
        warmup_steps=cli.warmup,
        weight_decay=0.01,
        per_device_train_batch_size=cli.batch_size,
        per_device_eval_batch_size=100,
        eval_strategy="epoch",
        logging_strategy="epoch",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=ReviewDataset(2400, seed=0),
        eval_dataset=ReviewDataset(500, seed=1),
        compute_metrics=compute_metrics,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
