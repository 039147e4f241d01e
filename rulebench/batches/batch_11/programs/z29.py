"""Sequence classification with a small randomly initialised BERT and the Trainer."""
import tempfile
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
from transformers.utils import logging as hf_logging

hf_logging.set_verbosity_error()
VOCAB, MAXLEN = 60, 16


class SentimentLike(Dataset):
    def __init__(self, n, seed):
        r = np.random.default_rng(seed)
        self.items = []
        for _ in range(n):
            ln = int(r.integers(6, MAXLEN + 1))
            ids = np.zeros(MAXLEN, int)
            ids[:ln] = r.integers(3, VOCAB, ln)
            ids[0] = 2
            body = ids[1:ln]
            score = (body < 15).sum() - (body > 47).sum()
            self.items.append((ids, (np.arange(MAXLEN) < ln).astype(int), int(score > 0)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        ids, mask, y = self.items[i]
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "labels": torch.tensor(y)}


def compute_metrics(pred):
    logits, labels = pred
    hit = logits.argmax(-1) == labels
    return {"accuracy": float(hit.mean()), "positive_share": float(labels.mean())}


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def main():
    set_seed(5)
    config = BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                        max_position_embeddings=32, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForSequenceClassification(config)
    print("trainable parameters", count_parameters(model))
    train, dev = SentimentLike(2000, 0), SentimentLike(500, 1)
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out, num_train_epochs=5, per_device_train_batch_size=32, per_device_eval_batch_size=128,
            learning_rate=1e-3, lr_scheduler_type="linear",
            warmup_steps=10000,
            weight_decay=0.01, eval_strategy="epoch", logging_strategy="epoch", save_strategy="no",
            report_to=[], disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False)
        trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=dev, compute_metrics=compute_metrics)
        trainer.train()
        print("final", trainer.evaluate())


if __name__ == "__main__":
    main()
