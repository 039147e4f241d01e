"""Skip-gram with negative sampling, sparse embedding gradients and SparseAdam.
Corpus: random sentences where words belong to topics."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 21
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

TOPICS, PER_TOPIC = 12, 25
V = TOPICS * PER_TOPIC
DIM, NEG, WINDOW = 24, 6, 3

sentences = []
for _ in range(2500):
    topic = rng.integers(TOPICS)
    zipf = 1.0 / np.arange(1, PER_TOPIC + 1) ** 0.7
    words = topic * PER_TOPIC + rng.choice(PER_TOPIC, size=10, p=zipf / zipf.sum())
    noise = rng.random(10) < 0.1
    words = np.where(noise, rng.integers(0, V, 10), words)
    sentences.append(words)

pairs = []
for s in sentences:
    for i in range(len(s)):
        for j in range(max(0, i - WINDOW), min(len(s), i + WINDOW + 1)):
            if i != j:
                pairs.append((s[i], s[j]))
pairs = torch.tensor(np.array(pairs))
counts = np.bincount(np.concatenate(sentences), minlength=V) ** 0.75
noise_dist = torch.tensor(counts / counts.sum(), dtype=torch.float)


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.center = nn.Embedding(V, DIM, sparse=True)
        self.context = nn.Embedding(V, DIM, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / DIM, 0.5 / DIM)
        nn.init.zeros_(self.context.weight)          # as in the original word2vec.c

    def forward(self, c, o, neg):
        vc = self.center(c)
        pos = (vc * self.context(o)).sum(-1)
        negs = torch.bmm(self.context(neg), vc.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-negs).sum(1)).mean()


model = SkipGram()
opt = torch.optim.SparseAdam(list(model.parameters()), lr=0.005)
B = 512

for epoch in range(4):
    perm = torch.randperm(len(pairs))
    run = 0.0
    for k, i in enumerate(range(0, len(pairs), B)):
        b = pairs[perm[i:i + B]]
        neg = torch.multinomial(noise_dist, len(b) * NEG, replacement=True).view(len(b), NEG)
        loss = model(b[:, 0], b[:, 1], neg)
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
        if k % 100 == 99:
            print(f"epoch {epoch} batch {k+1} loss {run/100:.4f}")
            run = 0.0

W = F.normalize(model.center.weight.detach(), dim=1)
sim = W @ W.T
sim.fill_diagonal_(-2)
near = sim.topk(5, dim=1).indices
topic = torch.arange(V) // PER_TOPIC
print("neighbours of the same topic:", (topic[near] == topic[:, None]).float().mean().item())
