import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

seed = 17
set_seed(seed)
rng = np.random.default_rng(seed)

PAD, CLS, SEP = 0, 1, 2
POS = list(range(10, 30)); NEG = list(range(30, 50)); NEUTRAL = list(range(50, 120))


def make_review():
    n = rng.integers(6, 16)
    words = list(rng.choice(NEUTRAL, n))
    label = int(rng.integers(2))
    spots = rng.choice(np.arange(n), 3, replace=False)
    for k, s in enumerate(spots):          # two words of the label's tone, one of the other
        good = bool(label) ^ (k == 2)
        words[s] = rng.choice(POS if good else NEG)
    return [CLS] + [int(w) for w in words] + [SEP], label


class Reviews(Dataset):
    def __init__(self, n, max_len=24):
        self.items = []
        for _ in range(n):
            ids, lab = make_review()
            ids = ids[:max_len]
            mask = [1] * len(ids) + [0] * (max_len - len(ids))
            self.items.append({"input_ids": torch.tensor(ids + [PAD] * (max_len - len(ids))),
                               "attention_mask": torch.tensor(mask),
                               "labels": torch.tensor(lab)})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


train, test = Reviews(3500), Reviews(500)
config = BertConfig(vocab_size=120, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=32, num_labels=2)
model = BertForSequenceClassification(config)


def compute_metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


args = TrainingArguments(output_dir="bert_out", num_train_epochs=5, per_device_train_batch_size=32,
                         per_device_eval_batch_size=128, learning_rate=1e-3, warmup_steps=50, weight_decay=0.01,
                         logging_steps=100, save_strategy="no", eval_strategy="epoch", report_to=[], seed=seed,
                         disable_tqdm=True, use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test, compute_metrics=compute_metrics)
trainer.train()
print("test accuracy", trainer.evaluate()["eval_accuracy"])
