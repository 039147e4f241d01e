"""Character GRU trained with truncated backprop, weight tying and gradient accumulation."""
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)

RECIPES = ["mix {n} eggs with {n} cups of flour and bake for {n}0 minutes. ",
           "boil {n} potatoes in salted water, then add {n} onions. ",
           "chop {n} carrots and fry them in butter until golden. "]


def build_text(n):
    g = torch.Generator().manual_seed(1)
    parts = []
    for _ in range(n):
        r = RECIPES[int(torch.randint(0, 3, (1,), generator=g))]
        while "{n}" in r:
            r = r.replace("{n}", str(int(torch.randint(2, 7, (1,), generator=g))), 1)
        parts.append(r)
    return "".join(parts)


text = build_text(1200)
vocab = sorted(set(text))
encode = {c: i for i, c in enumerate(vocab)}
stream = torch.tensor([encode[c] for c in text])
cut = int(len(stream) * 0.9)


class CharGRU(nn.Module):
    def __init__(self, v, dim=96):
        super().__init__()
        self.emb = nn.Embedding(v, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, v)
        self.out.weight = self.emb.weight
        nn.init.normal_(self.emb.weight, std=0.1)

    def forward(self, x, h=None):
        y, h = self.gru(self.emb(x), h)
        return self.out(y), h


def rows(ids, batch):
    n = (len(ids) - 1) // batch
    return ids[: n * batch].view(batch, n), ids[1: n * batch + 1].view(batch, n)


model = CharGRU(len(vocab))
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
SEQ, ACCUM = 40, 2
xs, ys = rows(stream[:cut], 16)
xv, yv = rows(stream[cut:], 4)

start = time.time()
updates = 0
for epoch in range(4):
    h = None
    opt.zero_grad()
    total, count = 0.0, 0
    for k, i in enumerate(range(0, xs.size(1) - SEQ, SEQ)):
        logits, h = model(xs[:, i:i + SEQ], h)
        h = h.detach()
        loss = F.cross_entropy(logits.transpose(1, 2), ys[:, i:i + SEQ])
        (loss / ACCUM).backward()
        if (k + 1) % ACCUM == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            updates += 1
        total += loss.item()
        count += 1
    with torch.no_grad():
        logits, _ = model(xv)
        val = F.cross_entropy(logits.transpose(1, 2), yv).item()
    print(f"epoch {epoch} updates {updates} train {total / count:.3f} val {val:.3f} bpc {val / math.log(2):.3f}")

prompt = torch.tensor([[encode[c] for c in "mix 3 eggs"]])
out = "mix 3 eggs"
with torch.no_grad():
    logits, h = model(prompt)
    for _ in range(80):
        nxt = torch.multinomial(F.softmax(logits[:, -1] / 0.7, -1), 1)
        out += vocab[nxt.item()]
        logits, h = model(nxt, h)
print(out, f"({time.time() - start:.0f}s)")
