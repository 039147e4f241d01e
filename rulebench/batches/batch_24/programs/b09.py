# word-level LSTM language model, truncated BPTT, plain SGD with annealing
import math
import random
import torch
import torch.nn as nn

torch.manual_seed(1111)
random.seed(1111)

# toy corpus from a small grammar
NAMES = ["anna", "bob", "carl", "dora", "emil"]
VERBS = {"sees": ["house", "tree", "river"], "eats": ["apple", "bread", "cake"], "reads": ["book", "letter", "paper"]}
ADJ = ["old", "red", "small", "big"]


def sent():
    v = random.choice(list(VERBS))
    words = [random.choice(NAMES), v, "the"]
    if random.random() < 0.5:
        words.append(random.choice(ADJ))
    return words + [random.choice(VERBS[v]), "<eos>"]


def corpus(n):
    out = []
    for _ in range(n):
        out += sent()
    return out


train_words, valid_words = corpus(4000), corpus(500)
vocab = {w: i for i, w in enumerate(sorted(set(train_words)))}


def batchify(words, bsz):
    ids = torch.tensor([vocab[w] for w in words])
    nb = len(ids) // bsz
    return ids[:nb * bsz].view(bsz, nb).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, ntoken, nhid=64):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, nhid)
        self.rnn = nn.LSTM(nhid, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, x, hidden):
        emb = self.drop(self.encoder(x))
        out, hidden = self.rnn(emb, hidden)
        return self.decoder(self.drop(out)).flatten(0, 1), hidden

    def init_hidden(self, bsz):
        return (torch.zeros(1, bsz, 64), torch.zeros(1, bsz, 64))


BPTT, BSZ = 20, 20
train_data, val_data = batchify(train_words, BSZ), batchify(valid_words, 10)
model = RNNModel(len(vocab))
criterion = nn.CrossEntropyLoss()
lr = 20.0
optimizer = torch.optim.SGD(model.parameters(), lr=lr)


def evaluate(source):
    model.eval()
    total = 0.0
    hidden = model.init_hidden(source.size(1))
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, BPTT):
            n = min(BPTT, source.size(0) - 1 - i)
            out, hidden = model(source[i:i + n], hidden)
            total += n * criterion(out, source[i + 1:i + 1 + n].flatten()).item()
    return total / (source.size(0) - 1)


best = None
for epoch in range(1, 13):
    model.train()
    hidden = model.init_hidden(BSZ)
    total, batches = 0.0, 0
    for i in range(0, train_data.size(0) - 1, BPTT):
        n = min(BPTT, train_data.size(0) - 1 - i)
        hidden = tuple(h.detach() for h in hidden)
        optimizer.zero_grad()
        out, hidden = model(train_data[i:i + n], hidden)
        loss = criterion(out, train_data[i + 1:i + 1 + n].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        total += loss.item()
        batches += 1
    val = evaluate(val_data)
    print(f"epoch {epoch:2d} lr {optimizer.param_groups[0]['lr']:.2f} train ppl {math.exp(total / batches):.3f} valid ppl {math.exp(val):.3f}")
    if best is None or val < best:
        best = val
    else:
        for g in optimizer.param_groups:
            g["lr"] /= 4.0
print(f"best valid ppl {math.exp(best):.3f}")
