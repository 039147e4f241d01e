"""Route support tickets to one of 4 teams: bag of embeddings + small CNN over words."""
import random
from collections import Counter
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(13)
torch.manual_seed(13)

TEAMS = ["billing", "shipping", "technical", "account"]
KEY = {
    "billing": "invoice charged refund card payment tax".split(),
    "shipping": "parcel courier late address tracking damaged".split(),
    "technical": "crash error install update freeze screen".split(),
    "account": "password login email locked profile delete".split(),
}
FILL = "the my i a please is was since yesterday help today again your for with and it not can order".split()


def ticket():
    team = random.choices(range(4), weights=[3, 3, 2, 2])[0]
    words = random.choices(FILL, k=random.randint(5, 14))
    for _ in range(random.randint(1, 3)):
        words.insert(random.randrange(len(words)), random.choice(KEY[TEAMS[team]]))
    if random.random() < 0.3:
        words.insert(0, random.choice(KEY[random.choice(TEAMS)]))
    return words, team


corpus = [ticket() for _ in range(3600)]
counts = Counter(w for ws, _ in corpus for w in ws)
PAD, UNK = 0, 1
vocab = {w: i + 2 for i, (w, c) in enumerate(counts.most_common()) if c > 2}


def collate(rows):
    seqs = [torch.tensor([vocab.get(w, UNK) for w in ws]) for ws, _ in rows]
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), torch.tensor([t for _, t in rows])


class TextCNN(nn.Module):
    def __init__(self, n_vocab, n_out, dim=24):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, dim, padding_idx=PAD)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 16, k, padding=k // 2) for k in (1, 3))
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(32, n_out)

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        h = torch.cat([torch.relu(c(e)).amax(-1) for c in self.convs], 1)
        return self.out(self.drop(h))


train_dl = DataLoader(corpus[:3000], batch_size=64, shuffle=True, collate_fn=collate)
test_dl = DataLoader(corpus[3000:], batch_size=200, collate_fn=collate)
model = TextCNN(len(vocab) + 2, len(TEAMS))
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.02)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    s = 0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
        s += loss.item()
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            ok += (model(xb).argmax(1) == yb).sum().item()
            n += len(yb)
    print(f"epoch {epoch}: mean loss {s / len(train_dl):.4f}, test acc {ok / n:.3f}")
