"""
Character LM with sequence packing.

Short documents are packed into rows of 48 characters; attention must not cross document boundaries, so we
build a document mask from the segment ids.  Positions restart at every document.
"""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(9)
torch.manual_seed(9)
names = ["anna", "boris", "carla", "dmitri", "elena", "farid", "greta"]
foods = ["apples", "bread", "cheese", "dates", "eggs"]
chars = ["\n"] + sorted(set("".join(names + foods) + " eats0123456789."))
c2i = {c: i for i, c in enumerate(chars)}
ROW = 48


def doc():
    return f"{random.choice(names)} eats {random.randint(2, 99)} {random.choice(foods)}.\n"


def pack(n_rows):
    X, Y, S, P = [], [], [], []
    for _ in range(n_rows):
        x, y, s, p, k = [], [], [], [], 0
        while len(x) < ROW:
            d = [c2i[c] for c in "\n" + doc()]
            x += d[:-1]; y += d[1:]; s += [k] * (len(d) - 1); p += range(len(d) - 1)
            k += 1
        X.append(x[:ROW]); Y.append(y[:ROW]); S.append(s[:ROW]); P.append(p[:ROW])
    return tuple(torch.tensor(v) for v in (X, Y, S, P))


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, self.h, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, C))
        return x + self.ff(self.n2(x))


class LM(nn.Module):
    def __init__(self, d=48, h=4, n=2):
        super().__init__()
        self.tok = nn.Embedding(len(chars), d)
        self.pos = nn.Embedding(ROW, d)
        self.layers = nn.ModuleList(Layer(d, h) for _ in range(n))
        self.norm = nn.RMSNorm(d)
        self.lm_head = nn.Linear(d, len(chars), bias=False)
        self.lm_head.weight = self.tok.weight
        nn.init.normal_(self.tok.weight, std=0.02)

    def forward(self, x, seg, pos):
        same_doc = seg[:, :, None] == seg[:, None, :]
        mask = same_doc[:, None]
        h = self.tok(x) + self.pos(pos)
        for layer in self.layers:
            h = layer(h, mask)
        return self.lm_head(self.norm(h))


def generate(m, n=40):
    out = [c2i["\n"]]
    for _ in range(n):
        x = torch.tensor([out])
        lg = m(x, torch.zeros_like(x), torch.arange(len(out))[None])[0, -1]
        out.append(torch.multinomial(lg.softmax(-1), 1).item())
        if out[-1] == 0:
            break
    return "".join(chars[i] for i in out).strip()


X, Y, S, P = pack(1500)
model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
for step in range(500):
    b = torch.randint(0, len(X), (16,))
    loss = F.cross_entropy(model(X[b], S[b], P[b]).flatten(0, 1), Y[b].flatten())
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    for _ in range(4):
        print(">", generate(model))
