"""A small BERT that classifies, by the Trainer of transformers, with evaluation."""

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from transformers import set_seed


class Sentences(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(size)
        self.items = []
        for _ in range(size):
            length = int(torch.randint(4, 12, (), generator=generator))
            ids = torch.zeros(12, dtype=torch.long)
            ids[:length] = torch.randint(1, 60, (length,), generator=generator)
            mask = (torch.arange(12) < length).long()
            label = int((ids[:length] < 30).float().mean() > 0.5)
            self.items.append({"input_ids": ids, "attention_mask": mask, "labels": label})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def main():
    set_seed(0)
    config = BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=32)  # fmt: skip
    arguments = TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=16,
                                  eval_strategy="steps", eval_steps=4, save_strategy="no",
                                  learning_rate=1e-3, use_cpu=True, report_to=[])  # fmt: skip
    model = BertForSequenceClassification(config)
    Trainer(model, arguments, train_dataset=Sentences(160), eval_dataset=Sentences(64)).train()


if __name__ == "__main__":
    main()
