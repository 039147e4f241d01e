"""Tiny decoder-only language model: tied embeddings, label smoothing, warmup + cosine, accumulated micro-batches."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2024)
rng = np.random.default_rng(2024)
VOCAB, CTX, DIM = 40, 32, 48

# second-order Markov source: next token depends on the two before it
table = rng.integers(0, VOCAB, size=(VOCAB, VOCAB, 2))


def sample_stream(n):
    s = [1, 2]
    for _ in range(n):
        s.append(int(table[s[-2] % 6, s[-1] % 6, int(rng.random() < 0.2)]))
    return torch.tensor(s)


train, valid = sample_stream(60000), sample_stream(6000)


class Block(nn.Module):
    def __init__(self, d, heads=4):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, C))
        return x + self.ff(self.n2(x))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.zeros(CTX, DIM))
        self.blocks = nn.ModuleList(Block(DIM) for _ in range(2))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        nn.init.normal_(self.tok.weight, std=0.05)
        self.head.weight = self.tok.weight

    def forward(self, idx):
        x = self.tok(idx) + self.pos[:idx.size(1)]
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


def batch(src, n):
    i = torch.randint(0, len(src) - CTX - 1, (n, 1)) + torch.arange(CTX + 1)
    chunk = src[i]
    return chunk[:, :-1], chunk[:, 1:]


STEPS, WARMUP, PEAK, ACCUM, MICRO = 360, 40, 6e-3, 2, 16
model = LM()
decay = [p for p in model.parameters() if p.dim() >= 2]
rest = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=PEAK, betas=(0.9, 0.98))


def rate(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


sched = torch.optim.lr_scheduler.LambdaLR(opt, rate)
for step in range(1, STEPS + 1):
    model.train()
    opt.zero_grad()
    total = 0.0
    for _ in range(ACCUM):
        x, y = batch(train, MICRO)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), label_smoothing=0.1) / ACCUM
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 40 == 0:
        model.eval()
        with torch.no_grad():
            x, y = batch(valid, 128)
            out = model(x)
            nll = F.cross_entropy(out.flatten(0, 1), y.flatten()).item()
            acc = (out.argmax(-1) == y).float().mean().item()
        print(f"step {step} smoothed train {total:.3f} valid nll {nll:.3f} next-token acc {acc:.3f}")
