"""Homework 4: where does a surname come from?  Character GRU."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
random.seed(11)

STEMS = {
    "polish": (["kow", "now", "wis", "zie", "maz", "jan"], ["alski", "icki", "iewicz", "owski"]),
    "italian": (["ros", "bian", "ferr", "russ", "mar", "conti"], ["ini", "etti", "ello", "ucci"]),
    "finnish": (["korh", "virt", "mäk", "niem", "hei", "lai"], ["onen", "inen", "anen", "ala"]),
    "english": (["wal", "har", "tho", "mit", "ash", "bro"], ["ton", "son", "ford", "ley"]),
}
LANGS = list(STEMS)
ALPHABET = "abcdefghijklmnopqrstuvwxyzä"
PAD = len(ALPHABET)


def make_name(lang):
    a, b = STEMS[lang]
    mid = random.choice(["", "", random.choice("aeio")])
    return (random.choice(a) + mid + random.choice(b))[:14]


def encode(names, length=14):
    t = torch.full((len(names), length), PAD)
    for i, n in enumerate(names):
        # right-align, so the last GRU state has always seen the suffix
        t[i, length - len(n):] = torch.tensor([ALPHABET.index(c) for c in n])
    return t


class NameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(ALPHABET) + 1, 16, padding_idx=PAD)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.lin = nn.Linear(32, len(LANGS))
        self.logp = nn.LogSoftmax(dim=0)

    def forward(self, x):
        _, h = self.rnn(self.emb(x))
        return self.logp(self.lin(h[-1]))


model = NameNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

running = None
for it in range(1, 601):
    ys = [random.randrange(4) for _ in range(32)]
    x = encode([make_name(LANGS[k]) for k in ys])
    y = torch.tensor(ys)
    out = model(x)
    loss = F.nll_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
    if it % 100 == 0:
        print("iter %4d   loss %.4f" % (it, running))

model.eval()
right = 0
with torch.no_grad():
    for _ in range(200):
        k = random.randrange(4)
        right += int(model(encode([make_name(LANGS[k])])).argmax(1).item() == k)
    for n in ["kowalski", "rossini", "korhonen", "walton"]:
        print(n, "->", LANGS[model(encode([n])).argmax(1).item()])
print("accuracy on 200 fresh names:", right / 200)
