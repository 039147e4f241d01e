import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

# Does the first token come back?  (variable length, padded batches)
SEED = 14
torch.manual_seed(SEED)
torch.set_num_threads(1)
PAD = 0
VOCAB = 10   # 1..9


def sample():
    """Label says whether the first token shows up again later on."""
    n = int(torch.randint(5, 12, (1,)))
    s = torch.randint(1, VOCAB, (n,))
    lab = int(torch.rand(1) < 0.5)
    rest = s[1:]
    rest[rest == s[0]] = s[0] % (VOCAB - 1) + 1
    if lab:
        rest[int(torch.randint(0, n - 1, (1,)))] = s[0]
    return s, lab


def make(n):
    return [sample() for _ in range(n)]


def collate(rows):
    xs = pad_sequence([r[0] for r in rows], batch_first=True, padding_value=PAD)
    xs = nn.functional.pad(xs, (0, 12 - xs.shape[1]), value=PAD)
    return xs, torch.tensor([r[1] for r in rows], dtype=torch.float32)


class Clf(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.randn(12, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        mask = x != PAD               # real tokens
        h = self.enc(self.emb(x) + self.pos, src_key_padding_mask=mask)
        m = mask.unsqueeze(-1).float()
        pooled = (h * m).sum(1) / m.sum(1)
        return self.out(pooled).squeeze(-1)


train, test = make(6000), make(1000)
net = Clf()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
lossf = nn.BCEWithLogitsLoss()
xt, yt = collate(test)
for epoch in range(16):
    net.train()
    p = torch.randperm(len(train)).tolist()
    s = 0
    for i in range(0, len(p), 64):
        x, y = collate([train[j] for j in p[i:i + 64]])
        opt.zero_grad()
        loss = lossf(net(x), y)
        loss.backward()
        opt.step()
        s += loss.item()
    net.eval()
    with torch.no_grad():
        acc = ((net(xt) > 0).float() == yt).float().mean().item()
    print(f"[{epoch + 1}/16] loss {s / (len(p) / 64):.4f}  test acc {acc:.4f}")
print("final test accuracy", round(acc, 4))
