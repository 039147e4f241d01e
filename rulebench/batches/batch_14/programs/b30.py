# curve fitting with L-BFGS, full batch (Michaelis-Menten with inhibition)
import numpy as np
import torch

rng = np.random.default_rng(5)
s = np.linspace(0.1, 20, 150)
true = dict(vmax=4.0, km=1.5, ki=9.0)
v = true["vmax"] * s / (true["km"] + s * (1 + s / true["ki"])) + rng.normal(0, 0.02, 150)
s, v = torch.tensor(s), torch.tensor(v)

log_p = torch.tensor([0.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
opt = torch.optim.LBFGS([log_p], lr=1.0, max_iter=5, max_eval=20, history_size=10, line_search_fn="strong_wolfe")


def model(lp):
    vmax, km, ki = lp.exp()
    return vmax * s / (km + s * (1 + s / ki))


def closure():
    opt.zero_grad()
    loss = ((model(log_p) - v) ** 2).sum()
    loss.backward()
    return loss


for it in range(150):
    loss = opt.step(closure)
    if it % 15 == 0:
        print(it, float(loss))

print("fitted vmax, km, ki:", log_p.detach().exp().numpy().round(3), "true:", list(true.values()))
