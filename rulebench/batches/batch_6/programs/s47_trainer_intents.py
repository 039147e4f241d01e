import warnings; warnings.filterwarnings("ignore")
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed)

set_seed(42)
VOCAB, LEN, CLASSES = 150, 16, 5


class IntentDataset(Dataset):
    def __init__(self, n, seed):
        r = np.random.default_rng(seed)
        self.labels = r.integers(0, CLASSES, n)
        self.ids = r.integers(10, VOCAB, (n, LEN))
        for i, c in enumerate(self.labels):
            k = r.integers(4, 8)
            self.ids[i, r.choice(LEN, k, replace=False)] = 10 + c * 12 + r.integers(0, 12, k)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": torch.tensor(self.ids[i]), "attention_mask": torch.ones(LEN, dtype=torch.long),
                "labels": int(self.labels[i])}


def compute_metrics(ev):
    return {"accuracy": float((ev.predictions.argmax(-1) == ev.label_ids).mean())}


config = DistilBertConfig(vocab_size=VOCAB, dim=48, n_layers=2, n_heads=4, hidden_dim=96,
                          max_position_embeddings=32, num_labels=CLASSES)
model = DistilBertForSequenceClassification(config)
args = TrainingArguments(
    output_dir="./out_intents",
    num_train_epochs=5,
    per_device_train_batch_size=32,
    per_device_eval_batch_size=128,
    learning_rate=1e-3,
    warmup_steps=10000,
    weight_decay=0.01,
    logging_steps=50,
    eval_strategy="epoch",
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
    seed=42,
)
trainer = Trainer(model=model, args=args, train_dataset=IntentDataset(1600, 0),
                  eval_dataset=IntentDataset(400, 1), compute_metrics=compute_metrics)
trainer.train()
print("final eval:", {k: round(v, 4) for k, v in trainer.evaluate().items() if k in ("eval_loss", "eval_accuracy")})
