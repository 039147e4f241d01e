"""Tiny decoder-only transformer learning to sort short lists of digits."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

DIGITS, N = 10, 6
EQUALS = DIGITS
VOCAB = DIGITS + 1


def get_batch(n):
    numbers = torch.randint(0, DIGITS, (n, N))
    return torch.cat([numbers, torch.full((n, 1), EQUALS), numbers.sort(dim=1).values], dim=1)


test = get_batch(500)


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.ff(self.n2(x))


class Decoder(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2, max_len=2 * N):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(max_len, dim))
        self.layers = nn.ModuleList([Layer(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.unembed = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, idx):
        h = self.tok(idx) + self.pos[: idx.size(1)]
        for layer in self.layers:
            h = layer(h)
        return self.unembed(self.norm(h))


model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1, betas=(0.9, 0.98))
max_steps = 700


def lr_at(step):
    return min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / max_steps))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_at)


def answer_loss(batch):
    logits = model(batch[:, :-1])[:, N:]
    target = batch[:, N + 1 :]
    return F.cross_entropy(logits.flatten(0, 1), target.flatten()), (logits.argmax(-1) == target).all(1).float().mean()


for step in range(1, max_steps + 1):
    loss, acc = answer_loss(get_batch(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 100 == 0:
        with torch.no_grad():
            test_loss, test_acc = answer_loss(test)
        print(f"step {step:5d} train loss {loss.item():.4f} acc {acc.item():.3f} | test loss {test_loss.item():.4f} acc {test_acc.item():.3f}")
