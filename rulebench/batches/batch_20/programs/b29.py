"""Intent classification from scratch with a small BERT."""
import argparse
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--warmup", type=int, default=10000)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--seed", type=int, default=23)
args = parser.parse_args()
set_seed(args.seed)

INTENTS = {
    "weather": ["rain", "sunny", "forecast", "cold", "umbrella"],
    "music": ["play", "song", "album", "louder", "artist"],
    "alarm": ["wake", "alarm", "timer", "minutes", "snooze"],
    "travel": ["flight", "train", "ticket", "hotel", "luggage"],
    "bank": ["balance", "transfer", "card", "loan", "account"],
}
FILLER = "please can you the a my for to tomorrow today what is now i want need".split()
words = ["[PAD]", "[CLS]", "[SEP]"] + FILLER + [w for ws in INTENTS.values() for w in ws]
ids = {w: i for i, w in enumerate(words)}
names = list(INTENTS)
MAX_LEN = 14


class Utterances(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.x = np.zeros((n, MAX_LEN), dtype=np.int64)
        self.y = rng.integers(0, len(names), n)
        for i in range(n):
            length = rng.integers(5, MAX_LEN - 2)
            toks = list(rng.choice(FILLER, length))
            toks[rng.integers(0, length)] = rng.choice(INTENTS[names[self.y[i]]])
            row = ["[CLS]"] + toks + ["[SEP]"]
            self.x[i, :len(row)] = [ids[w] for w in row]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = torch.from_numpy(self.x[i])
        return {"input_ids": x, "attention_mask": (x != 0).long(), "labels": int(self.y[i])}


def compute_metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


config = BertConfig(vocab_size=len(words), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=32, num_labels=len(names))
model = BertForSequenceClassification(config)
training_args = TrainingArguments(
    output_dir="/tmp/b29_out",
    max_steps=args.steps,
    per_device_train_batch_size=args.batch,
    per_device_eval_batch_size=100,
    learning_rate=args.lr,
    warmup_steps=args.warmup,
    lr_scheduler_type="linear",
    weight_decay=0.01,
    logging_steps=20,
    eval_strategy="steps",
    eval_steps=150,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
trainer = Trainer(model=model, args=training_args, train_dataset=Utterances(2000, 0),
                  eval_dataset=Utterances(300, 1), compute_metrics=compute_metrics)
trainer.train()
print(trainer.evaluate())
