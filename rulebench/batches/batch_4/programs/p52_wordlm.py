"""Word-level language model, everything in bfloat16 to save memory."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 404
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
DTYPE = torch.bfloat16
V, T, B, STEPS, LR = 60, 32, 24, 700, 1e-4

# synthetic corpus: every word has four likely followers
followers = rng.integers(0, V, (V, 4))
def corpus(n):
    w = np.zeros(n, dtype=np.int64)
    for i in range(2, n):
        r = rng.random()
        if r < 0.9:
            w[i] = followers[w[i - 1], int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))]
        else:
            w[i] = rng.integers(V)
    return torch.from_numpy(w)

train, valid = corpus(40000), corpus(5000)


class LM(nn.Module):
    def __init__(self, d=96, h=192):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.GRU(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(h, h), nn.GELU(), nn.LayerNorm(h))
        self.out = nn.Linear(h, V)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h + self.mlp(h))


def batch(src):
    ix = torch.randint(0, len(src) - T - 1, (B,))
    return torch.stack([src[i:i + T] for i in ix]), torch.stack([src[i + 1:i + T + 1] for i in ix])


@torch.no_grad()
def evaluate(model):
    model.eval()
    n = (len(valid) - 1) // T
    x, y = valid[:n * T].view(n, T), valid[1:n * T + 1].view(n, T)
    loss = F.cross_entropy(model(x).float().reshape(-1, V), y.reshape(-1)).item()
    model.train()
    return loss


model = LM().to(DTYPE)
opt = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min((s + 1) / 50, 0.1 + 0.45 * (1 + math.cos(math.pi * s / STEPS))))
for step in range(1, STEPS + 1):
    x, y = batch(train)
    loss = F.cross_entropy(model(x).float().reshape(-1, V), y.reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 100 == 0:
        v = evaluate(model)
        print(f"step {step} train {loss.item():.3f} valid {v:.3f} ppl {math.exp(v):.1f} gnorm {gn.item():.3f}")
