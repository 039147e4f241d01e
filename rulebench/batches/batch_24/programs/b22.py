# DistilBERT-style classifier with the Trainer: majority symbol in a short string
import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(55)
rng = np.random.default_rng(55)
PAD, CLS = 0, 1
LEN = 14


def make(n):
    """Sequences over ten symbols; label says which of the symbols 2..5 occurs most often."""
    rows = []
    for _ in range(n):
        label = int(rng.integers(4))
        length = int(rng.integers(9, LEN))
        s = rng.integers(2, 12, length)
        s[rng.choice(length, 4, replace=False)] = label + 2
        counts = [(s == k).sum() for k in range(2, 6)]
        if counts.count(max(counts)) > 1:
            continue
        ids = np.full(LEN, PAD)
        ids[0] = CLS
        ids[1:length + 1] = s
        rows.append({"input_ids": torch.tensor(ids), "attention_mask": torch.tensor((ids != PAD).astype(int)),
                     "labels": int(np.argmax(counts))})
    return rows


train_rows, eval_rows = make(3000), make(500)

model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=12, max_position_embeddings=LEN, dim=48, n_layers=2, n_heads=4, hidden_dim=96, num_labels=4,
    dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.1, pad_token_id=PAD))


def compute_metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


args = TrainingArguments(
    output_dir="/tmp/majority_symbol",
    num_train_epochs=4,
    per_device_train_batch_size=32,
    per_device_eval_batch_size=250,
    learning_rate=1e-3,
    warmup_steps=10000,
    weight_decay=0.01,
    adam_beta2=0.98,
    lr_scheduler_type="linear",
    logging_steps=60,
    eval_strategy="epoch",
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
)
trainer = Trainer(model=model, args=args, train_dataset=train_rows, eval_dataset=eval_rows, compute_metrics=compute_metrics)
trainer.train()
print("final:", trainer.evaluate())
