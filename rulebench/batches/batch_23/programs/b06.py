"""Minimal GPT for arithmetic-like token strings, adapted from my nanoGPT notes."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
torch.set_num_threads(1)


@dataclass
class GPTConfig:
    block_size: int = 48
    vocab_size: int = 30
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64
    dropout: float = 0.0


WORDS = ["the", "cat", "dog", "runs", "sleeps", "under", "a", "tree", "near", "river", "bird", "sings", "old", "red"]


def make_text(n_sentences, gen):
    nouns, verbs, adj = ["cat", "dog", "bird"], ["runs", "sleeps", "sings"], ["old", "red"]
    places = ["under a tree", "near the river"]
    out = []
    for _ in range(n_sentences):
        r = torch.randint(0, 1000, (4,), generator=gen).tolist()
        s = f"the {adj[r[0] % 2]} {nouns[r[1] % 3]} {verbs[r[2] % 3]} {places[r[3] % 2]}."
        out.append(s)
    return " ".join(out)


gen = torch.Generator().manual_seed(0)
text = make_text(1500, gen)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
ids = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(ids))
train_ids, val_ids = ids[:n], ids[n:]


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg.n_head
        self.qkv = nn.Linear(cfg.n_embd, 3 * cfg.n_embd)
        self.proj = nn.Linear(cfg.n_embd, cfg.n_embd)
        mask = torch.triu(torch.ones(cfg.block_size, cfg.block_size, dtype=torch.bool), diagonal=1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:T, :T])
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(cfg.n_embd), nn.LayerNorm(cfg.n_embd)
        self.attn = Attention(cfg)
        self.mlp = nn.Sequential(nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(), nn.Linear(4 * cfg.n_embd, cfg.n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.wte = nn.Embedding(cfg.vocab_size, cfg.n_embd)
        self.wpe = nn.Embedding(cfg.block_size, cfg.n_embd)
        self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.n_layer)])
        self.ln_f = nn.LayerNorm(cfg.n_embd)
        self.head = nn.Linear(cfg.n_embd, cfg.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for b in self.blocks:
            x = b(x)
        logits = self.head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -self.cfg.block_size:])
            nxt = torch.multinomial(F.softmax(logits[:, -1], -1), 1)
            idx = torch.cat([idx, nxt], 1)
        return idx


def get_batch(split, cfg, bs=24):
    d = train_ids if split == "train" else val_ids
    ix = torch.randint(len(d) - cfg.block_size - 1, (bs,))
    x = torch.stack([d[i:i + cfg.block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + cfg.block_size] for i in ix])
    return x, y


cfg = GPTConfig(vocab_size=len(chars))
model = GPT(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
steps = 260
for it in range(steps + 1):
    for g in opt.param_groups:
        g["lr"] = 2e-3 * min(1, (it + 1) / 50) * 0.5 * (1 + math.cos(math.pi * it / (steps + 1)))
    xb, yb = get_batch("train", cfg)
    _, loss = model(xb, yb)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % 52 == 0:
        with torch.no_grad():
            val = torch.stack([model(*get_batch("val", cfg))[1] for _ in range(3)]).mean()
        print(f"iter {it}: train {loss.item():.3f} val {val.item():.3f}")

sample = "".join(itos[i] for i in model.generate(torch.tensor([[stoi["t"]]]), 150)[0].tolist())
known = sum(w.strip(".") in WORDS for w in sample.split()) / len(sample.split())
print("sample:", sample)
print(f"share of real words in sample: {known:.2f}")
