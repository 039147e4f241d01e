"""Adding problem with a length curriculum."""
import torch
import torch.nn as nn

torch.manual_seed(210)


def batch(n, T):
    v = torch.rand(n, T)
    m = torch.zeros(n, T)
    for r in range(n):
        i, j = torch.randperm(T)[:2]
        m[r, i] = m[r, j] = 1
    return torch.stack([v, m], 2), (v * m).sum(1)


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.GRU(2, 48, batch_first=True)
        self.o = nn.Linear(48, 1)

    def forward(self, x):
        _, h = self.g(x)
        return self.o(h[-1]).squeeze(1)


model = Adder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
test = batch(300, 30)
step = 0
for T in (5, 10, 20, 30):
    for _ in range(250):
        x, t = batch(64, T)
        loss = (model(x) - t).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        step += 1
    with torch.no_grad():
        mse = (model(test[0]) - test[1]).pow(2).mean().item()
    print(f"length {T} step {step} loss {loss.item():.4f}  test mse at length 30: {mse:.4f} (guess-the-mean 0.167)")
