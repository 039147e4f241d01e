"""Character language model on a little formal language, micro-batches of 8 because the laptop is small."""
import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
random.seed(1)
ALPHABET = "$()[]ab+*"
stoi = {c: i for i, c in enumerate(ALPHABET)}


def expr(depth=0):
    r = random.random()
    if depth > 2 or r < 0.35:
        return random.choice("ab")
    if r < 0.6:
        return "(" + expr(depth + 1) + ")"
    if r < 0.8:
        return "[" + expr(depth + 1) + "]"
    return expr(depth + 1) + random.choice("+*") + expr(depth + 1)


def corpus(n):
    return torch.tensor([stoi[c] for c in "$".join(expr() for _ in range(n))])


train, valid = corpus(9000), corpus(1500)
SEQ, MICRO, ACCUM = 40, 8, 4


class CharGRU(nn.Module):
    def __init__(self, v, h=64):
        super().__init__()
        self.e = nn.Embedding(v, 24)
        self.g = nn.GRU(24, h, batch_first=True)
        self.o = nn.Linear(h, v)

    def forward(self, x):
        return self.o(self.g(self.e(x))[0])


def batch(data, n):
    i = torch.randint(0, len(data) - SEQ - 1, (n,))
    w = torch.stack([data[j:j + SEQ + 1] for j in i])
    return w[:, :-1], w[:, 1:]


model = CharGRU(len(ALPHABET))
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
N_MICRO = 1600
opt.zero_grad()
acc_loss = 0.0
for k in range(1, N_MICRO + 1):
    x, y = batch(train, MICRO)
    loss = F.cross_entropy(model(x).transpose(1, 2), y)
    (loss / ACCUM).backward()
    acc_loss += loss.item() / ACCUM
    if k % ACCUM == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for g in opt.param_groups:      # warm-up, then inverse square root
            u = k // ACCUM
            g["lr"] = 4e-3 * min(u / 50, (50 / u) ** 0.5)
        opt.step()
        opt.zero_grad()
        if k % (ACCUM * 100) == 0:
            print(f"update {k // ACCUM:4d}: train {acc_loss:.4f} nats, ppl {math.exp(acc_loss):.3f}")
        acc_loss = 0.0

model.eval()
with torch.no_grad():
    x, y = batch(valid, 300)
    nll = F.cross_entropy(model(x).transpose(1, 2), y).item()
freq = torch.bincount(train, minlength=len(ALPHABET)).float() / len(train)
print(f"validation perplexity {math.exp(nll):.3f}  (unigram {math.exp(-(freq * freq.log()).sum().item()):.3f})")
