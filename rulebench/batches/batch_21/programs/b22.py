"""Skip-gram with negative sampling on documents from a topic model."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
torch.manual_seed(0)

N_TOPICS, WORDS_PER_TOPIC = 12, 50
VOCAB = N_TOPICS * WORDS_PER_TOPIC
zipf = 1.0 / np.arange(1, WORDS_PER_TOPIC + 1)
zipf /= zipf.sum()


def document():
    topic = rng.integers(N_TOPICS)
    n = 40
    own = topic * WORDS_PER_TOPIC + rng.choice(WORDS_PER_TOPIC, size=n, p=zipf)
    noise = rng.integers(0, VOCAB, size=n)
    return np.where(rng.random(n) < 0.8, own, noise)


docs = [document() for _ in range(1500)]
counts = np.bincount(np.concatenate(docs), minlength=VOCAB) + 1
noise_dist = torch.tensor(counts**0.75, dtype=torch.float)

window = 3
centers, contexts = [], []
for d in docs:
    for i in range(len(d)):
        for j in range(max(0, i - window), min(len(d), i + window + 1)):
            if j != i:
                centers.append(d[i])
                contexts.append(d[j])
centers, contexts = torch.tensor(np.array(centers)), torch.tensor(np.array(contexts))
print("training pairs:", len(centers))


class SkipGram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.center = nn.Embedding(vocab, dim, sparse=True)
        self.context = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, c, o, neg):
        v = self.center(c)
        pos_score = (v * self.context(o)).sum(-1)
        neg_score = torch.bmm(self.context(neg), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos_score) + F.logsigmoid(-neg_score).sum(-1)).mean()


model = SkipGram(VOCAB, 24)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)


def neighbour_precision(k=5, frequent=15):
    """Share of the k nearest neighbours of frequent words that belong to the same topic."""
    w = F.normalize(model.center.weight.detach(), dim=1)
    words = torch.cat([torch.arange(t * WORDS_PER_TOPIC, t * WORDS_PER_TOPIC + frequent) for t in range(N_TOPICS)])
    sims = w[words] @ w[words].t()
    sims.fill_diagonal_(-1)
    near = sims.topk(k, dim=1).indices
    return (words[near] // WORDS_PER_TOPIC == (words // WORDS_PER_TOPIC)[:, None]).float().mean().item()


print(f"before training: precision@5 {neighbour_precision():.3f}")
batch = 1024
for epoch in range(1, 5):
    perm = torch.randperm(len(centers))
    total, steps = 0.0, 0
    for i in range(0, len(perm) - batch, batch):
        idx = perm[i : i + batch]
        negatives = torch.multinomial(noise_dist, batch * 5, replacement=True).view(batch, 5)
        loss = model(centers[idx], contexts[idx], negatives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch}: loss {total / steps:.4f}  precision@5 {neighbour_precision():.3f}")
