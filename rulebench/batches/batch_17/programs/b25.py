import numpy as np
import torch
import torch.nn as nn

# LSTM to forecast the next value, each series has its own frequency and phase
torch.manual_seed(1)
rng = np.random.default_rng(1)
SEQ = 40

def make(n):
    t = np.arange(SEQ + 1)
    f = rng.uniform(0.05, 0.4, (n, 1))
    p = rng.uniform(0, 2 * np.pi, (n, 1))
    s = np.sin(f * t + p) + 0.03 * rng.normal(size=(n, SEQ + 1))
    s = s.astype(np.float32)
    return torch.from_numpy(s[:, :-1, None]), torch.from_numpy(s[:, -1:])

x_train, y_train = make(1600)
x_test, y_test = make(400)

class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, num_layers=1)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])

net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()
for epoch in range(25):
    net.train()
    perm = torch.randperm(len(x_train))
    run = 0
    for k in range(0, len(perm), 64):
        b = perm[k:k + 64]
        opt.zero_grad()
        loss = mse(net(x_train[b]), y_train[b])
        loss.backward()
        opt.step()
        run += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        tl = mse(net(x_test), y_test).item()
    print(f"{epoch} train {run/len(x_train):.4f} test {tl:.4f}")
