"""Word-level LSTM language model, truncated BPTT over a long stream."""
import math

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)

VOCAB = 60
BPTT = 25
BATCH = 20
EMB, HID = 48, 96
EPOCHS = 4


def make_stream(n_tokens, rng):
    """Sparse second-order Markov chain: every context allows three next words."""
    table = np.random.RandomState(99).randint(0, VOCAB, size=(VOCAB, 3))
    toks = [0, 1]
    picks = rng.choice(3, size=n_tokens, p=[0.7, 0.2, 0.1])
    for k in picks:
        ctx = toks[-1]
        toks.append(int(table[ctx, k]))
    return torch.tensor(toks[2:], dtype=torch.long)


def batchify(stream, bsz):
    nbatch = stream.size(0) // bsz
    stream = stream[: nbatch * bsz]
    return stream.view(nbatch, bsz).contiguous()


def get_batch(source, i):
    seq_len = min(BPTT, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(VOCAB, EMB)
        self.rnn = nn.LSTM(EMB, HID)
        self.decoder = nn.Linear(HID, VOCAB)

    def forward(self, tokens, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(out)).view(-1, VOCAB), hidden

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, HID), torch.zeros(1, bsz, HID)


def repackage(hidden):
    return tuple(h.detach() for h in hidden)


def evaluate(model, source, bsz):
    model.eval()
    total, hidden = 0.0, model.init_hidden(bsz)
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, BPTT):
            x, y = get_batch(source, i)
            out, hidden = model(x, hidden)
            total += len(x) * criterion(out, y).item()
    return total / (len(source) - 1)


train_data = batchify(make_stream(50000, np.random.RandomState(1)), BATCH)
val_data = batchify(make_stream(6000, np.random.RandomState(2)), 10)

model = RNNModel()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)

for epoch in range(1, EPOCHS + 1):
    model.train()
    hidden = model.init_hidden(BATCH)
    running = []
    for i in range(0, train_data.size(0) - 1, BPTT):
        x, y = get_batch(train_data, i)
        hidden = repackage(hidden)
        optimizer.zero_grad()
        out, hidden = model(x, hidden)
        loss = criterion(out, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        running.append(loss.item())
    val_loss = evaluate(model, val_data, 10)
    scheduler.step(val_loss)
    print(f"epoch {epoch} train loss {np.mean(running):.3f} val loss {val_loss:.3f} val ppl {math.exp(val_loss):.2f}")
