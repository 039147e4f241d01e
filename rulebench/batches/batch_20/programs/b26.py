import math
import random
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)

NOUNS = ["king", "queen", "farmer", "miller", "fox", "raven"]
VERBS = ["sees", "greets", "follows", "helps"]
PLACES = ["at the mill", "by the lake", "in the tower", "on the road"]


def story(n):
    out = []
    for _ in range(n):
        out.append(f"the {random.choice(NOUNS)} {random.choice(VERBS)} the {random.choice(NOUNS)} "
                   f"{random.choice(PLACES)}.")
    return " ".join(out)


train_text, valid_text = story(1500), story(150)
chars = sorted(set(train_text))
char_to_id = {c: i for i, c in enumerate(chars)}


def encode(s):
    return torch.tensor([char_to_id[c] for c in s])


def batchify(data, bsz):
    """Arrange the text in bsz columns that are read in parallel."""
    nbatch = data.size(0) // bsz
    data = data[:nbatch * bsz]
    return data.view(-1, bsz).contiguous()


bptt = 32
train_data = batchify(encode(train_text), 16)
valid_data = batchify(encode(valid_text), 8)


def get_batch(source, i):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=32, nhid=96):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.encoder(x), hidden)
        return self.decoder(out).view(-1, self.decoder.out_features), hidden

    def init_hidden(self, bsz):
        return (torch.zeros(1, bsz, self.nhid), torch.zeros(1, bsz, self.nhid))


def repackage(h):
    return tuple(v.detach() for v in h)


model = RNNModel(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def evaluate(source):
    model.eval()
    hidden, total, count = model.init_hidden(source.size(1)), 0.0, 0
    with torch.no_grad():
        for i in range(0, len(source) - 1, bptt):
            x, y = get_batch(source, i)
            out, hidden = model(x, hidden)
            total += criterion(out, y).item() * len(y)
            count += len(y)
    return total / count


for epoch in range(1, 5):
    model.train()
    hidden = model.init_hidden(train_data.size(1))
    total, n = 0.0, 0
    for i in range(0, len(train_data) - 1, bptt):
        x, y = get_batch(train_data, i)
        hidden = repackage(hidden)
        optimizer.zero_grad()
        out, hidden = model(x, hidden)
        loss = criterion(out, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total += loss.item()
        n += 1
    val = evaluate(valid_data)
    print(f"epoch {epoch} | train loss {total / n:.3f} | valid loss {val:.3f} | valid ppl {math.exp(val):.2f}")

model.eval()
ids = encode("the king ").tolist()
hidden = model.init_hidden(1)
with torch.no_grad():
    out, hidden = model(torch.tensor(ids).unsqueeze(1), hidden)
    for _ in range(120):
        nxt = torch.multinomial(out[-1].softmax(0), 1).item()
        ids.append(nxt)
        out, hidden = model(torch.tensor([[nxt]]), hidden)
print("".join(chars[i] for i in ids))
