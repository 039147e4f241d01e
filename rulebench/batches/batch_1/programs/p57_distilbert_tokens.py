"""Token classification with the HF Trainer; DistilBERT built from a config (random), very short run, lr decays to 0."""
import tempfile
import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertForTokenClassification, Trainer, TrainingArguments, set_seed

set_seed(16)
rng = np.random.default_rng(16)
PAD, VOC, LABELS = 0, 40, 3


def make(n):
    rows = []
    for _ in range(n):
        k = int(rng.integers(5, 15))
        ids = rng.integers(1, VOC, k)
        lab = np.zeros(k, int)
        lab[ids > 32] = 1                      # entity
        lab[1:][(ids[:-1] > 32) & (ids[1:] <= 32)] = 2   # token right after an entity
        rows.append({"input_ids": ids.tolist(), "labels": lab.tolist()})
    return rows


def collate(rows):
    m = max(len(r["input_ids"]) for r in rows)
    pad = lambda k, v: torch.tensor([r[k] + [v] * (m - len(r[k])) for r in rows])
    ids = pad("input_ids", PAD)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": pad("labels", -100)}


def metrics(p):
    pred, lab = p.predictions.argmax(-1), p.label_ids
    ok = lab != -100
    return {"acc": float((pred[ok] == lab[ok]).mean()), "entity_recall": float((pred[lab == 1] == 1).mean())}


model = DistilBertForTokenClassification(DistilBertConfig(vocab_size=VOC, dim=48, hidden_dim=96, n_layers=2, n_heads=4,
                                                          max_position_embeddings=32, num_labels=LABELS, pad_token_id=PAD))
with tempfile.TemporaryDirectory() as out:
    args = TrainingArguments(output_dir=out, num_train_epochs=8, per_device_train_batch_size=32, learning_rate=2e-3, warmup_steps=20,
                             lr_scheduler_type="linear", logging_steps=50, save_strategy="no", report_to=[], use_cpu=True, seed=16,
                             disable_tqdm=True)
    tr = Trainer(model=model, args=args, train_dataset=make(1600), eval_dataset=make(300), data_collator=collate, compute_metrics=metrics)
    tr.train()
    print(tr.evaluate())
