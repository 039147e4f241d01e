import argparse
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--seed", type=int, default=1111)
args = parser.parse_args()
torch.manual_seed(args.seed)

# signal: sum of two sines with drifting amplitude
N, L = 3000, 30
t = torch.arange(N, dtype=torch.float32)
series = (1 + 0.3 * torch.sin(t / 200)) * torch.sin(t * 0.35) + 0.5 * torch.sin(t * 0.113) + 0.1 * torch.randn(N)
n_train = 2200
series = (series - series[:n_train].mean()) / series[:n_train].std()


def make(s):
    w = s.unfold(0, L + 1, 1)
    return TensorDataset(w[:, :L].unsqueeze(-1), w[:, L:])


train_loader = DataLoader(make(series[:n_train]), batch_size=64, shuffle=True)
test_loader = DataLoader(make(series[n_train:]), batch_size=256)


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.fc(h[:, -1])


model = Forecaster(args.hidden)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
loss_fn = nn.MSELoss()


def evaluate():
    model.eval()
    se, naive, n = 0.0, 0.0, 0
    with torch.no_grad():
        for x, y in test_loader:
            se += ((model(x) - y) ** 2).sum().item()
            naive += ((x[:, -1] - y) ** 2).sum().item()
            n += len(y)
    return se / n, naive / n


for epoch in range(args.epochs):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    if epoch % 3 == 0 or epoch == args.epochs - 1:
        print(f"epoch {epoch} train {total / len(train_loader.dataset):.4f} test {evaluate()[0]:.4f}")
mse, naive = evaluate()
print(f"test MSE {mse:.4f} vs. last-value {naive:.4f}")
