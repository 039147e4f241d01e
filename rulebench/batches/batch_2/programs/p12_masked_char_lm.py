"""Masked-token model over 'DNA' with motif structure; tied weights, loss on masked positions only,
cosine annealing with warm restarts."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
V, MASK, T = 5, 4, 32            # A C G T + mask token
motifs = torch.randint(0, 4, (6, 8))


def sample(n):
    k = torch.randint(0, 6, (n, T // 8))
    x = motifs[k].reshape(n, T)
    noise = torch.rand(n, T) < 0.03
    return torch.where(noise, torch.randint(0, 4, (n, T)), x)


class MLM(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.pos = nn.Parameter(0.02 * torch.randn(T, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.bias = nn.Parameter(torch.zeros(V))
        nn.init.normal_(self.emb.weight, std=0.1)

    def forward(self, x):
        return F.linear(self.enc(self.emb(x) + self.pos), self.emb.weight, self.bias)


model = MLM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=60, T_mult=2, eta_min=1e-5)
for step in range(420):
    x = sample(48)
    m = torch.rand_like(x, dtype=torch.float) < 0.15
    tgt = x.masked_fill(~m, -100)
    loss = F.cross_entropy(model(x.masked_fill(m, MASK)).transpose(1, 2), tgt, ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 42 == 0:
        print("step", step, "masked loss", round(loss.item(), 4), "lr", round(opt.param_groups[0]["lr"], 6))
x = sample(200)
m = torch.rand_like(x, dtype=torch.float) < 0.15
with torch.no_grad():
    p = model(x.masked_fill(m, MASK)).argmax(-1)
print("masked accuracy", (p[m] == x[m]).float().mean().item())
