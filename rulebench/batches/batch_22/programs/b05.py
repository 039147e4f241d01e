"""Fine-tune a small BERT-style classifier on support tickets."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np
import pandas as pd
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(21)
rng = np.random.default_rng(21)

TOPICS = {
    "billing": "invoice charge refund card payment price amount bank".split(),
    "shipping": "parcel courier delivery address tracking late box customs".split(),
    "account": "login password email username reset locked profile verify".split(),
    "technical": "crash error screen bug install update freeze version".split(),
    "feedback": "love great suggestion nice feature please wish thanks".split(),
}
FILLER = "the a my i to and it is was on with for have since yesterday again hello still you can".split()


def ticket(topic):
    words = list(rng.choice(TOPICS[topic], 3)) + list(rng.choice(FILLER, rng.integers(5, 12)))
    if rng.random() < 0.3:
        words.append(rng.choice(TOPICS[rng.choice(list(TOPICS))]))
    rng.shuffle(words)
    return " ".join(words)


def make_frame(n):
    topics = rng.choice(list(TOPICS), n)
    return pd.DataFrame({"text": [ticket(t) for t in topics], "topic": topics})


train_df, test_df = make_frame(1500), make_frame(400)
for df in (train_df, test_df):
    df["label"] = pd.factorize(df["topic"])[0]
print(train_df.head())
print(train_df.topic.value_counts())

vocab = {w: i + 2 for i, w in enumerate(sorted({w for t in train_df.text for w in t.split()}))}
PAD, UNK, MAX_LEN = 0, 1, 16


def encode(text):
    ids = [vocab.get(w, UNK) for w in text.split()][:MAX_LEN]
    att = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
    return ids + [PAD] * (MAX_LEN - len(ids)), att


class TicketDataset(torch.utils.data.Dataset):
    def __init__(self, df):
        self.enc = [encode(t) for t in df.text]
        self.labels = df.label.tolist()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        ids, att = self.enc[i]
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(att), "labels": self.labels[i]}


config = BertConfig(vocab_size=len(vocab) + 2, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=32, num_labels=len(TOPICS))
model = BertForSequenceClassification(config)


def compute_metrics(p):
    preds = p.predictions.argmax(-1)
    return {"accuracy": float((preds == p.label_ids).mean())}


args = TrainingArguments(output_dir="/tmp/tickets_out", per_device_train_batch_size=32, num_train_epochs=4,
                         learning_rate=1e-3, warmup_steps=20, logging_steps=25, eval_strategy="no",
                         save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, seed=21)
trainer = Trainer(model=model, args=args, train_dataset=TicketDataset(train_df),
                  eval_dataset=TicketDataset(test_df), compute_metrics=compute_metrics)
trainer.train()
print(trainer.evaluate())
