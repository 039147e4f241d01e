# Word-level RNN language model with truncated BPTT, in the spirit of the classic PTB example
import math
import torch
import torch.nn as nn

torch.manual_seed(1111)
V = 50
g = torch.Generator().manual_seed(1)
P = torch.zeros(V, V)
for v in range(V):
    P[v, torch.randperm(V, generator=g)[:4]] = torch.tensor([0.6, 0.2, 0.15, 0.05])
seq = [0]
for _ in range(24000):
    seq.append(int(torch.multinomial(P[seq[-1]], 1, generator=g)))
seq = torch.tensor(seq)


def batchify(d, bsz):
    n = d.size(0) // bsz
    return d[:n * bsz].view(bsz, n).t().contiguous()


train, val = batchify(seq[:20000], 20), batchify(seq[20000:], 10)


class RNNModel(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(V, h)
        self.rnn = nn.LSTM(h, h)
        self.decoder = nn.Linear(h, V)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, x, hid):
        out, hid = self.rnn(self.drop(self.encoder(x)), hid)
        return self.decoder(self.drop(out)), hid


model = RNNModel()
crit = nn.CrossEntropyLoss()
bptt, lr, best = 20, 20.0, None


def evaluate():
    model.eval()
    hid, tot = None, 0.0
    with torch.no_grad():
        for i in range(0, val.size(0) - 1, bptt):
            n = min(bptt, val.size(0) - 1 - i)
            out, hid = model(val[i:i + n], hid)
            tot += n * crit(out.flatten(0, 1), val[i + 1:i + 1 + n].flatten()).item()
    return tot / (val.size(0) - 1)


for epoch in range(1, 13):
    model.train()
    hid, cur = None, 0.0
    for i in range(0, train.size(0) - 1, bptt):
        n = min(bptt, train.size(0) - 1 - i)
        if hid is not None:
            hid = tuple(h.detach() for h in hid)
        model.zero_grad()
        out, hid = model(train[i:i + n], hid)
        loss = crit(out.flatten(0, 1), train[i + 1:i + 1 + n].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)
        cur += loss.item()
    v = evaluate()
    print(f"epoch {epoch} lr {lr:.2f} train {cur / 50:.3f} valid {v:.3f} ppl {math.exp(v):.2f}")
    if best is None or v < best:
        best = v
    else:
        lr /= 4.0
ent = -(P * P.clamp(min=1e-12).log()).sum(1).mean().item()
print("entropy of the source about %.3f" % ent)
