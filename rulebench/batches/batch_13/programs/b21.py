# bracket balance classification with a GRU, sequences packed (T, B)
import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence

random.seed(1)
torch.manual_seed(1)
CH = {"(": 1, ")": 2, "a": 3}

def depth_label(s):
    d = m = 0
    for c in s:
        d += (c == "(") - (c == ")")
        m = max(m, d)
    return int(m >= 3)

def sample():
    return "".join(random.choice("()a") for _ in range(random.randint(5, 18)))

data = [(s, depth_label(s)) for s in (sample() for _ in range(4000))]
train, test = data[:3400], data[3400:]
print("share of class 1:", sum(l for _, l in train) / len(train))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(4, 8, padding_idx=0)
        self.rnn = nn.GRU(8, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.out(h[-1])

def collate(rows):
    seqs = [torch.tensor([CH[c] for c in s]) for s, _ in rows]
    return pad_sequence(seqs), torch.tensor([len(s) for s in seqs]), torch.tensor([l for _, l in rows])

net = Model()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for ep in range(12):
    random.shuffle(train)
    net.train()
    tot = n = 0
    for i in range(0, len(train), 64):
        x, ln, y = collate(train[i:i + 64])
        loss = nn.functional.cross_entropy(net(x, ln), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        tot += loss.item(); n += 1
    net.eval()
    with torch.no_grad():
        x, ln, y = collate(test)
        acc = (net(x, ln).argmax(1) == y).float().mean().item()
    print(f"epoch {ep} loss {tot/n:.4f} acc {acc:.3f}")
