"""Tiny BERT sentiment classifier with the Trainer API and a hand-made vocabulary."""
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

POSITIVE = ["good", "great", "lovely", "superb", "fun"]
NEGATIVE = ["bad", "awful", "boring", "poor", "dull"]
NEUTRAL = ["film", "plot", "actor", "scene", "music", "was", "the", "and", "ending", "very"]
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "not"]
VOCAB = {w: i for i, w in enumerate(SPECIAL + POSITIVE + NEGATIVE + NEUTRAL)}


def write_review(rng):
    label = int(rng.integers(2))
    words = list(rng.choice(NEUTRAL, rng.integers(4, 10)))
    for _ in range(rng.integers(1, 4)):
        negate = rng.random() < 0.3
        pool = POSITIVE if (label == 1) != negate else NEGATIVE
        phrase = (["not"] if negate else []) + [str(rng.choice(pool))]
        at = int(rng.integers(len(words) + 1))
        words[at:at] = [" ".join(phrase)]
    return " ".join(words).split(), label


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.rows = [write_review(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        words, label = self.rows[i]
        return {"input_ids": [VOCAB["[CLS]"]] + [VOCAB[w] for w in words] + [VOCAB["[SEP]"]], "labels": label}


def collate(features):
    width = max(len(f["input_ids"]) for f in features)
    ids = torch.zeros(len(features), width, dtype=torch.long)
    for row, f in zip(ids, features):
        row[: len(f["input_ids"])] = torch.tensor(f["input_ids"])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(),
            "labels": torch.tensor([f["labels"] for f in features])}


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((logits.argmax(-1) == labels).mean())}


def main():
    set_seed(17)
    config = BertConfig(vocab_size=len(VOCAB), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=32, num_labels=2, hidden_dropout_prob=0.05,
                        attention_probs_dropout_prob=0.05)
    model = BertForSequenceClassification(config)
    args = TrainingArguments(output_dir="/tmp/tiny_bert_reviews", num_train_epochs=5, per_device_train_batch_size=32,
                             per_device_eval_batch_size=128, learning_rate=1e-3, warmup_steps=30, weight_decay=0.01,
                             logging_steps=50, eval_strategy="epoch", save_strategy="no", report_to=[],
                             disable_tqdm=True, use_cpu=True, seed=17, remove_unused_columns=False)
    trainer = Trainer(model=model, args=args, train_dataset=Reviews(2400, 0), eval_dataset=Reviews(400, 1),
                      data_collator=collate, compute_metrics=compute_metrics)
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
