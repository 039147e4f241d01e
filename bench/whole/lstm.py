"""Trains an LSTM that tells the sentiment of synthetic reviews, as text-classifier tutorials do."""

import argparse
import random
import time

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB, PAD = 2000, 0


class Reviews(Dataset):  # a positive review holds more of the words under 200
    def __init__(self, count, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(count):
            label = rng.randint(0, 1)
            share = 0.3 if label else 0.1
            words = [
                rng.randint(1, 199) if rng.random() < share else rng.randint(200, VOCAB - 1)
                for _ in range(rng.randint(15, 30))
            ]
            self.items.append((torch.tensor(words), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(batch):
    texts, labels = zip(*batch, strict=True)
    lengths = torch.tensor([len(text) for text in texts])
    padded = pad_sequence(texts, batch_first=True, padding_value=PAD)
    return padded, lengths, torch.tensor(labels, dtype=torch.float)


class LSTMClassifier(nn.Module):
    def __init__(self, embed_dim=64, hidden_dim=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embed_dim, padding_idx=PAD)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(hidden_dim, 1)

    def forward(self, text, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(text), lengths, batch_first=True, enforce_sorted=False
        )
        _, (hidden, _) = self.lstm(packed)
        return self.fc(self.dropout(hidden[-1])).squeeze(1)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=500, help="optimizer steps")
args = parser.parse_args()

torch.manual_seed(0)
train_loader = DataLoader(Reviews(2048, seed=0), batch_size=32, shuffle=True, collate_fn=collate)
model = LSTMClassifier()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

warmup = max(1, min(20, args.steps // 10))
step, correct, seen = 0, 0, 0
start = time.perf_counter()
while step < args.steps:
    for text, lengths, labels in train_loader:
        if step == warmup:
            start = time.perf_counter()
        optimizer.zero_grad()
        logits = model(text, lengths)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        correct += ((logits > 0) == labels.bool()).sum().item()
        seen += len(labels)
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} acc {correct / seen:.3f}")
        if step == args.steps:
            break

elapsed = time.perf_counter() - start
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")
