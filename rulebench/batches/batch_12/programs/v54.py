import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

# parity-like task on variable length sequences: is the running sum positive at the end?
torch.manual_seed(1)
rng = np.random.default_rng(1)
data = []
for _ in range(2000):
    n = rng.integers(4, 25)
    s = rng.normal(0, 1, (n, 1)).astype("float32")
    data.append((torch.tensor(s), float(s[:, 0].sum() > 0)))


def collate(rows):
    lens = torch.tensor([len(r[0]) for r in rows])
    return pad_sequence([r[0] for r in rows], batch_first=True), lens, torch.tensor([r[1] for r in rows])


class GRUClf(nn.Module):
    def __init__(self, h=24):
        super().__init__()
        self.gru = nn.GRU(1, h, batch_first=True)
        self.out = nn.Linear(h, 1)

    def forward(self, x, lens):
        packed = pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.out(h[-1]).squeeze(-1)


train = DataLoader(data[:1600], 32, shuffle=True, collate_fn=collate)
test = DataLoader(data[1600:], 100, collate_fn=collate)
model = GRUClf()
opt = torch.optim.RMSprop(model.parameters(), lr=3e-3)
lossf = nn.BCEWithLogitsLoss()
for ep in range(10):
    tot = 0
    for x, l, y in train:
        loss = lossf(model(x, l), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        tot += loss.item()
    with torch.no_grad():
        ok = sum(((model(x, l) > 0).float() == y).sum().item() for x, l, y in test)
    print(ep, "loss", tot / len(train), "acc", ok / 400)
