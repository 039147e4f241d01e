"""Tiny GPT trained on packed documents; documents are modular progressions a, a+s, a+2s, ... (mod 23)."""
import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 0
MOD, BOS, VOCAB = 23, 23, 24
T, D, HEADS, LAYERS = 48, 64, 4, 2
torch.manual_seed(SEED)
random.seed(SEED)


def document():
    a, s, n = random.randrange(MOD), random.randrange(1, 8), random.randint(7, 14)
    return [BOS] + [(a + i * s) % MOD for i in range(n)]


def pack(batch):
    toks, docs, pos = [], [], []
    for _ in range(batch):
        t, d, p, k = [], [], [], 0
        while len(t) < T + 1:
            doc = document()
            t += doc
            d += [k] * len(doc)
            p += range(len(doc))
            k += 1
        toks.append(t[:T + 1]); docs.append(d[:T + 1]); pos.append(p[:T + 1])
    toks, docs, pos = map(torch.tensor, (toks, docs, pos))
    targets = toks[:, 1:].clone()
    targets[docs[:, 1:] != docs[:, :-1]] = -100      # do not predict across a boundary
    return toks[:, :-1], docs[:, :-1], pos[:, :-1], targets


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, x, mask):
        B, L, _ = x.shape
        q, k, v = self.qkv(x).view(B, L, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(B, L, D))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, D), nn.Embedding(T, D)
        self.ln1 = nn.ModuleList(nn.LayerNorm(D) for _ in range(LAYERS))
        self.ln2 = nn.ModuleList(nn.LayerNorm(D) for _ in range(LAYERS))
        self.att = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D)) for _ in range(LAYERS))
        self.lnf, self.head = nn.LayerNorm(D), nn.Linear(D, VOCAB, bias=False)

    def forward(self, idx, docs, pos):
        mask = docs[:, :, None] == docs[:, None, :]
        mask = mask[:, None]
        x = self.tok(idx) + self.pos(pos)
        for l1, l2, a, m in zip(self.ln1, self.ln2, self.att, self.mlp):
            x = x + a(l1(x), mask)
            x = x + m(l2(x))
        return self.head(self.lnf(x))


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
STEPS = 600
for step in range(STEPS):
    for g in opt.param_groups:
        g["lr"] = 2e-3 * min(1, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * step / STEPS))
    idx, docs, pos, tgt = pack(16)
    loss = F.cross_entropy(model(idx, docs, pos).flatten(0, 1), tgt.flatten(), ignore_index=-100)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == STEPS - 1:
        print(f"step {step} loss {loss.item():.4f}")

model.eval()
good = 0
with torch.no_grad():
    for _ in range(100):
        a, s = random.randrange(MOD), random.randrange(1, 8)
        seq = [BOS, a, (a + s) % MOD]
        for _ in range(4):
            i = torch.tensor([seq])
            seq.append(model(i, torch.zeros_like(i), torch.arange(len(seq))[None])[0, -1].argmax().item())
        good += seq[3:] == [(a + k * s) % MOD for k in range(2, 6)]
print("continuations right:", good, "/ 100")
