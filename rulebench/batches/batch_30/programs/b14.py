"""Iterative magnitude pruning with rewinding to the initial weights (lottery tickets)."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(55)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32)
y = torch.tensor(y)
idx = torch.randperm(len(X))
tr, te = idx[:1300], idx[1300:]

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
initial = copy.deepcopy(model.state_dict())
masks = {n: torch.ones_like(p) for n, p in model.named_parameters() if p.dim() == 2}


@torch.no_grad()
def apply_masks():
    for n, p in model.named_parameters():
        if n in masks:
            p.mul_(masks[n])


def train(epochs=12):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for b in tr[torch.randperm(len(tr))].split(40):
            loss = F.cross_entropy(model(X[b]), y[b])
            opt.zero_grad()
            loss.backward()
            for n, p in model.named_parameters():
                if n in masks:
                    p.grad.mul_(masks[n])
            opt.step()
            apply_masks()
    return loss.item()


def accuracy():
    with torch.no_grad():
        return (model(X[te]).argmax(1) == y[te]).float().mean().item()


for rnd in range(5):
    model.load_state_dict(initial)
    apply_masks()
    last = train()
    kept = sum(m.sum().item() for m in masks.values()) / sum(m.numel() for m in masks.values())
    print(f"round {rnd}: kept {kept:6.1%} of weights, last loss {last:.4f}, test acc {accuracy():.4f}")
    if rnd < 4:
        for n, p in model.named_parameters():
            if n in masks:
                alive = p.detach().abs()[masks[n].bool()]
                cut = alive.kthvalue(max(1, int(0.4 * alive.numel()))).values
                masks[n] *= (p.detach().abs() > cut).float()
print(f"sparse ticket accuracy: {accuracy():.4f}")
