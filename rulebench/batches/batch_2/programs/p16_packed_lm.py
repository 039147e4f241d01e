"""Language model on packed documents (several docs per row, separated by <eod>).

Block-diagonal attention so that a document never looks at its neighbours, and
positions restart at every document.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(30)
rng = np.random.default_rng(30)
V, EOD, ROW, D = 24, 0, 48, 40

# each token has two likely successors
succ = np.stack([rng.permutation(np.arange(1, V)) for _ in range(2)], 1)


def doc():
    n = rng.integers(6, 20)
    t = [int(rng.integers(1, V))]
    while len(t) < n:
        t.append(int(succ[t[-1] - 1, int(rng.random() < 0.2)]))
    return t + [EOD]


def packed_rows(n):
    rows = np.zeros((n, ROW + 1), dtype=np.int64)
    for i in range(n):
        buf = []
        while len(buf) < ROW + 1:
            buf += doc()
        rows[i] = buf[:ROW + 1]
    r = torch.from_numpy(rows)
    return {"input_ids": r[:, :-1], "labels": r[:, 1:].clone()}


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(ROW, D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.ln1, self.ln2, self.lnf = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.ff = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, input_ids, labels=None):
        B, T = input_ids.shape
        seg = torch.cumsum((input_ids == EOD).long(), 1)
        seg = seg - (input_ids == EOD).long()             # <eod> belongs to its own document
        ar = torch.arange(T)
        start = torch.where(F.pad(seg[:, 1:] != seg[:, :-1], (1, 0), value=True), ar, torch.zeros_like(ar))
        pos = ar - start.cummax(1).values
        x = self.tok(input_ids) + self.pos(pos)
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, 2, D // 2).permute(2, 0, 3, 1, 4)
        ok = (seg[:, :, None] == seg[:, None, :]) & (ar[:, None] >= ar[None, :])
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=ok[:, None])
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, D))
        x = x + self.ff(self.ln2(x))
        logits = F.linear(self.lnf(x), self.tok.weight)
        loss = None
        if labels is not None:
            lg, lb = logits[:, :-1], labels[:, 1:]
            lb = lb.masked_fill(input_ids[:, :-1] == EOD, -100)   # first token of a doc cannot be predicted
            loss = F.cross_entropy(lg.reshape(-1, V), lb.reshape(-1), ignore_index=-100)
        return logits, loss


model = LM()
nn.init.normal_(model.tok.weight, std=0.1)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
for step in range(1, 301):
    _, loss = model(**packed_rows(16))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f} ppl {loss.exp().item():.2f}")

b = packed_rows(40)
with torch.no_grad():
    nxt = model(b["input_ids"])[0].argmax(-1)
inner = (b["input_ids"] != EOD) & (b["labels"] != EOD)
print("share of most likely successor predicted:",
      (nxt[inner] == torch.from_numpy(succ)[b["input_ids"][inner] - 1, 0]).float().mean().item())
