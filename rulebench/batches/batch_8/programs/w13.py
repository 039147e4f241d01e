import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed)

# random tiny BERT, sentences of different lengths: which of two marker words comes first?
set_seed(303)
PAD, CLS, A, B, V, T = 0, 1, 2, 3, 40, 16


class Toy(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            L = int(torch.randint(5, T, (1,)))
            ids = torch.randint(4, V, (L,))
            i, j = sorted(torch.randperm(L)[:2].tolist())
            y = int(torch.randint(0, 2, (1,)))
            ids[i], ids[j] = (A, B) if y else (B, A)
            full = torch.cat([torch.tensor([CLS]), ids, torch.full((T - L,), PAD)])
            self.items.append({"input_ids": full, "attention_mask": (full != PAD).long(), "labels": y})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


model = BertForSequenceClassification(BertConfig(
    vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
    max_position_embeddings=32, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
args = TrainingArguments(output_dir="/tmp/toy_bert", num_train_epochs=10, per_device_train_batch_size=32,
                         per_device_eval_batch_size=200, learning_rate=1e-3, warmup_steps=50, weight_decay=0.01,
                         lr_scheduler_type="cosine", eval_strategy="epoch", save_strategy="no", logging_steps=60,
                         report_to=[], disable_tqdm=True, use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=Toy(2000), eval_dataset=Toy(400),
                  compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
trainer.train()
print(trainer.evaluate())
