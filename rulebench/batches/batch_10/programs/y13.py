import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
rng = np.random.default_rng(6)
V, CTX, D = 24, 32, 48
# second order markov text
P = rng.dirichlet(np.ones(V) * 0.05, size=(V, V))


def sample_text(n):
    a, b = 0, 1
    out = []
    for _ in range(n):
        c = rng.choice(V, p=P[a, b])
        out.append(c)
        a, b = b, c
    return np.array(out)


tokens = torch.tensor(sample_text(30000))
train, val = tokens[:27000], tokens[27000:]


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(CTX, D)
        self.blocks = nn.Sequential(Block(D, 4), Block(D, 4))
        self.ln, self.head = nn.LayerNorm(D), nn.Linear(D, V)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        return self.head(self.ln(self.blocks(x)))


def batch(src, n=32):
    i = torch.randint(0, len(src) - CTX - 1, (n,))
    return torch.stack([src[j:j + CTX] for j in i]), torch.stack([src[j + 1:j + CTX + 1] for j in i])


model = TinyGPT()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(700):
    xb, yb = batch(train)
    loss = F.cross_entropy(model(xb).flatten(0, 1), yb.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % 70 == 0 or it == 699:
        with torch.no_grad():
            xv, yv = batch(val, 64)
            vl = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten())
        print(f"iter {it} train {loss.item():.3f} val {vl.item():.3f}")

# how plausible is generated text under the true source?
seq = val[:2].tolist()
with torch.no_grad():
    for _ in range(300):
        lg = model(torch.tensor([seq[-CTX:]]))[0, -1]
        seq.append(torch.multinomial(lg.softmax(-1), 1).item())
nll = [-np.log(P[a, b, c] + 1e-6) for a, b, c in zip(seq, seq[1:], seq[2:])]
print("true nll of generated text:", np.mean(nll))
