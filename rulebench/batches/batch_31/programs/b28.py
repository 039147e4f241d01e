import os
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed

SEED = 1
set_seed(SEED)
torch.set_num_threads(1)

pos = "great lovely superb fine charming moving brilliant".split()
neg = "dull awful boring weak clumsy terrible bland".split()
neutral = "the a film plot actor scene music was and with very of it this story camera end".split()
vocab = {w: i for i, w in enumerate(["[PAD]", "[CLS]", "[SEP]", "not"] + pos + neg + neutral)}


def review():
    label = np.random.randint(2)
    words = list(np.random.choice(neutral, np.random.randint(6, 14)))
    for _ in range(np.random.randint(1, 4)):
        flip = np.random.rand() < 0.1
        word = np.random.choice(pos if (label ^ flip) else neg)
        at = np.random.randint(len(words) + 1)
        words[at:at] = (["not"] if flip else []) + [word]
    return " ".join(words), label


def tokenize(text, max_len=26):
    ids = [vocab["[CLS]"]] + [vocab[w] for w in text.split()][: max_len - 2] + [vocab["[SEP]"]]
    att = [1] * len(ids) + [0] * (max_len - len(ids))
    return ids + [0] * (max_len - len(ids)), att


class Reviews(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            text, label = review()
            ids, att = tokenize(text)
            self.items.append({"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(att), "labels": torch.tensor(label)})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


train, test = Reviews(2500), Reviews(600)
model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=len(vocab), dim=48, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=32, num_labels=2))
args = TrainingArguments(output_dir=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tmp", "reviews_out"), per_device_train_batch_size=32, num_train_epochs=8,
                         learning_rate=1e-3, warmup_steps=30, logging_steps=50, save_strategy="no", report_to=[],
                         use_cpu=True, disable_tqdm=True, seed=SEED)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test,
                  compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
trainer.train()
print("test accuracy: %.4f" % trainer.evaluate()["eval_accuracy"])
