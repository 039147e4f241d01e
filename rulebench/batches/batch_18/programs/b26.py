# LSTM forecasting of a noisy sine mixture, next value from 30 past values
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
t = np.arange(2500)
series = np.sin(2 * np.pi * t / 25) + 0.6 * np.sin(2 * np.pi * t / 9.3) + 0.05 * rng.normal(size=len(t))
series = (series - series[:1800].mean()) / series[:1800].std()

W = 30
X = np.stack([series[i:i + W] for i in range(len(series) - W)])
Y = series[W:]
X = torch.tensor(X, dtype=torch.float32).unsqueeze(-1)   # (samples, window, 1)
Y = torch.tensor(Y, dtype=torch.float32).unsqueeze(-1)
X_train, Y_train, X_test, Y_test = X[:1770], Y[:1770], X[1800:], Y[1800:]


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, num_layers=1)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()
for epoch in range(15):
    model.train()
    perm = torch.randperm(len(X_train))
    losses = []
    for i in range(0, len(perm), 64):
        b = perm[i:i + 64]
        opt.zero_grad()
        loss = loss_fn(model(X_train[b]), Y_train[b])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        shuffled = torch.randperm(len(X_test))
        test = loss_fn(model(X_test[shuffled]), Y_test[shuffled]).item()
    print(f"epoch {epoch + 1}: train {np.mean(losses):.4f} test {test:.4f} (variance of target {Y_test.var().item():.3f})")
