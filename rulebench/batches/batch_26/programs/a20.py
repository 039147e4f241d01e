import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(17)
rng = np.random.default_rng(17)

# ---- a little world of reviews -------------------------------------------------------
good = "great lovely tasty quick friendly superb".split()
bad = "awful bland slow rude dirty terrible".split()
things = "food service room waiter soup coffee table price music view".split()
glue = "the was and but really very".split()
words = ["[PAD]", "[CLS]", "[SEP]", "not"] + good + bad + things + glue
tok = {w: i for i, w in enumerate(words)}


def review():
    label = int(rng.integers(2))
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        negated = rng.random() < 0.35
        pos = bool(label) ^ bool(negated)
        parts += ["the", rng.choice(things), "was"] + (["not"] if negated else [])
        parts += [rng.choice(good if pos else bad), "and"]
    return ["[CLS]"] + parts[:-1] + ["[SEP]"], label


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n):
        self.data = [review() for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        text, label = self.data[i]
        return {"ids": [tok[w] for w in text], "label": label}


def collate(rows):
    longest = max(len(r["ids"]) for r in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, r in enumerate(rows):
        ids[i, :len(r["ids"])] = torch.tensor(r["ids"])
        mask[i, :len(r["ids"])] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([r["label"] for r in rows])}


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


model = BertForSequenceClassification(BertConfig(
    vocab_size=len(tok), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=96, max_position_embeddings=32, num_labels=2, pad_token_id=0))
args = TrainingArguments(
    output_dir="bert_reviews", num_train_epochs=6, per_device_train_batch_size=32,
    per_device_eval_batch_size=128, learning_rate=1e-3, warmup_steps=40, weight_decay=0.01,
    lr_scheduler_type="linear", logging_steps=50, eval_strategy="epoch", save_strategy="no",
    report_to="none", remove_unused_columns=False, disable_tqdm=True, seed=17, use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=Reviews(1600), eval_dataset=Reviews(400),
                  data_collator=collate, compute_metrics=metrics)
trainer.train()
print("held-out accuracy:", trainer.evaluate(Reviews(500))["eval_accuracy"])
