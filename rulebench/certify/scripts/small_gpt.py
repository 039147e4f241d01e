"""A small decoder of characters that draws its batches itself, warms up and clips."""

import math

import torch
import torch.nn.functional as F
from torch import nn

block_size, batch_size, vocabulary, width = 16, 8, 20, 32
torch.manual_seed(1337)
data = torch.randint(0, vocabulary, (4000,)).cumsum(0) % vocabulary
train_data, val_data = data[:3600], data[3600:]


def get_batch(split):
    source = train_data if split == "train" else val_data
    places = torch.randint(len(source) - block_size, (batch_size,))
    x = torch.stack([source[i : i + block_size] for i in places])
    y = torch.stack([source[i + 1 : i + 1 + block_size] for i in places])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x):
        b, t, c = x.shape
        heads = self.c_attn(self.ln_1(x)).split(width, dim=2)
        q, k, v = (one.view(b, t, 4, c // 4).transpose(1, 2) for one in heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(block_size, width)
        self.h, self.ln_f = nn.ModuleList([Block(), Block()]), nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits[:, [-1]], None
        return logits, F.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))


@torch.no_grad()
def estimate_loss():
    model.eval()
    losses = {
        s: sum(model(*get_batch(s))[1].item() for _ in range(3)) / 3 for s in ("train", "val")
    }
    model.train()
    return losses


def get_lr(step):
    if step < 5:
        return 1e-2 * (step + 1) / 5
    return 1e-3 + 0.5 * 9e-3 * (1 + math.cos(math.pi * (step - 5) / 55))


model = GPT()
decay = [p for p in model.parameters() if p.dim() > 1]
others = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
x, y = get_batch("train")
for step in range(60):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(step)
    if step % 5 == 0:
        print(step, estimate_loss())
    for _ in range(2):
        logits, loss = model(x, y)
        loss = loss / 2
        x, y = get_batch("train")
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
