import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1234)


class Cfg:
    vocab = 9
    ctx = 16
    d = 48
    heads = 4
    layers = 2
    batch = 48
    steps = 400
    lr = 4e-3


# A second order Markov source: next token depends on the two previous ones
g = torch.Generator().manual_seed(7)
table = torch.softmax(3.0 * torch.randn(Cfg.vocab, Cfg.vocab, Cfg.vocab, generator=g), -1)


def make_corpus(n_seq, seed):
    gen = torch.Generator().manual_seed(seed)
    seq = torch.randint(0, Cfg.vocab, (n_seq, 2), generator=gen)
    for _ in range(Cfg.ctx - 1):
        p = table[seq[:, -2], seq[:, -1]]
        seq = torch.cat([seq, torch.multinomial(p, 1, generator=gen)], 1)
    return seq


train_set, valid_set = make_corpus(6000, 1), make_corpus(500, 2)
print("train", tuple(train_set.shape), "valid", tuple(valid_set.shape))


class TransformerLM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok = nn.Embedding(c.vocab, c.d)
        self.pos = nn.Parameter(torch.zeros(1, c.ctx, c.d))
        layer = nn.TransformerEncoderLayer(c.d, c.heads, 4 * c.d, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, c.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(c.d)
        self.head = nn.Linear(c.d, c.vocab)
        mask = torch.tril(torch.ones(c.ctx, c.ctx), diagonal=-1).bool()
        self.register_buffer("mask", mask)

    def forward(self, idx):
        T = idx.size(1)
        h = self.tok(idx) + self.pos[:, :T]
        h = self.blocks(h, mask=self.mask[:T, :T])
        return self.head(self.norm(h))


def lm_loss(model, batch):
    x, y = batch[:, :-1], batch[:, 1:]
    return F.cross_entropy(model(x).reshape(-1, Cfg.vocab), y.reshape(-1))


model = TransformerLM(Cfg)
optim = torch.optim.AdamW(model.parameters(), lr=Cfg.lr, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(
    optim, lambda s: min(1.0, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * s / Cfg.steps)))

for step in range(1, Cfg.steps + 1):
    rows = torch.randint(0, len(train_set), (Cfg.batch,))
    loss = lm_loss(model, train_set[rows])
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optim.step()
    sched.step()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            v = lm_loss(model, valid_set).item()
        model.train()
        print(f"step {step} loss {loss.item():.4f} valid {v:.4f} perplexity {math.exp(v):.2f}")

# generate and score the samples under the true source
model.eval()
with torch.no_grad():
    seq = valid_set[:200, :4].clone()
    logp = []
    while seq.size(1) < Cfg.ctx:
        probs = F.softmax(model(seq)[:, -1], -1)
        nxt = torch.multinomial(probs, 1)
        logp.append(torch.log(table[seq[:, -2], seq[:, -1]].gather(1, nxt)))
        seq = torch.cat([seq, nxt], 1)
print(f"nll of generated text under the source: {-torch.cat(logp).mean().item():.3f}")
ref = valid_set
src = -torch.log(table[ref[:, :-2], ref[:, 1:-1]].gather(2, ref[:, 2:].unsqueeze(-1))).mean()
print(f"nll of real text under the source: {src.item():.3f}")
