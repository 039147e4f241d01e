"""Sequence copy task: read six symbols, then write them out again.

GRU encoder -> GRU decoder, teacher forcing ratio decays from 1.0 to 0.5.
"""
import random
import torch
import torch.nn as nn

random.seed(2)
torch.manual_seed(2)
SYM, T, H = 8, 6, 48
GO = SYM


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(SYM, 16)
        self.rnn = nn.GRU(16, H, batch_first=True)

    def forward(self, x):
        _, h = self.rnn(self.emb(x))
        return h


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(SYM + 1, 16)
        self.rnn = nn.GRU(16, H, batch_first=True)
        self.out = nn.Linear(H, SYM)

    def forward(self, tok, h):
        o, h = self.rnn(self.emb(tok), h)
        return self.out(o[:, -1]), h


enc, dec = Encoder(), Decoder()
optim = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=4e-3)
ce = nn.CrossEntropyLoss()


def run(x, tf):
    h = enc(x)
    h = h.detach()                      # new sequence, start with a clean state
    tok = torch.full((len(x), 1), GO)
    logits = []
    for t in range(T):
        o, h = dec(tok, h)
        logits.append(o)
        tok = x[:, t:t + 1] if random.random() < tf else o.argmax(1, keepdim=True).detach()
    return torch.stack(logits, 1)


for step in range(1, 701):
    x = torch.randint(0, SYM, (64, T))
    tf = max(0.5, 1 - step / 800)
    loss = ce(run(x, tf).flatten(0, 1), x.flatten())
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(list(enc.parameters()) + list(dec.parameters()), 1.0)
    optim.step()
    if step % 100 == 0:
        with torch.no_grad():
            xt = torch.randint(0, SYM, (256, T))
            acc = (run(xt, 0.0).argmax(-1) == xt).float().mean().item()
        print("step %d | tf %.2f | loss %.3f | free-running accuracy %.3f" % (step, tf, loss.item(), acc))
