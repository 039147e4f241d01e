from dataclasses import dataclass
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, Trainer,
                          TrainingArguments, set_seed)
from sklearn.metrics import accuracy_score, f1_score


@dataclass
class Cfg:
    vocab_size: int = 120
    max_len: int = 20
    n_train: int = 1280
    n_eval: int = 400
    batch_size: int = 32
    epochs: int = 3
    lr: float = 1e-3
    seed: int = 17


cfg = Cfg()
set_seed(cfg.seed)

GOOD = np.arange(10, 30)
BAD = np.arange(30, 50)
NEUTRAL = np.arange(50, cfg.vocab_size)


def make_review(rng):
    label = int(rng.integers(0, 2))
    n = int(rng.integers(8, cfg.max_len - 2))
    words = rng.choice(NEUTRAL, n)
    k = int(rng.integers(2, 5))
    spots = rng.choice(n, k, replace=False)
    words[spots] = rng.choice(GOOD if label else BAD, k)
    if rng.random() < 0.3:
        words[rng.choice([i for i in range(n) if i not in spots])] = rng.choice(BAD if label else GOOD)
    return words, label


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.data = [make_review(rng) for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        words, label = self.data[i]
        ids = np.zeros(cfg.max_len, dtype=np.int64)
        ids[0] = 1
        ids[1:1 + len(words)] = words
        ids[1 + len(words)] = 2
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor((ids != 0).astype(np.int64)),
                "labels": torch.tensor(float(label))}


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    preds = np.argmax(logits, axis=-1)
    return {"accuracy": accuracy_score(labels, preds), "f1": f1_score(labels, preds)}


model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=cfg.vocab_size, dim=48, n_layers=2, n_heads=4, hidden_dim=96,
    max_position_embeddings=32, num_labels=1, pad_token_id=0))

trainer = Trainer(
    model=model,
    args=TrainingArguments(output_dir="/tmp/b19_out", learning_rate=cfg.lr,
                           per_device_train_batch_size=cfg.batch_size,
                           per_device_eval_batch_size=100, num_train_epochs=cfg.epochs,
                           eval_strategy="epoch", save_strategy="no", logging_steps=25,
                           report_to=[], use_cpu=True, disable_tqdm=True),
    train_dataset=Reviews(cfg.n_train, 0),
    eval_dataset=Reviews(cfg.n_eval, 1),
    compute_metrics=compute_metrics,
)
trainer.train()
result = trainer.evaluate()
print("eval accuracy %.3f  f1 %.3f  loss %.4f" % (result["eval_accuracy"], result["eval_f1"],
                                                  result["eval_loss"]))
