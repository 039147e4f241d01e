"""Two-tower retrieval: match short token queries to documents with in-batch negatives."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(5)
torch.manual_seed(5)

VOCAB, DOC_LEN, QUERY_LEN = 600, 20, 5
N_TRAIN, N_TEST = 4000, 500


def synthetic_pairs(n):
    """Every document draws from two of 60 topics, the query repeats some of its words."""
    docs = np.zeros((n, DOC_LEN), dtype=np.int64)
    queries = np.zeros((n, QUERY_LEN), dtype=np.int64)
    for i in range(n):
        topics = rng.choice(60, size=3, replace=False)
        words = topics[rng.integers(0, 3, DOC_LEN)] * 10 + rng.integers(0, 10, DOC_LEN)
        docs[i] = words
        q_topics = topics[[0, 1, 2, 0, 1]]
        queries[i] = q_topics * 10 + rng.integers(0, 10, QUERY_LEN)
    return torch.from_numpy(queries), torch.from_numpy(docs)


q_train, d_train = synthetic_pairs(N_TRAIN)
q_test, d_test = synthetic_pairs(N_TEST)


class Tower(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, tokens):
        h = self.emb(tokens)
        return F.normalize(h + self.proj(h), dim=-1)


query_tower, doc_tower = Tower(), Tower()
params = list(query_tower.parameters()) + list(doc_tower.parameters())
optimizer = torch.optim.AdamW(params, lr=3e-3, weight_decay=1e-4)
temperature = 0.07


def info_nce(q, d):
    scores = q @ d.t() * temperature
    target = torch.arange(len(q))
    return 0.5 * (F.cross_entropy(scores, target) + F.cross_entropy(scores.t(), target))


@torch.no_grad()
def recall_at(k):
    q, d = query_tower(q_test), doc_tower(d_test)
    top = (q @ d.t()).topk(k, dim=1).indices
    return (top == torch.arange(N_TEST)[:, None]).any(dim=1).float().mean().item()


batch_size = 128
for epoch in range(1, 21):
    order = torch.randperm(N_TRAIN)
    running = 0.0
    for i in range(0, N_TRAIN - batch_size + 1, batch_size):
        idx = order[i : i + batch_size]
        loss = info_nce(query_tower(q_train[idx]), doc_tower(d_train[idx]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d}: loss {running / (N_TRAIN // batch_size):.4f}  R@1 {recall_at(1):.3f}  R@10 {recall_at(10):.3f}")
