import math
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    vocab_size: int = 24
    block_size: int = 24
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64
    micro_batch: int = 16
    accum: int = 2
    steps: int = 250
    lr: float = 3e-3


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg.n_head
        self.ln1 = nn.LayerNorm(cfg.n_embd)
        self.ln2 = nn.LayerNorm(cfg.n_embd)
        self.qkv = nn.Linear(cfg.n_embd, 3 * cfg.n_embd)
        self.proj = nn.Linear(cfg.n_embd, cfg.n_embd)
        self.mlp = nn.Sequential(nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(),
                                 nn.Linear(4 * cfg.n_embd, cfg.n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab_size, cfg.n_embd)
        self.pos = nn.Embedding(cfg.block_size, cfg.n_embd)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.n_layer))
        self.ln = nn.LayerNorm(cfg.n_embd)
        self.head = nn.Linear(cfg.n_embd, cfg.vocab_size, bias=False)
        self.apply(self._init)
        self.head.weight = self.tok.weight

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for b in self.blocks:
            x = b(x)
        return self.head(self.ln(x))


def batch(cfg, n):
    # arithmetic progressions modulo the vocabulary size, each with its own stride
    start = torch.randint(cfg.vocab_size, (n, 1))
    stride = torch.randint(1, 8, (n, 1))
    seq = (start + stride * torch.arange(cfg.block_size + 1)) % cfg.vocab_size
    return seq[:, :-1], seq[:, 1:]


def lr_at(step, cfg, warmup=20):
    if step < warmup:
        return cfg.lr * (step + 1) / warmup
    frac = (step - warmup) / (cfg.steps - warmup)
    return 0.1 * cfg.lr + 0.45 * cfg.lr * (1 + math.cos(math.pi * frac))


torch.manual_seed(1337)
cfg = GPTConfig()
model = GPT(cfg)
decay = [p for p in model.parameters() if p.dim() >= 2]
rest = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                        lr=cfg.lr, betas=(0.9, 0.95))
for step in range(cfg.steps):
    for group in opt.param_groups:
        group["lr"] = lr_at(step, cfg)
    total = 0.0
    for _ in range(cfg.accum):
        x, y = batch(cfg, cfg.micro_batch)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, cfg.vocab_size), y.reshape(-1)) / cfg.accum
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    if step % 25 == 0:
        print(f"step {step} loss {total:.4f} lr {lr_at(step, cfg):.2e}")

model.eval()
with torch.no_grad():
    x, y = batch(cfg, 200)
    hit = (model(x).argmax(-1) == y).float()
print("accuracy from the third token on:", round(hit[:, 2:].mean().item(), 4))
