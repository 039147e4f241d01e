"""minimal transformer encoder: which of the two marked symbols came first?"""
import math
import torch
from torch import nn

torch.manual_seed(42)
torch.set_num_threads(1)
VOCAB, T = 12, 16


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        z = self.ln1(x)
        x = x + self.attn(z, z, z, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class TinyEncoder(nn.Module):
    def __init__(self, d=32, h=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos_table = nn.Parameter(torch.zeros(1, T, d))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d))
        self.blocks = nn.ModuleList(Block(d, h) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, 2)

    def forward(self, ids):
        x = self.tok(ids) + self.pos_table
        x = torch.cat([self.cls_token.expand(len(ids), -1, -1), x], 1)
        for b in self.blocks:
            x = b(x)
        return self.out(self.norm(x[:, 0]))


def param_groups(model, wd):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if name.endswith("bias") or "ln" in name or "norm" in name:
            no_decay.append(p)
        elif name.endswith("weight"):
            decay.append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}]


def batch(n):
    ids = torch.randint(2, VOCAB, (n, T))
    pos = torch.stack([torch.randperm(T)[:2] for _ in range(n)])
    r = torch.arange(n)
    ids[r, pos[:, 0]] = 0
    ids[r, pos[:, 1]] = 1
    return ids, (pos[:, 0] < pos[:, 1]).long()


model = TinyEncoder()
opt = torch.optim.AdamW(param_groups(model, 0.01), lr=2e-3, betas=(0.9, 0.98))
STEPS = 900
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min(1, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * s / STEPS)))
for s in range(STEPS):
    xb, yb = batch(64)
    loss = nn.functional.cross_entropy(model(xb), yb)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if s % 100 == 0:
        print(f"{s:5d} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.2e}")

model.eval()
with torch.no_grad():
    xb, yb = batch(2000)
    print("accuracy on fresh sequences:", (model(xb).argmax(1) == yb).float().mean().item())
