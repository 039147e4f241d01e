"""Metric learning on the digits data with a triplet loss, evaluated by 1-nn retrieval."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def pairwise_distances(emb):
    dot = emb @ emb.t()
    sq = dot.diagonal()
    d2 = sq.unsqueeze(0) - 2 * dot + sq.unsqueeze(1)
    return torch.sqrt(d2.clamp(min=0))


def batch_hard_triplet(emb, labels, margin):
    dist = pairwise_distances(emb)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    eye = torch.eye(len(labels), dtype=torch.bool)
    hardest_pos = (dist * (same & ~eye)).max(dim=1).values
    hardest_neg = (dist + same * 1e3).min(dim=1).values
    return torch.relu(hardest_pos - hardest_neg + margin).mean()


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(32 * 4 * 4, dim)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def pk_batches(y, p, k, n_batches, rng):
    by_class = {c: np.flatnonzero(y == c) for c in np.unique(y)}
    for _ in range(n_batches):
        classes = rng.choice(list(by_class), p, replace=False)
        yield np.concatenate([rng.choice(by_class[c], k, replace=False) for c in classes])


@torch.no_grad()
def recall_at_1(model, gallery_x, gallery_y, query_x, query_y):
    model.eval()
    d = torch.cdist(model(query_x), model(gallery_x))
    nearest = d.argmin(dim=1)
    return (gallery_y[nearest] == query_y).float().mean().item()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    digits = load_digits()
    x = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    y = digits.target
    tr, te = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)

    model = Embedder()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    yt = torch.tensor(y)
    for epoch in range(10):
        model.train()
        losses = []
        for idx in pk_batches(y[tr], p=8, k=6, n_batches=40, rng=rng):
            batch = tr[idx]
            loss = batch_hard_triplet(model(x[batch]), yt[batch], margin=0.5)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        r1 = recall_at_1(model, x[tr], yt[tr], x[te], yt[te])
        print(f"epoch {epoch}: triplet loss {np.mean(losses):.4f}  recall@1 {r1:.4f}")


if __name__ == "__main__":
    main()
