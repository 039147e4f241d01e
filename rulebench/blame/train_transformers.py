"""A small BERT by the Trainer of transformers."""

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

from rulebench.blame.planted import BATCH, seed, sentences


class Sentences(Dataset):
    def __init__(self):
        self.ids, self.labels = map(torch.from_numpy, sentences(seed()))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


class InOrder(Trainer):
    def _get_train_sampler(self, *_):
        return SequentialSampler(self.train_dataset)


set_seed(seed())
config = BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=64, max_position_embeddings=16)  # fmt: skip
arguments = TrainingArguments("out", num_train_epochs=1, per_device_train_batch_size=BATCH,
                              learning_rate=5e-3, save_strategy="no", use_cpu=True, report_to=[],
                              disable_tqdm=True)  # fmt: skip
InOrder(BertForSequenceClassification(config), arguments, train_dataset=Sentences()).train()
