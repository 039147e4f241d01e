"""word2vec (skip-gram, negative sampling) on a toy corpus; sparse gradients.

SparseAdam handles the two embedding tables, a plain Adam the output temperature.
"""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(4)
torch.manual_seed(4)
THEMES, PER, V = 8, 25, 200
theme = torch.arange(V) // PER


def sentence():
    t = random.randrange(THEMES)
    return [t * PER + random.randrange(PER) if random.random() < 0.85 else random.randrange(V) for _ in range(12)]


pairs = []
for _ in range(1500):
    s = sentence()
    for i in range(12):
        for j in (i - 2, i - 1, i + 1, i + 2):
            if 0 <= j < 12:
                pairs.append((s[i], s[j]))
pairs = torch.tensor(pairs)
print(len(pairs), "pairs")

emb_in, emb_out = nn.Embedding(V, 24, sparse=True), nn.Embedding(V, 24, sparse=True)
nn.init.zeros_(emb_out.weight)                  # as in the original C code
temp = nn.Parameter(torch.ones(()))
opt_sparse = torch.optim.SparseAdam(list(emb_in.parameters()) + list(emb_out.parameters()), lr=0.01)
opt_dense = torch.optim.Adam([temp], lr=0.003)

step = 0
for epoch in range(3):
    for idx in torch.randperm(len(pairs)).split(256):
        c, o = pairs[idx].T
        neg = torch.randint(0, V, (len(idx), 5))
        h = emb_in(c)
        pos = (h * emb_out(o)).sum(1) * temp
        ng = torch.einsum("bd,bkd->bk", h, emb_out(neg)) * temp
        loss = -(F.logsigmoid(pos).mean() + F.logsigmoid(-ng).sum(1).mean())
        opt_sparse.zero_grad()
        opt_dense.zero_grad()
        loss.backward()
        opt_sparse.step()
        opt_dense.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f}")
        step += 1

w = F.normalize(emb_in.weight.detach(), dim=1)
sim = w @ w.T - 2 * torch.eye(V)
print("nearest neighbour has the same theme:", (theme[sim.argmax(1)] == theme).float().mean().item())
