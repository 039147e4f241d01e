# Character-level transformer on a synthetic "recipe" corpus
import math
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    block_size: int = 32
    n_embd: int = 48
    n_head: int = 4
    n_layer: int = 2
    batch_size: int = 16
    steps: int = 300
    lr: float = 2e-3
    seed: int = 1337


cfg = Config()
random.seed(cfg.seed)
torch.manual_seed(cfg.seed)

verbs = ["chop", "boil", "fry", "mix", "bake", "grate"]
foods = ["onions", "carrots", "eggs", "flour", "cheese", "rice", "beans"]
times = ["two", "five", "ten", "twenty"]
text = ""
for _ in range(4000):
    text += f"{random.choice(verbs)} the {random.choice(foods)} for {random.choice(times)} minutes. "

chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - cfg.block_size - 1, (cfg.batch_size,))
    x = torch.stack([source[i : i + cfg.block_size] for i in ix])
    y = torch.stack([source[i + 1 : i + cfg.block_size + 1] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(cfg.n_embd)
        self.attn = nn.MultiheadAttention(cfg.n_embd, cfg.n_head, batch_first=True)
        self.ln2 = nn.LayerNorm(cfg.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(), nn.Linear(4 * cfg.n_embd, cfg.n_embd)
        )

    def forward(self, x, mask):
        h = self.ln1(x)
        a, _ = self.attn(h, h, h, attn_mask=mask, need_weights=False)
        x = x + a
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, cfg.n_embd)
        self.pos = nn.Embedding(cfg.block_size, cfg.n_embd)
        self.blocks = nn.ModuleList(Block() for _ in range(cfg.n_layer))
        self.ln_f = nn.LayerNorm(cfg.n_embd)
        self.head = nn.Linear(cfg.n_embd, vocab_size)
        tri = torch.tril(torch.ones(cfg.block_size, cfg.block_size, dtype=torch.bool), diagonal=-1)
        self.register_buffer("mask", tri)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x, self.mask[:T, :T])
        return self.head(self.ln_f(x))


model = CharLM(len(chars))
opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)


@torch.no_grad()
def estimate_loss(iters=4):
    model.eval()
    out = []
    for _ in range(iters):
        x, y = get_batch("val")
        out.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(out) / len(out)


@torch.no_grad()
def generate(prompt, n_new):
    model.eval()
    idx = torch.tensor([[stoi[c] for c in prompt]])
    for _ in range(n_new):
        logits = model(idx[:, -cfg.block_size :])[:, -1]
        idx = torch.cat([idx, torch.multinomial(F.softmax(logits, -1), 1)], dim=1)
    return "".join(itos[i] for i in idx[0].tolist())


for step in range(1, cfg.steps + 1):
    x, y = get_batch("train")
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 50 == 0:
        print(f"step {step}: train {loss.item():.4f}  val {estimate_loss():.4f}")

sample = generate("chop the ", 300)
print(sample)
vocab = set(verbs + foods + times + ["the", "for", "minutes."])
words = sample.split(" ")[1:-1]
print(f"share of generated words that exist in the corpus: {sum(w in vocab for w in words) / len(words):.3f}")
