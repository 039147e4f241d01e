"""Skip-gram with negative sampling on a synthetic topic corpus."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
rng = np.random.default_rng(5)

N_TOPICS, WORDS_PER_TOPIC, N_COMMON = 20, 25, 50
V = N_TOPICS * WORDS_PER_TOPIC + N_COMMON
topic_of = np.repeat(np.arange(N_TOPICS), WORDS_PER_TOPIC)


def document(length=40):
    t = rng.integers(N_TOPICS)
    words = t * WORDS_PER_TOPIC + rng.integers(0, WORDS_PER_TOPIC, length)
    common = rng.random(length) < 0.3
    words[common] = N_TOPICS * WORDS_PER_TOPIC + rng.integers(0, N_COMMON, common.sum())
    return words


docs = [document() for _ in range(700)]
pairs = []
for d in docs:
    for i in range(len(d)):
        for j in range(max(0, i - 2), min(len(d), i + 3)):
            if i != j:
                pairs.append((d[i], d[j]))
pairs = torch.tensor(np.array(pairs))
counts = np.bincount(np.concatenate(docs), minlength=V).astype(np.float64)
noise = torch.tensor(counts ** 0.75 / (counts ** 0.75).sum(), dtype=torch.float)
print("pairs:", len(pairs), "vocab:", V)


class SGNS(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.center = nn.Embedding(vocab, dim, sparse=True)
        self.context = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, c, o, neg):
        c = self.center(c)
        pos = (c * self.context(o)).sum(1)
        negs = torch.bmm(self.context(neg), c.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-negs).sum(1)).mean()


def neighbour_purity(model, k=5):
    w = F.normalize(model.center.weight.detach()[: N_TOPICS * WORDS_PER_TOPIC], dim=1)
    sim = w @ w.T
    sim.fill_diagonal_(-1)
    nb = sim.topk(k, dim=1).indices.numpy()
    return (topic_of[nb] == topic_of[:, None]).mean()


model = SGNS(V)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
B, K = 1024, 5
for epoch in range(3):
    perm = torch.randperm(len(pairs))
    total = 0.0
    steps = 0
    for i in range(0, len(pairs) - B, B):
        batch = pairs[perm[i:i + B]]
        neg = torch.multinomial(noise, B * K, replacement=True).view(B, K)
        loss = model(batch[:, 0], batch[:, 1], neg)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch}: loss {total / steps:.4f}  purity@5 {neighbour_purity(model):.3f}")
