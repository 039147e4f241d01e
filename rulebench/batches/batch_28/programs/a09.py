import random
import torch
from torch import nn

SEED = 2
random.seed(SEED)
torch.manual_seed(SEED)

# Basket "sentences" of different lengths, padded on the right. Which of the six products dominates?
PAD, MAXLEN = 0, 24


def sample():
    n = random.randint(4, MAXLEN - 1)
    s = [random.randint(1, 6) for _ in range(n)]
    if random.random() < 0.9:
        k = random.randint(1, 6)
        for j in random.sample(range(n), max(2, n // 2)):
            s[j] = k
    counts = [s.count(v) for v in range(1, 7)]
    return s + [PAD] * (MAXLEN - n), counts.index(max(counts))


def dataset(n):
    rows = [sample() for _ in range(n)]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class BasketEncoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(7, d)
        self.pos = nn.Parameter(torch.randn(1, MAXLEN, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(d, 6)

    def forward(self, tokens):
        pad = tokens != PAD                      # (batch, length) boolean mask for the encoder
        h = self.enc(self.emb(tokens) + self.pos, src_key_padding_mask=pad)
        return self.out(h[:, 0])                 # first position summarises the basket


xtr, ytr = dataset(3000)
xte, yte = dataset(800)
model = BasketEncoder()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
lossf = nn.CrossEntropyLoss()


def test():
    model.eval()
    with torch.no_grad():
        out = torch.cat([model(b) for b in xte.split(200)])
    model.train()
    return lossf(out, yte).item(), (out.argmax(1) == yte).float().mean().item()


for epoch in range(1, 9):
    perm = torch.randperm(len(xtr))
    s = 0.0
    for b in perm.split(50):
        loss = lossf(model(xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item() * len(b)
    vl, va = test()
    print(f"Epoch {epoch}/8 | train {s / len(xtr):.3f} | test {vl:.3f} | acc {va:.3f}")
print("accuracy", round(test()[1], 3))
