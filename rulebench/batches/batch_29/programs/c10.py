"""Two-task network (shared trunk): regression of a nonlinear target + classification.
Each optimizer step sees one minibatch of each task."""
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(7)

N = 3000
W = torch.randn(10, 4)
def make(n):
    x = torch.randn(n, 10)
    h = torch.tanh(x @ W / 3)
    r = 2 * h[:, 0] * h[:, 1] + h[:, 2]
    c = (h[:, 3] + h[:, 0] * h[:, 2] > 0).long()
    return x, r, c
xa, ra, ca = make(N)
xt, rt, ct = make(1000)

class MTL(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.reg = nn.Linear(64, 1)
        self.cls = nn.Linear(64, 2)

model = MTL()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
def batch():
    i = torch.randint(0, N, (64,))
    return xa[i], ra[i], ca[i]

def task_losses():
    x, r, _ = batch()
    yield "reg", F.mse_loss(model.reg(model.trunk(x)).squeeze(1), r)
    x, _, c = batch()
    yield "cls", F.cross_entropy(model.cls(model.trunk(x)), c)

for step in range(2500):
    log = {}
    for name, loss in task_losses():
        opt.zero_grad(set_to_none=False)
        loss.backward()
        log[name] = loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 250 == 0:
        print(step, {k: round(v, 3) for k, v in log.items()})

with torch.no_grad():
    h = model.trunk(xt)
    mse = F.mse_loss(model.reg(h).squeeze(1), rt).item()
    acc = (model.cls(h).argmax(1) == ct).float().mean().item()
print(f"test: regression R2 {1 - mse / rt.var().item():.3f}   classification accuracy {acc:.3f}")
