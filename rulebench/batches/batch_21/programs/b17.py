"""Word-level GRU language model with truncated back-propagation through time."""
import math
import random

import torch
import torch.nn as nn

random.seed(8)
torch.manual_seed(8)

subjects = {"the farmer": "s", "the farmers": "p", "a bird": "s", "birds": "p", "the old king": "s", "two kings": "p"}
adverbs = ["often", "never", "slowly", "today", ""]
verbs = [("sees", "see"), ("likes", "like"), ("follows", "follow"), ("paints", "paint")]
objects = ["the river", "a small house", "the market", "some apples", "the moon"]


def sentence():
    subj = random.choice(list(subjects))
    verb = random.choice(verbs)[0 if subjects[subj] == "s" else 1]
    return " ".join(f"{subj} {random.choice(adverbs)} {verb} {random.choice(objects)} .".split())


tokens = " ".join(sentence() for _ in range(5000)).split()
vocab = {w: i for i, w in enumerate(sorted(set(tokens)))}
ids = torch.tensor([vocab[w] for w in tokens])
cut = int(0.9 * len(ids))


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[: nbatch * bsz].view(bsz, -1).t().contiguous()


train_data = batchify(ids[:cut], 20)
val_data = batchify(ids[cut:], 10)
bptt = 25


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=64, nhid=64):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.GRU(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        self.nhid = nhid

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(out)), hidden

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, self.nhid)


model = RNNModel(len(vocab))
criterion = nn.CrossEntropyLoss()
lr = 20.0
clip = 0.25


def get_batch(source, i):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].reshape(-1)


def evaluate(source):
    model.eval()
    total = 0.0
    hidden = model.init_hidden(source.size(1))
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, bptt):
            x, y = get_batch(source, i)
            out, hidden = model(x, hidden)
            total += len(x) * criterion(out.flatten(0, 1), y).item()
    return total / (len(source) - 1)


best_val = None
for epoch in range(1, 7):
    model.train()
    hidden = model.init_hidden(train_data.size(1))
    running, count = 0.0, 0
    for i in range(0, train_data.size(0) - 1, bptt):
        x, y = get_batch(train_data, i)
        hidden = hidden.detach()
        model.zero_grad()
        out, hidden = model(x, hidden)
        loss = criterion(out.flatten(0, 1), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)
        running += loss.item()
        count += 1
    val = evaluate(val_data)
    print(f"epoch {epoch} lr {lr:5.2f} train loss {running / count:.3f} valid loss {val:.3f} valid ppl {math.exp(val):.2f}")
    if best_val is None or val < best_val:
        best_val = val
    else:
        lr /= 4.0
