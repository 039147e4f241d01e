# Sequence tagging with a BiLSTM. Micro-batches of 4 sentences, update every 4 micro-batches.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

torch.manual_seed(17)
V, TAGS, IGN = 60, 4, -100


def sentence():
    n = int(torch.randint(4, 18, (1,)))
    w = torch.randint(1, V, (n,))
    tag = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        if w[i] < 12:
            tag[i] = 1
        elif i > 0 and w[i - 1] < 12 and w[i] % 2 == 0:
            tag[i] = 2
        elif i + 1 < n and w[i + 1] > 52:
            tag[i] = 3
    return w, tag


train = [sentence() for _ in range(900)]
test = [sentence() for _ in range(200)]


def collate(items):
    x = pad_sequence([a for a, _ in items], batch_first=True)
    y = pad_sequence([b for _, b in items], batch_first=True, padding_value=IGN)
    return x, y, torch.tensor([len(a) for a, _ in items])


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 24, padding_idx=0)
        self.rnn = nn.LSTM(24, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, TAGS)

    def forward(self, x, lens):
        p = pack_padded_sequence(self.emb(x), lens, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.rnn(p)[0], batch_first=True, total_length=x.size(1))
        return self.out(h)


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
ACC = 4
for epoch in range(4):
    order = torch.randperm(len(train)).tolist()
    micro = [collate([train[j] for j in order[i:i + 4]]) for i in range(0, len(order), 4)]
    for k in range(0, len(micro), ACC):
        group = micro[k:k + ACC]
        n_tok = sum(int((y != IGN).sum()) for _, y, _ in group)
        opt.zero_grad()
        total = 0.0
        for x, y, lens in group:
            # summed, then divided by the token count of the whole group
            loss = F.cross_entropy(model(x, lens).flatten(0, 1), y.flatten(), ignore_index=IGN, reduction="sum") / n_tok
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
    model.eval()
    with torch.no_grad():
        x, y, lens = collate(test)
        ok = (model(x, lens).argmax(-1) == y)[y != IGN].float().mean()
    model.train()
    print(f"epoch {epoch} last loss {total:.4f} test token accuracy {ok:.4f}")
