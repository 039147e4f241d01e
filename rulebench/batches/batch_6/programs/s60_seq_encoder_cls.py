"""Variable-length event sequences -> class, nn.TransformerEncoder version."""
import torch
from torch import nn

torch.manual_seed(9)
VOCAB, PAD, CLS, MAXLEN = 31, 0, 30, 24


def gen(n):
    seqs, labels = [], []
    for _ in range(n):
        L = int(torch.randint(6, MAXLEN - 3, (1,)))
        s = torch.randint(1, CLS, (L,))
        a = (s < 10).sum()
        b = (s >= 20).sum()
        labels.append(int(a > b))
        row = torch.full((MAXLEN,), PAD)
        row[0] = CLS
        row[1:L + 1] = s
        seqs.append(row)
    return torch.stack(seqs), torch.tensor(labels)


train_x, train_y = gen(1500)
test_x, test_y = gen(500)


class EventClassifier(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.randn(1, MAXLEN, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        mask = (x != PAD)
        h = self.emb(x) + self.pos[:, :x.size(1)]
        h = self.enc(h, src_key_padding_mask=mask)
        return self.head(h[:, 0])


model = EventClassifier()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(10):
    model.train()
    total = 0.0
    for b in torch.randperm(len(train_x)).split(50):
        loss = crit(model(train_x[b]), train_y[b])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean()
    print(f"epoch {epoch}: loss {total / 30:.4f} acc {acc:.4f}")
