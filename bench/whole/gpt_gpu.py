"""Trains a GPT in bf16 on a GPU: GPT-2's size or a billion parameters, on synthetic text."""

import argparse
import time
from collections import Counter

import torch
import torch.nn as nn
from torch.nn import functional as F  # noqa: N812

SIZES = {  # layers, heads, width, batch
    "tiny": (2, 2, 64, 4),
    "120m": (12, 12, 768, 16),
    "1b": (24, 16, 1792, 8),
}
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100, help="optimizer steps")
parser.add_argument("--size", choices=SIZES, default="120m")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--device", default="cuda")
parser.add_argument("--profile", type=int, default=0, help="trace so many steps at the end")
args = parser.parse_args()

n_layer, n_head, n_embd, batch_size = SIZES[args.size]
block_size, vocab_size = (1024, 50304) if args.size != "tiny" else (64, 512)
device = torch.device(args.device)
torch.manual_seed(1337)
torch.set_float32_matmul_precision("high")

# synthetic text: each word follows from the last one, most of the time
followers = torch.randint(0, vocab_size, (vocab_size, 4))
data = [0]
for choice in torch.randint(0, 4, (100_000,)).tolist():
    data.append(int(followers[data[-1], choice]))
data = torch.tensor(data)


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    if device.type == "cuda":
        return [t.pin_memory().to(device, non_blocking=True) for t in (x, y)]
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, n_head, c // n_head).transpose(1, 2)
            for part in self.c_attn(self.ln_1(x)).split(n_embd, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))


def finish():
    if device.type == "cuda":
        torch.cuda.synchronize()


with device:
    model = GPT()
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters")
optimizer = torch.optim.AdamW(
    model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=device.type == "cuda"
)
net = torch.compile(model) if args.compile else model


def train_step():
    xb, yb = get_batch()
    with torch.autocast(device.type, dtype=torch.bfloat16):
        _, loss = net(xb, yb)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


warmup = max(1, min(20, args.steps // 4))
for it in range(args.steps):
    if it == warmup:
        finish()
        start = time.perf_counter()
    loss = train_step()
    if it % 10 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")
finish()
elapsed = time.perf_counter() - start

if args.profile:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as trace:
        for _ in range(args.profile):
            train_step()
        finish()
    wanted = ("cudaLaunchKernel", "cuLaunchKernel", "Memcpy", "Synchronize")
    counts = Counter(e.name for e in trace.events() if any(word in e.name for word in wanted))
    for name, count in sorted(counts.items()):
        print(f"trace: {name} {count / args.profile:.2f} a step")
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")
