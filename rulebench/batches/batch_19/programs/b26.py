"""Learn an embedding of handwritten digits for image retrieval."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset

np.random.seed(11)
torch.manual_seed(11)


class TripletDigits(Dataset):
    def __init__(self, images, labels):
        self.images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8)
        self.labels = labels
        self.by_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
        self.others = {c: np.flatnonzero(labels != c) for c in self.by_class}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        c = self.labels[i]
        neg = self.images[np.random.choice(self.others[c])]
        pos = self.images[np.random.choice(self.by_class[c])]
        return self.images[i], neg, pos


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(32 * 2 * 2, dim)

    def forward(self, x):
        return F.normalize(self.fc(self.conv(x).flatten(1)), dim=1)


def precision_at_k(emb, labels, k=5):
    sims = emb @ emb.T
    sims.fill_diagonal_(-2)
    top = sims.topk(k, dim=1).indices.numpy()
    return (labels[top] == labels[:, None]).mean()


digits = load_digits()
x_tr, x_te, y_tr, y_te = train_test_split(
    digits.data / 16.0, digits.target, test_size=0.3, stratify=digits.target, random_state=0)
loader = DataLoader(TripletDigits(x_tr, y_tr), batch_size=64, shuffle=True)
test_images = torch.tensor(x_te, dtype=torch.float32).view(-1, 1, 8, 8)

net = Embedder()
criterion = nn.TripletMarginLoss(margin=0.4)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(10):
    net.train()
    total = 0.0
    for anchor, positive, negative in loader:
        loss = criterion(net(anchor), net(positive), net(negative))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if (epoch + 1) % 2 == 0:
        print(f"epoch {epoch + 1}: triplet loss {total / len(loader):.4f}")

net.eval()
with torch.no_grad():
    emb = net(test_images)
print(f"precision@5 on test queries: {precision_at_k(emb, y_te):.4f}")
