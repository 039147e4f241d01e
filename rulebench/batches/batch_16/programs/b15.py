# bag-of-embeddings topic classifier on synthetic text
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
torch.manual_seed(0)
VOCAB, TOPICS = 500, 6
topic_words = rng.dirichlet(np.full(VOCAB, 0.05), TOPICS)
background = rng.dirichlet(np.full(VOCAB, 1.0))


def doc(k):
    n = rng.integers(15, 60)
    p = 0.25 * topic_words[k] + 0.75 * background
    return rng.choice(VOCAB, n, p=p / p.sum())


labels = rng.integers(0, TOPICS, 2000)
docs = [doc(k) for k in labels]


class Topic(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, 32, mode="mean")
        self.fc = nn.Linear(32, TOPICS)

    def forward(self, text, offsets):
        return F.log_softmax(self.fc(self.emb(text, offsets)), dim=-1)


def collate(ix):
    lens = [0] + [len(docs[i]) for i in ix[:-1]]
    return (torch.tensor(np.concatenate([docs[i] for i in ix])), torch.tensor(lens).cumsum(0),
            torch.tensor(labels[ix]))


model = Topic()
criterion = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
train_ix, test_ix = np.arange(1600), np.arange(1600, 2000)
for epoch in range(12):
    rng.shuffle(train_ix)
    tot = 0
    for i in range(0, 1600, 40):
        text, off, y = collate(train_ix[i:i + 40])
        loss = criterion(model(text, off), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    with torch.no_grad():
        text, off, y = collate(test_ix)
        acc = (model(text, off).argmax(1) == y).float().mean()
    print(f"epoch {epoch + 1}: loss {tot / 40:.4f} test acc {acc:.3f}")
