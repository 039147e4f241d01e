# Encoder-decoder transformer that learns to sort short digit strings.
import math
import torch
from torch import nn

torch.manual_seed(21)
V, L, D = 13, 7, 48        # 10 digits + BOS + EOS + PAD
BOS, EOS, PAD = 10, 11, 12


def batch(n):
    src = torch.randint(0, 10, (n, L))
    srt = src.sort(dim=1).values
    tgt_in = torch.cat([torch.full((n, 1), BOS), srt], 1)
    tgt_out = torch.cat([srt, torch.full((n, 1), EOS)], 1)
    return src, tgt_in, tgt_out


class Pos(nn.Module):
    def __init__(self, d, n=32):
        super().__init__()
        pe = torch.zeros(n, d)
        t = torch.arange(n)[:, None]
        f = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(t * f), torch.cos(t * f)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x * math.sqrt(x.size(-1)) + self.pe[: x.size(1)]


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        nn.init.normal_(self.emb.weight, std=D ** -0.5)
        self.pos = Pos(D)
        self.tr = nn.Transformer(D, 4, 1, 1, 96, dropout=0.0, batch_first=True)
        self.out = nn.Linear(D, V, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, src, tgt):
        h = self.tr(self.pos(self.emb(src)), self.pos(self.emb(tgt)))
        return self.out(h)


def greedy(model, src):
    ys = torch.full((len(src), 1), BOS)
    for _ in range(L):
        nxt = model(src, ys)[:, -1].argmax(-1, keepdim=True)
        ys = torch.cat([ys, nxt], 1)
    return ys[:, 1:]


model = Sorter()
opt = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 60))
for step in range(1, 501):
    model.train()
    src, ti, to = batch(64)
    logits = model(src, ti)
    loss = nn.functional.cross_entropy(logits.reshape(-1, V), to.reshape(-1), label_smoothing=0.02)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 100 == 0:
        model.eval()
        with torch.no_grad():
            s, _, o = batch(128)
            acc = (greedy(model, s) == o[:, :L]).float().mean().item()
        print(f"step {step}  loss {loss.item():.4f}  decoded digit accuracy {acc:.3f}")
