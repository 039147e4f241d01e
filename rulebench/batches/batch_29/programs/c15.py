"""Reptile (first-order meta-learning) on sine waves. Outer update moves the weights toward the adapted ones by hand."""
import math, torch, copy
from torch import nn
SEED = 10
torch.manual_seed(SEED)
def task():
    A, ph = 0.5 + 2 * torch.rand(1), math.pi * torch.rand(1)
    return lambda x: A * torch.sin(x + ph)
net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

def adapt(model, f, x, k, lr=0.02):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(k):
        loss = ((model(x) - f(x)) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    return loss.item()

def few_shot(model, n=60):
    g = torch.random.get_rng_state(); torch.manual_seed(999)
    errs = []
    grid = torch.linspace(-4, 4, 100).unsqueeze(1)
    for _ in range(n):
        f = task(); m = copy.deepcopy(model)
        adapt(m, f, torch.rand(10, 1) * 8 - 4, 16)
        with torch.no_grad(): errs.append(((m(grid) - f(grid)) ** 2).mean().item())
    torch.random.set_rng_state(g)
    return sum(errs) / n

print("few-shot mse of the random start %.3f" % few_shot(net))
ITERS = 1500
for it in range(ITERS):
    f = task()
    before = copy.deepcopy(net.state_dict())
    l = adapt(net, f, torch.rand(20, 1) * 8 - 4, 6)
    eps = 0.5 * (1 - it / ITERS)
    after = net.state_dict()
    net.load_state_dict({k: before[k] + eps * (after[k] - before[k]) for k in before})
    if it % 150 == 0: print(it, "inner loss after adaptation %.3f" % l)
print("few-shot mse after meta-training %.3f" % few_shot(net))
