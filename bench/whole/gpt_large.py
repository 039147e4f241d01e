"""Trains a larger transformer language model of six layers on synthetic text."""

import argparse
import time

import torch
import torch.nn as nn
from torch.nn import functional as F  # noqa: N812

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60, help="optimizer steps")
args = parser.parse_args()

batch_size = 16
block_size = 64
n_layer, n_head, n_embd = 6, 6, 192
vocab_size = 256
torch.manual_seed(1337)

# synthetic text: each character follows from the last one, most of the time
followers = torch.randint(0, vocab_size, (vocab_size, 4))
data = [0]
for choice in torch.randint(0, 4, (50_000,)).tolist():
    data.append(int(followers[data[-1], choice]))
data = torch.tensor(data)


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(self.ln1(x)).view(b, t, 3, n_head, c // n_head).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        logits = self.lm_head(self.ln_f(self.blocks(x)))
        return logits, F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))


model = GPT()
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

warmup = max(1, min(20, args.steps // 10))
start = time.perf_counter()
for it in range(args.steps):
    if it == warmup:
        start = time.perf_counter()
    xb, yb = get_batch()
    logits, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")

elapsed = time.perf_counter() - start
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")
