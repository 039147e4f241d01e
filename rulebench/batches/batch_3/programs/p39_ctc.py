# CTC toy: read digit strings drawn as noisy 1-d "barcodes", unsegmented labels
import numpy as np
import torch
import torch.nn as nn

SEED = 0
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
N_SYM, DIM = 6, 8
glyphs = np.random.default_rng(99).normal(size=(N_SYM, 3, DIM))


def sample():
    L = rng.integers(2, 6)
    labels = rng.integers(0, N_SYM, L)
    frames = [np.zeros((rng.integers(1, 3), DIM))]
    for s in labels:
        rep = rng.integers(1, 3)
        frames.append(np.repeat(glyphs[s], rep, axis=0))
        frames.append(np.zeros((rng.integers(1, 3), DIM)))
    f = np.concatenate(frames)
    return (f + 0.3 * rng.normal(size=f.shape)).astype("float32"), labels + 1   # 0 is the blank


def batch(n):
    items = [sample() for _ in range(n)]
    T = max(len(f) for f, _ in items)
    x = torch.zeros(n, T, DIM)
    for i, (f, _) in enumerate(items):
        x[i, :len(f)] = torch.from_numpy(f)
    xl = torch.tensor([len(f) for f, _ in items])
    y = torch.cat([torch.as_tensor(l) for _, l in items])
    yl = torch.tensor([len(l) for _, l in items])
    return x, xl, y, yl


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(DIM, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, N_SYM + 1)

    def forward(self, x, xl):
        p = nn.utils.rnn.pack_padded_sequence(x, xl, batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(p)[0], batch_first=True)
        return self.out(h).log_softmax(-1)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
for it in range(600):
    x, xl, y, yl = batch(32)
    lp = net(x, xl).transpose(0, 1)          # CTCLoss wants T, N, C
    loss = ctc(lp, y, xl, yl)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if it % 50 == 0:
        print("iter", it, "ctc", round(loss.item(), 4))

net.eval()
ok = 0
with torch.no_grad():
    x, xl, y, yl = batch(400)
    best = net(x, xl).argmax(-1)
    pos = 0
    for i in range(400):
        path = torch.unique_consecutive(best[i, :xl[i]])
        ok += path[path > 0].tolist() == y[pos:pos + yl[i]].tolist()
        pos += int(yl[i])
print("exact sequence accuracy", ok / 400)
