"""Sentiment-like toy task: decide whether a variable-length token sequence
contains more "good" than "bad" words. Small transformer encoder."""
import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(3)
random.seed(3)
PAD, VOCAB = 0, 60
GOOD, BAD = set(range(1, 9)), set(range(9, 17))


def make_example():
    n = random.randint(4, 40)
    toks = [random.randint(1, VOCAB - 1) for _ in range(n)]
    toks[random.randrange(n)] = random.choice(list(GOOD | BAD))
    score = sum(t in GOOD for t in toks) - sum(t in BAD for t in toks)
    return (toks, int(score > 0)) if score != 0 else make_example()


train = [make_example() for _ in range(6000)]
test = [make_example() for _ in range(1500)]


def collate(batch):
    xs = pad_sequence([torch.tensor(t) for t, _ in batch], batch_first=True, padding_value=PAD)
    ys = torch.tensor([y for _, y in batch])
    mask = xs != PAD
    return xs, mask, ys


class Encoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.pos = nn.Embedding(64, d)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(d, 2)

    def forward(self, x, mask):
        h = self.tok(x) + self.pos(torch.arange(x.size(1)))
        # 0/1 float mask -> additive mask for the attention scores
        bias = mask.float().masked_fill(mask, -1e4)
        h = self.enc(h, src_key_padding_mask=bias)
        return self.head(h[:, 0])


model = Encoder()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
crit = nn.CrossEntropyLoss()
train_dl = DataLoader(train, 64, shuffle=True, collate_fn=collate)
test_dl = DataLoader(test, 256, collate_fn=collate)

for epoch in range(6):
    model.train()
    tot = 0.0
    for x, m, y in train_dl:
        opt.zero_grad()
        loss = crit(model(x, m), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        tot += loss.item()
    model.eval()
    with torch.no_grad():
        ok = sum((model(x, m).argmax(1) == y).sum().item() for x, m, y in test_dl)
    print(f"epoch {epoch} train loss {tot / len(train_dl):.4f} test acc {ok / len(test):.4f}")
