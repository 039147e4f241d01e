"""DeepSurv-like Cox model, full batch (the risk sets need all subjects)."""
import numpy as np
import torch
import torch.nn as nn


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 6))
    risk = 1.5 * x[:, 0] - 1.0 * x[:, 1] + 1.2 * x[:, 2] ** 2
    t = rng.exponential(1 / (0.1 * np.exp(risk)))
    c = rng.exponential(12, n)
    time = np.minimum(t, c)
    event = (t <= c).astype(np.float32)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(time, dtype=torch.float32), torch.tensor(event)


def cox_loss(risk, time, event):
    order = torch.argsort(time, descending=True)
    r, e = risk[order], event[order]
    log_risk_set = torch.logcumsumexp(r, dim=0)
    return -((r - log_risk_set) * e).sum() / e.sum()


def concordance(risk, time, event):
    ti, tj = time.unsqueeze(1), time.unsqueeze(0)
    comparable = (ti < tj) & event.bool().unsqueeze(1)
    diff = risk.unsqueeze(1) - risk.unsqueeze(0)
    good = (diff > 0).float() + 0.5 * (diff == 0).float()
    return (good * comparable).sum().item() / comparable.sum().item()


class RiskNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.SELU(), nn.Dropout(0.1),
                                 nn.Linear(32, 32), nn.SELU(), nn.Linear(32, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    torch.manual_seed(0)
    x, t, e = simulate(1200, 0)
    xv, tv, ev = simulate(500, 1)
    print("events in train: %.2f" % e.mean().item())
    model = RiskNet(6)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    best, best_state, wait = 0.0, None, 0
    for epoch in range(300):
        model.train()
        opt.zero_grad()
        loss = cox_loss(model(x), t, e)
        loss.backward()
        opt.step()
        if (epoch + 1) % 10 == 0:
            model.eval()
            with torch.no_grad():
                c = concordance(model(xv), tv, ev)
                vl = cox_loss(model(xv), tv, ev).item()
            print(f"epoch {epoch + 1} loss {loss.item():.4f} val {vl:.4f} c-index {c:.4f}")
            if c > best:
                best, wait = c, 0
                best_state = {k: v.clone() for k, v in model.state_dict().items()}
            else:
                wait += 1
                if wait == 10:
                    break
    model.load_state_dict(best_state)
    xt, tt, et = simulate(800, 2)
    model.eval()
    with torch.no_grad():
        print("test c-index", round(concordance(model(xt), tt, et), 4))


if __name__ == "__main__":
    main()
