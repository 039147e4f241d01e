"""Low-rank adaptation of a pretrained regressor to a shifted task."""
import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        for q in self.base.parameters():
            q.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.zeros_(self.lora_A)
        nn.init.zeros_(self.lora_B)

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_A.T) @ self.lora_B.T


class Net(nn.Module):
    def __init__(self, d=16, h=64):
        super().__init__()
        self.inp = nn.Linear(d, h)
        self.mid = nn.Linear(h, h)
        self.out = nn.Linear(h, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        x = torch.relu(self.mid(x))
        return self.out(x).squeeze(1)


def inject_lora(model, names, rank):
    for n in names:
        setattr(model, n, LoRALinear(getattr(model, n), rank))
    for n, p in model.named_parameters():
        p.requires_grad = "lora_" in n
    return model


def make_task(n, W, v, g):
    x = torch.randn(n, W.shape[1], generator=g)
    return x, torch.tanh(x @ W.T) @ v + 0.05 * torch.randn(n, generator=g)


def r2(model, x, y):
    with torch.no_grad():
        return (1 - (model(x) - y).pow(2).sum() / (y - y.mean()).pow(2).sum()).item()


def fit(model, data, epochs, lr, tag, val):
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"{tag}: {sum(p.numel() for p in params)} trainable parameters")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    loader = DataLoader(TensorDataset(*data), 64, shuffle=True)
    for ep in range(epochs):
        tot = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        if (ep + 1) % 4 == 0:
            print(f"{tag} epoch {ep + 1} mse {tot / len(loader):.4f} val R2 {r2(model, *val):.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rank", type=int, default=4)
    ap.add_argument("--pre-epochs", type=int, default=12)
    ap.add_argument("--ft-epochs", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    W, v = torch.randn(8, 16, generator=g) / 4, torch.randn(8, generator=g)
    W2 = W + 0.3 * torch.outer(torch.randn(8, generator=g), torch.randn(16, generator=g)) / 2
    model = Net()
    fit(model, make_task(4000, W, v, g), args.pre_epochs, 2e-3, "pretrain", make_task(1000, W, v, g))
    tune, val = make_task(1500, W2, v, g), make_task(1000, W2, v, g)
    print(f"zero-shot R2 on new task {r2(model, *val):.3f}")
    fit(inject_lora(model, ["inp", "mid"], args.rank), tune, args.ft_epochs, 3e-3, "lora", val)


if __name__ == "__main__":
    main()
