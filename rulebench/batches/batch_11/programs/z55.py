"""Character model with tied weights, gradient accumulation and a held-out text."""
import math
import random
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    block_size: int = 48
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64
    batch_size: int = 8
    accum: int = 4
    max_steps: int = 260
    lr: float = 3e-3
    warmup: int = 20


def make_text(n, seed):
    rng = random.Random(seed)
    subj, verb, obj = ["the cat", "a dog", "my aunt", "one fox"], ["sees", "likes", "hears", "finds"], ["red tea", "old bread", "blue sky", "fish"]
    out = []
    for _ in range(n):
        s = rng.choice(subj)
        out.append(f"{s} {rng.choice(verb)} {rng.choice(obj)} and {s} {rng.choice(['sleeps', 'runs'])}.")
    return " ".join(out)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.h = c.n_head
        self.ln1, self.ln2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.qkv, self.proj = nn.Linear(c.n_embd, 3 * c.n_embd), nn.Linear(c.n_embd, c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c, vocab):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.blocks, self.lnf = nn.ModuleList(Block(c) for _ in range(c.n_layer)), nn.LayerNorm(c.n_embd)
        self.head = nn.Linear(c.n_embd, vocab, bias=False)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)
        self.head.weight = self.wte.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for b in self.blocks:
            x = b(x)
        logits = self.head(self.lnf(x))
        return logits, None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(data, c):
    i = torch.randint(len(data) - c.block_size - 1, (c.batch_size,))
    return torch.stack([data[j:j + c.block_size] for j in i]), torch.stack([data[j + 1:j + 1 + c.block_size] for j in i])


def lr_at(step, c):
    if step < c.warmup:
        return c.lr * (step + 1) / c.warmup
    return 0.1 * c.lr + 0.45 * c.lr * (1 + math.cos(math.pi * (step - c.warmup) / (c.max_steps - c.warmup)))


def main():
    torch.manual_seed(0)
    c = GPTConfig()
    text, val_text = make_text(2000, 0), make_text(300, 1)
    chars = sorted(set(text + val_text))
    enc = lambda s: torch.tensor([chars.index(ch) for ch in s])
    train, val = enc(text), enc(val_text)
    model = GPT(c, len(chars))
    opt = torch.optim.AdamW(model.parameters(), lr=c.lr, betas=(0.9, 0.95), weight_decay=0.1)
    for step in range(c.max_steps):
        for g in opt.param_groups:
            g["lr"] = lr_at(step, c)
        total = 0.0
        for _ in range(c.accum):
            loss = model(*get_batch(train, c))[1] / c.accum
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        if step % 40 == 39:
            with torch.no_grad():
                v = sum(model(*get_batch(val, c))[1].item() for _ in range(8)) / 8
            print(f"step {step + 1} train {total:.4f} val {v:.4f} lr {opt.param_groups[0]['lr']:.5f}")


if __name__ == "__main__":
    main()
