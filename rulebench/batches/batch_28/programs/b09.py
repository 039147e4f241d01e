"""Text-like classification with a small transformer encoder, low-memory version.

Ported from our fp32 script; weights and activations are in bfloat16 to halve the memory.
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
DTYPE = torch.bfloat16
V, T, C, N = 60, 16, 4, 3000
LR, EPOCHS, BS = 1.5e-4, 8, 32

# every class has a set of preferred tokens
pref = torch.rand(C, V).pow(4)
y = torch.randint(0, C, (N,))
x = torch.multinomial(pref[y] + 0.25, T, replacement=True)
x_tr, y_tr, x_te, y_te = x[:2400], y[:2400], x[2400:], y[2400:]


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        z = self.ln1(x)
        x = x + self.att(z, z, z, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class Classifier(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.pos = nn.Parameter(torch.randn(T, d) * 0.02)
        self.blocks = nn.Sequential(Block(d, 4))
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, C)

    def forward(self, x):
        return self.head(self.ln(self.blocks(self.emb(x) + self.pos)).mean(1))


model = Classifier().to(DTYPE)
steps = EPOCHS * (len(x_tr) // BS)
opt = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * s / steps)))


@torch.no_grad()
def evaluate():
    model.eval()
    out = model(x_te).float()
    model.train()
    return F.cross_entropy(out, y_te).item(), (out.argmax(1) == y_te).float().mean().item()


for ep in range(EPOCHS):
    perm, run = torch.randperm(len(x_tr)), 0.0
    for i in range(len(x_tr) // BS):
        b = perm[i * BS:(i + 1) * BS]
        loss = F.cross_entropy(model(x_tr[b]).float(), y_tr[b])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        run += loss.item()
    vl, va = evaluate()
    print(f"epoch {ep+1:2d} train {run/(len(x_tr)//BS):.4f} val {vl:.4f} acc {va:.4f}")
print("held-out accuracy: %.4f, loss %.4f" % (evaluate()[1], evaluate()[0]))
