# %% probabilistic forecast of a noisy daily temperature curve
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)

# %% data: hourly values, noise is larger in the afternoon
hours = np.arange(24 * 120)
sigma = 0.05 + 0.10 * (np.sin(2 * np.pi * (hours - 9) / 24) > 0)
series = np.sin(2 * np.pi * hours / 24) + 0.3 * np.sin(2 * np.pi * hours / (24 * 7))
series = series + sigma * rng.standard_normal(len(hours))

n_lags = 24
split = 24 * 95
mean, std = series[:split].mean(), series[:split].std()
z = ((series - mean) / std).astype("float32")
clock = np.stack([np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 24)], 1).astype("float32")

X = np.stack([np.concatenate([z[t - n_lags:t], clock[t]]) for t in range(n_lags, len(z))])
y = z[n_lags:]
X, y = torch.from_numpy(X), torch.from_numpy(y)
X_train, y_train = X[:split - n_lags], y[:split - n_lags]
X_test, y_test = X[split - n_lags:], y[split - n_lags:]


# %% model
class GaussianMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_lags + 2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.mu = nn.Linear(64, 1)
        self.log_var = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h).squeeze(-1), self.log_var(h).squeeze(-1).clamp(-8, 4)


model = GaussianMLP()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
nll = nn.GaussianNLLLoss()

# %% training
for epoch in range(20):
    model.train()
    order = torch.randperm(len(X_train))
    losses = []
    for idx in order.split(64):
        mu, log_var = model(X_train[idx])
        loss = nll(mu, y_train[idx], log_var.exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        mu, log_var = model(X_test)
        test_nll = nll(mu, y_test, log_var.exp()).item()
        rmse = ((mu - y_test) ** 2).mean().sqrt().item()
    print(f"epoch {epoch:2d} train nll {np.mean(losses):+.3f} test nll {test_nll:+.3f} rmse {rmse:.3f}")

# %% calibration
with torch.no_grad():
    sd = (0.5 * log_var).exp()
    inside = ((y_test - mu).abs() < 1.645 * sd).float().mean().item()
print(f"90% interval covers {100 * inside:.1f}% of the test hours")
print("naive persistence rmse", ((X_test[:, n_lags - 1] - y_test) ** 2).mean().sqrt().item())
