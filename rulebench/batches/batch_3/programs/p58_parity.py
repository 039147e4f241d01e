"""Pretrain on parity, then reuse the features for all ten digits."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 21


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten())
        self.fc = nn.Linear(32 * 16, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def epoch(model, x, y, opt=None, bs=32):
    model.train(opt is not None)
    crit = nn.CrossEntropyLoss()
    total, hits = 0.0, 0
    with torch.set_grad_enabled(opt is not None):
        for idx in torch.randperm(len(y)).split(bs):
            out = model(x[idx])
            loss = crit(out, y[idx])
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item() * len(idx)
            hits += (out.argmax(1) == y[idx]).sum().item()
    return total / len(y), hits / len(y)


def finetune(model, n_classes, lr):
    for p in model.features.parameters():
        p.requires_grad = False
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    model.fc = nn.Linear(model.fc.in_features, n_classes)
    return model, optimizer


def main():
    torch.manual_seed(SEED)
    d = load_digits()
    x = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target)
    xa, xb, ya, yb = train_test_split(x, y, test_size=0.5, random_state=SEED, stratify=y)

    # stage 1: odd or even
    model = Net(2)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for e in range(8):
        l, a = epoch(model, xa, ya % 2, opt)
    print(f"stage 1 parity: loss {l:.4f} acc {a:.4f}")

    # stage 2: all ten digits
    xt, xv, yt, yv = train_test_split(xb, yb, test_size=0.3, random_state=SEED, stratify=yb)
    model, opt = finetune(model, 10, lr=0.02)
    for e in range(25):
        l, a = epoch(model, xt, yt, opt)
        if e % 4 == 0:
            vl, va = epoch(model, xv, yv)
            print(f"stage 2 epoch {e}: train {l:.4f}/{a:.4f} val {vl:.4f}/{va:.4f}")
    print("final val accuracy", epoch(model, xv, yv)[1])


if __name__ == "__main__":
    main()
