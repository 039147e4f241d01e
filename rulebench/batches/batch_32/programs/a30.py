# char-rnn, in the spirit of Karpathy's post, on generated nonsense sentences
import math
import random
import torch
import torch.nn as nn

SEED = 30
random.seed(SEED)
torch.manual_seed(SEED)

subj = ["the cat", "a dog", "my uncle", "the old captain", "a small bird"]
verb = ["sees", "likes", "follows", "paints", "forgets"]
obj = ["the moon", "a river", "green tea", "the market", "his shoes"]
text = "".join(f"{random.choice(subj)} {random.choice(verb)} {random.choice(obj)}. " for _ in range(4000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(ids))
train, val = ids[:n], ids[n:]


class CharGRU(nn.Module):
    def __init__(self, v, d=64):
        super().__init__()
        self.emb = nn.Embedding(v, 24)
        self.rnn = nn.GRU(24, d, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


def get(data, B=32, T=48):
    i = torch.randint(0, len(data) - T - 1, (B,))
    w = torch.stack([data[k:k + T + 1] for k in i])
    return w[:, :-1], w[:, 1:]


net = CharGRU(len(chars))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()
for it in range(1, 701):
    net.train()
    x, y = get(train)
    logits, _ = net(x)
    loss = ce(logits.reshape(-1, len(chars)), y.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if it % 100 == 0:
        print(f"iter {it} loss {loss.item():.3f}")

net.eval()
with torch.no_grad():
    x, y = get(val, 256)
    logits, _ = net(x)
    bpc = ce(logits.reshape(-1, len(chars)), y.reshape(-1)).item() / math.log(2)
print("uniform: %.2f bits/char   validation: %.3f bits/char" % (math.log2(len(chars)), bpc))
