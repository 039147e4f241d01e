import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import load_digits

SEED = 123


class SmallCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(32 * 16, 64), nn.ReLU())
        self.fc = nn.Linear(64, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def make_loader(images, labels, batch_size, shuffle):
    ds = TensorDataset(torch.tensor(images), torch.tensor(labels))
    return DataLoader(ds, batch_size=batch_size, shuffle=shuffle)


def run_epoch(model, loader, optimizer):
    model.train()
    total, n = 0.0, 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
        n += len(xb)
    return total / n


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in loader)
    return hits / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pretrain-epochs", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    torch.manual_seed(SEED)
    rng = np.random.RandomState(SEED)

    d = load_digits()
    img = (d.images / 16.0).astype("float32")[:, None]
    lab = d.target.astype("int64")
    perm = rng.permutation(len(lab))
    img, lab = img[perm], lab[perm]

    # source task: 0..4, target task: 5..9
    src = lab < 5
    src_loader = make_loader(img[src], lab[src], args.batch_size, True)
    tx, ty = img[~src], lab[~src] - 5
    cut = len(ty) // 2
    train_loader = make_loader(tx[:cut], ty[:cut], args.batch_size, True)
    test_loader = make_loader(tx[cut:], ty[cut:], 128, False)

    model = SmallCNN(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for ep in range(args.pretrain_epochs):
        loss = run_epoch(model, src_loader, optimizer)
        print(f"[pretrain] epoch {ep} loss {loss:.4f}")

    # fine tuning: keep the features, train a new classifier on top
    for p in model.features.parameters():
        p.requires_grad = False
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model.fc = nn.Linear(64, 5)
    for ep in range(args.epochs):
        loss = run_epoch(model, train_loader, optimizer)
        print(f"[finetune] epoch {ep} loss {loss:.4f} acc {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
