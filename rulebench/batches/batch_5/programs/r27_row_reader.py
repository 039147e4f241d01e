# Row-by-row digit reader, bfloat16 autocast and micro-batches
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedShuffleSplit

torch.manual_seed(77)
torch.set_num_threads(1)
d = load_digits()
tr, te = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=7).split(d.data, d.target))
x = torch.tensor(d.images / 16.0, dtype=torch.float32)
y = torch.tensor(d.target)


class RowReader(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.inp = nn.Linear(8, dim)
        self.pos = nn.Parameter(torch.randn(8, dim) * 0.02)
        self.rnn = nn.Sequential(*[Mixer(dim) for _ in range(2)])
        self.out = nn.Linear(dim, 10)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, rows):
        return self.out(self.rnn(self.inp(rows) + self.pos).mean(1))


class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        self.ch = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, h):
        h = h + self.tok(self.n1(h).transpose(1, 2)).transpose(1, 2)
        return h + self.ch(self.n2(h))


model = RowReader()
decay = [p for p in model.parameters() if p.ndim >= 2]
no_decay = [p for p in model.parameters() if p.ndim < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}], lr=3e-3)
MICRO, ACC, EPOCHS = 16, 4, 20
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=EPOCHS * (len(tr) // (MICRO * ACC)))
ce = nn.CrossEntropyLoss(label_smoothing=0.05, reduction="sum")

for epoch in range(EPOCHS):
    model.train()
    perm = torch.as_tensor(np.random.RandomState(epoch).permutation(tr))
    total = 0.0
    for s in range(len(tr) // (MICRO * ACC)):
        opt.zero_grad(set_to_none=True)
        for k in range(ACC):
            lo = (s * ACC + k) * MICRO
            idx = perm[lo:lo + MICRO]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(x[idx])
            loss = ce(logits.float(), y[idx]) / (MICRO * ACC)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        acc = (model(x[te]).argmax(1) == y[te]).float().mean().item()
    print(f"epoch {epoch:2d} loss {total / (s + 1):.4f} test acc {acc:.4f}")
