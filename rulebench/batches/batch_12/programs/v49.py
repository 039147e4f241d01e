import numpy as np
import torch
import torch.nn as nn

# which of two tones comes first? (bs, time, features)
torch.manual_seed(3)
rng = np.random.default_rng(3)
N, T = 1600, 30
X = rng.normal(0, 0.3, (N, T, 2)).astype("float32")
Y = rng.integers(0, 2, N)
for n in range(N):
    a = rng.integers(0, 12)
    b = rng.integers(14, 26)
    first, second = (0, 1) if Y[n] == 0 else (1, 0)
    X[n, a:a + 4, first] += 1.0
    X[n, b:b + 4, second] += 1.0
X, Y = torch.tensor(X), torch.tensor(Y)


class ToneNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(input_size=2, hidden_size=hidden)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.fc(out[:, -1, :])


model = ToneNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(20):
    perm = torch.randperm(1280)
    s = 0
    for i in range(0, 1280, 64):
        b = perm[i:i + 64]
        loss = loss_fn(model(X[b]), Y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item()
    with torch.no_grad():
        acc = (model(X[1280:]).argmax(1) == Y[1280:]).float().mean()
    print(f"{epoch}: loss {s / 20:.4f} acc {acc:.3f}")
