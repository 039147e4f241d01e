"""Learn a shared embedding for product titles and queries from labelled pairs."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(5)
rng = np.random.default_rng(5)
VOCAB, N_TOPICS, TITLE_LEN, QUERY_LEN = 800, 40, 10, 5
topic_words = [rng.choice(VOCAB, 30, replace=False) for _ in range(N_TOPICS)]


def draw(topic, length):
    words = rng.choice(topic_words[topic], length)
    noise = rng.random(length) < 0.2
    words[noise] = rng.integers(0, VOCAB, noise.sum())
    return words


class PairDataset(Dataset):
    """(query, title, label): half of the pairs match, half don't."""

    def __init__(self, n):
        self.rows = []
        for k in range(n):
            t = rng.integers(N_TOPICS)
            match = k % 2 == 0
            other = t if match else (t + rng.integers(1, N_TOPICS)) % N_TOPICS
            self.rows.append((draw(t, QUERY_LEN), draw(other, TITLE_LEN), float(match)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        q, d, label = self.rows[i]
        return torch.as_tensor(q), torch.as_tensor(d), torch.tensor(label)


class Encoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, 64, mode="mean")
        self.proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, tokens):
        return self.proj(self.emb(tokens))


train_loader = DataLoader(PairDataset(8000), batch_size=64, shuffle=True)
catalog_topics = np.repeat(np.arange(N_TOPICS), 5)
catalog = torch.as_tensor(np.stack([draw(t, TITLE_LEN) for t in catalog_topics]))
query_topics = rng.integers(0, N_TOPICS, 400)
queries = torch.as_tensor(np.stack([draw(t, QUERY_LEN) for t in query_topics]))

encoder = Encoder()
criterion = nn.CosineEmbeddingLoss(margin=0.2)
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)


def precision_at_5():
    encoder.eval()
    with torch.no_grad():
        q = nn.functional.normalize(encoder(queries), dim=-1)
        c = nn.functional.normalize(encoder(catalog), dim=-1)
        idx = (q @ c.T).topk(5, dim=1).indices.numpy()
    return (catalog_topics[idx] == query_topics[:, None]).mean()


for epoch in range(6):
    encoder.train()
    losses = []
    for q, d, label in train_loader:
        loss = criterion(encoder(q), encoder(d), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} loss {np.mean(losses):.4f}")

print("precision@5:", round(float(precision_at_5()), 4))
