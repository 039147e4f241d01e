# word-level GRU language model with truncated BPTT
import math
import random

import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)

SUBJ = {"sg": ["the cat", "a farmer", "the old man", "my neighbour"], "pl": ["the cats", "two farmers", "old men", "my neighbours"]}
VERB = {"sg": ["sees", "likes", "follows"], "pl": ["see", "like", "follow"]}
OBJ = ["the river", "a green door", "some apples", "the moon", "bread"]
ADV = ["today", "every morning", "again", "at night"]


def story(n):
    out = []
    for _ in range(n):
        k = random.choice(["sg", "pl"])
        out += (random.choice(SUBJ[k]) + " " + random.choice(VERB[k]) + " " + random.choice(OBJ)).split()
        if random.random() < 0.5:
            out += random.choice(ADV).split()
        out.append(".")
    return out


train_words, valid_words = story(5000), story(500)
itos = sorted(set(train_words))
stoi = {w: i for i, w in enumerate(itos)}


def batchify(words, bsz):
    d = torch.tensor([stoi[w] for w in words])
    n = len(d) // bsz
    return d[:n * bsz].view(bsz, n).t().contiguous()     # time, batch


train_data, valid_data = batchify(train_words, 20), batchify(valid_words, 10)
BPTT = 25


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=64, nhid=64, dropout=0.2):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.GRU(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, x, h):
        out, h = self.rnn(self.drop(self.encoder(x)), h)
        return self.decoder(self.drop(out)), h


model = RNNModel(len(itos))
criterion = nn.CrossEntropyLoss()
lr, best = 5.0, None
optimizer = torch.optim.SGD(model.parameters(), lr=lr)


def evaluate(data):
    model.eval()
    h, total = None, 0.0
    with torch.no_grad():
        for i in range(0, len(data) - 1, BPTT):
            n = min(BPTT, len(data) - 1 - i)
            out, h = model(data[i:i + n], h)
            total += n * criterion(out.flatten(0, 1), data[i + 1:i + 1 + n].flatten()).item()
    return total / (len(data) - 1)


for epoch in range(1, 11):
    model.train()
    h, total, count = None, 0.0, 0
    for i in range(0, len(train_data) - 1, BPTT):
        n = min(BPTT, len(train_data) - 1 - i)
        if h is not None:
            h = h.detach()
        out, h = model(train_data[i:i + n], h)
        loss = criterion(out.flatten(0, 1), train_data[i + 1:i + 1 + n].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        total, count = total + loss.item(), count + 1
    val = evaluate(valid_data)
    print(f"| epoch {epoch} | lr {lr:.2f} | train loss {total / count:.3f} | valid loss {val:.3f} | valid ppl {math.exp(val):.2f}")
    if best is None or val < best:
        best = val
    else:
        lr /= 4.0
        for group in optimizer.param_groups:
            group["lr"] = lr
