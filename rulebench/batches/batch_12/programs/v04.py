import argparse
import copy
import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_digits


class Backbone(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(32 * 4, n_out)

    def forward(self, x):
        return self.fc(self.features(x))


def split_tasks():
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x / 16.0).float().view(-1, 1, 8, 8)
    y = torch.tensor(y)
    src = y < 5
    return (x[src], y[src]), (x[~src], y[~src] - 5)


def run(model, opt, x, y, epochs, bs=32):
    for ep in range(epochs):
        model.train()
        perm = torch.randperm(len(x))
        tot = 0
        for i in range(0, len(x), bs):
            j = perm[i:i + bs]
            loss = nn.functional.cross_entropy(model(x[j]), y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(j)
        print(f"  epoch {ep} loss {tot / len(x):.4f}")


@torch.no_grad()
def acc(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def finetune_setup(pretrained, n_classes, lr):
    model = copy.deepcopy(pretrained)
    for p in model.features.parameters():
        p.requires_grad = False
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    model.fc = nn.Linear(model.fc.in_features, n_classes)
    return model, opt


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pre-epochs", type=int, default=8)
    ap.add_argument("--ft-epochs", type=int, default=15)
    ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    (xs, ys), (xt, yt) = split_tasks()
    base = Backbone(5)
    print("pretraining on digits 0-4")
    run(base, torch.optim.Adam(base.parameters(), lr=1e-3), xs, ys, a.pre_epochs)
    print("fine-tuning on digits 5-9")
    model, opt = finetune_setup(base, 5, a.lr)
    n = int(0.6 * len(xt))
    run(model, opt, xt[:n], yt[:n], a.ft_epochs)
    print("target test accuracy", acc(model, xt[n:], yt[n:]))


if __name__ == "__main__":
    main()
