import numpy as np, torch, torch.nn as nn

# DeepSurv style model, Cox partial likelihood
torch.manual_seed(0)
rng = np.random.default_rng(0)
n = 2400
X = rng.normal(size=(n, 8)).astype(np.float32)
risk_true = X[:, 0] * 1.0 - 0.8 * X[:, 1] + 0.8 * X[:, 2] ** 2 + 0.7 * X[:, 3] * X[:, 4]
T = rng.exponential(1.0 / np.exp(risk_true))
C = rng.exponential(0.7, n)
time = np.minimum(T, C).astype(np.float32)
event = (T <= C).astype(np.float32)
tr, te = slice(0, 1800), slice(1800, n)
X, time, event = map(torch.tensor, (X, time, event))

def cox_loss(risk, time, event):
    order = torch.argsort(time)
    risk, event = risk[order], event[order]
    log_cum = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_cum) * event).sum() / event.sum()

def c_index(risk, time, event):
    d = (time[:, None] < time[None, :]) & (event[:, None] == 1)
    conc = (risk[:, None] > risk[None, :]) & d
    return (conc.sum() / d.sum()).item()

net = nn.Sequential(nn.Linear(8, 32), nn.SELU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.SELU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
Xtr, ttr, etr = X[tr], time[tr], event[tr]
for epoch in range(60):
    net.train()
    losses = []
    for idx in torch.randperm(len(Xtr)).split(300):
        loss = cox_loss(net(Xtr[idx]).squeeze(1), ttr[idx], etr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            c = c_index(net(X[te]).squeeze(1), time[te], event[te])
        print(f"epoch {epoch+1} loss {np.mean(losses):.4f} test c-index {c:.4f}")
