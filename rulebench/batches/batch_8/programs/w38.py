import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv
from torch_geometric.data import Data

# node classification with few labels, features alone are weak
torch.manual_seed(205)
rng = np.random.default_rng(205)
N, C = 600, 3
lab = rng.integers(0, C, N)
x = rng.normal(0, 1, (N, 20)).astype("float32")
x[np.arange(N), lab] += 1.2
src, dst = [], []
for i in range(N):
    same = np.where(lab == lab[i])[0]
    for j in np.concatenate([rng.choice(same, 4), rng.integers(0, N, 1)]):
        src += [i, j]
        dst += [j, i]
data = Data(x=torch.tensor(x), edge_index=torch.tensor(np.array([src, dst])), y=torch.tensor(lab))
perm = torch.randperm(N)
tr, va, te = perm[:60], perm[60:200], perm[200:]


class Sage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = SAGEConv(20, 32), SAGEConv(32, C)

    def forward(self, d):
        h = F.dropout(self.a(d.x, d.edge_index).relu(), 0.5, self.training)
        return self.b(h, d.edge_index)


model = Sage()
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
best, state, wait = 0.0, None, 0
for epoch in range(150):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(data)[tr], data.y[tr])
    loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        ok = model(data).argmax(1) == data.y
    acc = ok[va].float().mean().item()
    if acc > best:
        best, wait = acc, 0
        state = {k: v.clone() for k, v in model.state_dict().items()}
    else:
        wait += 1
    if epoch % 10 == 0:
        print(epoch, f"loss {loss.item():.3f} val {acc:.3f}")
    if wait > 60:
        break
model.load_state_dict(state)
with torch.no_grad():
    print("test", (model(data).argmax(1) == data.y)[te].float().mean().item())
