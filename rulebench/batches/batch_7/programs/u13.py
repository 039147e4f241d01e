"""Transformer encoder that classifies variable-length event sequences."""
import math
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(23)
PAD, V, D = 0, 30, 32


def make(n):
    # two of the events 3..7 are hidden among ordinary ones; positive when they are the same event
    seqs, labels = [], []
    for _ in range(n):
        L = int(torch.randint(5, 15, (1,)))
        s = torch.randint(8, V, (L,))
        lab = int(torch.randint(0, 2, (1,)))
        a = int(torch.randint(0, 5, (1,)))
        b = a if lab else (a + int(torch.randint(1, 5, (1,)))) % 5
        pos = torch.randperm(L)[:2]
        s[pos[0]], s[pos[1]] = 3 + a, 3 + b
        seqs.append(s)
        labels.append(lab)
    return seqs, torch.tensor(labels)


class EventModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(1, 64, D) * 0.02)
        layer = nn.TransformerEncoderLayer(D, 4, 64, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(D, 1)

    def forward(self, ids):
        mask = ids != PAD
        h = self.emb(ids) + self.pos[:, :ids.size(1)]
        h = self.enc(h, src_key_padding_mask=mask)
        m = mask.unsqueeze(-1).float()
        pooled = (h * m).sum(1) / m.sum(1)
        return self.out(pooled).squeeze(1)


def collate(seqs, idx):
    # every batch is padded to the longest sequence plus the end slot
    longest = max(len(seqs[i]) for i in idx)
    out = torch.zeros(len(idx), longest + 1, dtype=torch.long)
    for r, i in enumerate(idx):
        out[r, :len(seqs[i])] = seqs[i]
    return out


train_s, train_y = make(3000)
val_s, val_y = make(400)
net = EventModel()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(14):
    net.train()
    perm = torch.randperm(len(train_s)).tolist()
    tot = 0.0
    for i in range(0, len(perm), 32):
        idx = perm[i:i + 32]
        loss = bce(net(collate(train_s, idx)), train_y[idx].float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        z = net(collate(val_s, list(range(len(val_s)))))
        acc = ((z > 0).long() == val_y).float().mean().item()
    print(f"epoch {epoch + 1} train loss {tot / len(perm):.4f} val acc {acc:.3f}")
