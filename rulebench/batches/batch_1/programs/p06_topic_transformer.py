"""
Sentence classification with nn.TransformerEncoder and a learned [CLS] token.

The toy language: sequences of variable length over 20 tokens; the label says which
of three 'topic' tokens occurs most often.
"""
import math, random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
PAD, CLS, TOPICS = 0, 1, (2, 3, 4)
VOCAB, MAXLEN = 24, 20


def sample():
    n = random.randint(8, 18)
    y = random.randrange(3)
    toks = [random.randint(5, VOCAB - 1) for _ in range(n)]
    k = random.randint(2, 4)
    pos = random.sample(range(n), k + 1)
    for p in pos[:k]:
        toks[p] = TOPICS[y]
    toks[pos[k]] = TOPICS[(y + 1) % 3]
    return [CLS] + toks, y


def make(n):
    xs = torch.full((n, MAXLEN), PAD)
    ys = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        s, ys[i] = sample()
        xs[i, : len(s)] = torch.tensor(s)
    return xs, ys


class Encoder(nn.Module):
    def __init__(self, d=32, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(1, MAXLEN, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, heads, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d, 3)

    def forward(self, x):
        mask = x != PAD
        h = self.tok(x) * math.sqrt(self.tok.embedding_dim) + self.pos
        h = self.enc(h, src_key_padding_mask=mask)
        return self.head(h[:, 0])


x_train, y_train = make(4000)
x_val, y_val = make(800)
model = Encoder()
opt = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))

step = 0
for epoch in range(6):
    model.train()
    for idx in torch.randperm(len(x_train)).split(64):
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 40 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")
        step += 1
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(-1) == y_val).float().mean()
    print(f"== epoch {epoch} val acc {acc:.3f}")
