"""Word-less language model: a GRU reads one long character stream, truncated BPTT."""
import math
import random
import torch
from torch import nn

SEED = 3
random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

names = ["anna", "boris", "clara", "david", "elena", "farid"]
verbs = ["sees", "calls", "meets", "likes"]


def sentence():
    a, b = random.sample(names, 2)
    v = random.choice(verbs)
    return f"{a} {v} {b} and {b} {v} {a}. "


text = "".join(sentence() for _ in range(4200))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
cut = int(len(ids) * 0.9)


def streams(x, n):
    m = len(x) // n
    return x[:m * n].view(n, m).t().contiguous()      # (time, stream)


train, valid = streams(ids[:cut], 32), streams(ids[cut:], 8)
BPTT = 32


class Model(nn.Module):
    def __init__(self, v, h=96):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(v, 24), nn.GRU(24, h), nn.Linear(h, v)

    def forward(self, x, state):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state


net = Model(len(chars))
lr = 2.0
opt = torch.optim.SGD(net.parameters(), lr=lr)
loss_fn = nn.CrossEntropyLoss()


def evaluate():
    net.eval()
    state, total = None, 0.0
    with torch.no_grad():
        for i in range(0, len(valid) - 1, BPTT):
            n = min(BPTT, len(valid) - 1 - i)
            o, state = net(valid[i:i + n], state)
            total += n * loss_fn(o.flatten(0, 1), valid[i + 1:i + 1 + n].flatten()).item()
    net.train()
    return total / (len(valid) - 1)


best = float("inf")
for epoch in range(1, 13):
    state = None
    for i in range(0, len(train) - 1, BPTT):
        n = min(BPTT, len(train) - 1 - i)
        o, state = net(train[i:i + n], state)
        state = state.detach()
        loss = loss_fn(o.flatten(0, 1), train[i + 1:i + 1 + n].flatten())
        net.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        opt.step()
    v = evaluate()
    print(f"epoch {epoch} lr {lr:.3f} last train loss {loss.item():.4f} valid {v:.4f}")
    if v < best:
        best = v
    else:
        lr /= 4
        for g in opt.param_groups:
            g["lr"] = lr
# per sentence only the two names and the verb are random
floor = math.log(6 * 5 * 4) / (len(text) / 4200)
print(f"validation: {v:.4f} nats/char, perplexity {math.exp(v):.3f}; entropy of the source {floor:.4f} nats/char")
