import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# learn an embedding of speakers from (anchor, same speaker, other speaker)
torch.manual_seed(7)
rng = np.random.default_rng(7)
n_spk = 30
voice = rng.normal(0, 1, (n_spk, 6))
mix = rng.normal(0, 1, (6, 40))


def utter(spk):
    v = voice[spk]
    return torch.tensor(np.tanh(v @ mix * 0.5) + rng.normal(0, 0.7, (len(spk), 40)), dtype=torch.float32)


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def triplet_loss(anchor, negative, positive, margin=0.3):
    d_pos = (anchor - positive).pow(2).sum(1)
    d_neg = (anchor - negative).pow(2).sum(1)
    return F.relu(d_pos - d_neg + margin).mean()


def retrieval(model):
    spk = np.repeat(np.arange(n_spk), 8)
    with torch.no_grad():
        e = model(utter(spk))
    sim = e @ e.T
    sim.fill_diagonal_(-9)
    return (spk[sim.argmax(1).numpy()] == spk).mean()


model = Embed()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
print("retrieval at the start", retrieval(model))
for step in range(1500):
    a = rng.integers(0, n_spk, 64)
    b = (a + rng.integers(1, n_spk, 64)) % n_spk
    anchor, pos, neg = model(utter(a)), model(utter(a)), model(utter(b))
    loss = triplet_loss(anchor, pos, neg)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 150 == 149:
        print(step + 1, f"loss {loss.item():.4f} retrieval {retrieval(model):.3f}")
