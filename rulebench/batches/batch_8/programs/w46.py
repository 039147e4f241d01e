import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# adding problem: sum the two marked numbers of a sequence
torch.manual_seed(1)


def make(n, T=20):
    v = torch.rand(n, T)
    m = torch.zeros(n, T)
    for i in range(n):
        m[i, torch.randperm(T)[:2]] = 1
    return torch.stack([v, m], -1), (v * m).sum(1, keepdim=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        o, _ = self.rnn(x)
        return self.out(o[:, -1])


xtr, ytr = make(3000)
xte, yte = make(500)
loader = DataLoader(TensorDataset(xtr, ytr), batch_size=32, shuffle=True)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
mse = nn.MSELoss()
for epoch in range(15):
    net.train()
    running = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = mse(net(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        opt.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        test = mse(net(xte), yte).item()
    print(f"epoch {epoch:2d} train {running / len(loader):.4f} test {test:.4f}")
print("variance of the target", yte.var().item())
