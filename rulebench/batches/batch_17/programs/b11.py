import random
import torch
import torch.nn as nn

# sentiment-like toy task: does the sentence contain more "good" words than "bad" words?
random.seed(0); torch.manual_seed(0)
VOCAB, PAD, CLS, MAXLEN = 60, 0, 1, 24
good, bad = list(range(2, 10)), list(range(10, 18))

def sentence():
    n = random.randint(6, MAXLEN - 4)
    toks = [random.randint(18, VOCAB - 1) for _ in range(n)]
    label = random.randint(0, 1)
    pool, other = (good, bad) if label else (bad, good)
    pos = random.sample(range(n), 4)
    for p in pos[:3]:
        toks[p] = random.choice(pool)
    toks[pos[3]] = random.choice(other)
    return [CLS] + toks + [PAD] * (MAXLEN - n - 1), label

def dataset(n):
    xs, ys = zip(*[sentence() for _ in range(n)])
    return torch.tensor(xs), torch.tensor(ys)

Xtr, ytr = dataset(2500)
Xva, yva = dataset(500)

class Classifier(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(1, MAXLEN, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        mask = x != PAD
        h = self.emb(x) + self.pos
        h = self.enc(h, src_key_padding_mask=mask)
        return self.head(h[:, 0])

model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(12):
    model.train()
    tot = 0
    for idx in torch.randperm(len(Xtr)).split(50):
        loss = ce(model(Xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        tot += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(Xva).argmax(-1) == yva).float().mean()
    print(f"epoch {epoch} loss {tot/len(Xtr):.4f} val acc {acc:.3f}")
