"""Tiny GPT trained on packed documents (nanoGPT style, document mask, tied head)."""
import math, random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 1337
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)

# ---------------------------------------------------------------- data
names = ["anna", "ben", "carla", "dmitri", "eve"]
things = ["apples", "books", "coins", "dogs"]

def make_doc():
    n, t = random.choice(names), random.choice(things)
    a, b = random.randint(1, 4), random.randint(1, 4)
    return f"{n} has {a} {t} and gets {b} more. now {n} has {a + b} {t}."

docs = [make_doc() for _ in range(3000)]
chars = sorted(set("".join(docs)))
stoi = {c: i + 1 for i, c in enumerate(chars)}      # 0 is <eos>
EOS, V = 0, len(chars) + 1

def pack(docs):
    toks, ids = [], []
    for k, d in enumerate(docs):
        e = [stoi[c] for c in d] + [EOS]
        toks += e
        ids += [k] * len(e)
    return np.array(toks), np.array(ids)

train_t, train_d = pack(docs[:2700])
val_t, val_d = pack(docs[2700:])
T, B, ACCUM, STEPS = 96, 8, 2, 250

def get_batch(split):
    t, d = (train_t, train_d) if split == "train" else (val_t, val_d)
    ix = np.random.randint(0, len(t) - T - 1, B)
    x = torch.tensor(np.stack([t[i:i + T] for i in ix]))
    y = torch.tensor(np.stack([t[i + 1:i + T + 1] for i in ix]))
    dx = torch.tensor(np.stack([d[i:i + T] for i in ix]))
    y[x == EOS] = -1                                 # nothing to predict across documents
    return x, y, dx

# ---------------------------------------------------------------- model
class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))

class GPT(nn.Module):
    def __init__(self, d=64, layers=2, heads=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, d), nn.Embedding(T, d)
        self.blocks = nn.ModuleList([Block(d, heads) for _ in range(layers)])
        self.lnf = nn.LayerNorm(d)
        self.head = nn.Linear(d, V, bias=False)
        self.apply(self._init)
        self.head.weight = self.wte.weight

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, 0, 0.02)
            if getattr(m, "bias", None) is not None:
                nn.init.zeros_(m.bias)

    def forward(self, x, doc, y=None):
        t = x.size(1)
        causal = torch.ones(t, t, dtype=torch.bool).tril()
        mask = (causal & (doc[:, :, None] == doc[:, None, :])).unsqueeze(1)
        h = self.wte(x) + self.wpe(torch.arange(t))
        for blk in self.blocks:
            h = blk(h, mask)
        logits = self.head(self.lnf(h))
        loss = None if y is None else F.cross_entropy(logits.view(-1, V), y.view(-1), ignore_index=-1)
        return logits, loss

model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
rest = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                        lr=3e-3, betas=(0.9, 0.95))

def get_lr(it, warm=20, hi=3e-3, lo=3e-4):
    if it < warm:
        return hi * (it + 1) / warm
    return lo + 0.5 * (hi - lo) * (1 + math.cos(math.pi * (it - warm) / (STEPS - warm)))

for it in range(STEPS):
    for g in opt.param_groups:
        g["lr"] = get_lr(it)
    tot = 0.0
    for _ in range(ACCUM):
        _, loss = model(*(lambda x, y, d: (x, d, y))(*get_batch("train")))
        (loss / ACCUM).backward()
        tot += loss.item() / ACCUM
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    if it % 50 == 0 or it == STEPS - 1:
        model.eval()
        with torch.no_grad():
            vl = np.mean([model(x, d, y)[1].item() for x, y, d in [get_batch("val") for _ in range(8)]])
        model.train()
        print(f"iter {it}: train {tot:.4f} val {vl:.4f} grad norm {norm:.2f} lr {get_lr(it):.2e}")
