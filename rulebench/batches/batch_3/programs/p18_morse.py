# Read "morse-like" signals with CTC. The alignment between signal and text is unknown.
import numpy as np
import torch
import torch.nn as nn

SEED = 6
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
N_SYM, FEAT, BLANK = 6, 8, 0
proto = rng.normal(size=(N_SYM + 1, FEAT))


def sample():
    n = rng.integers(3, 7)
    text = rng.integers(1, N_SYM + 1, n)
    frames = []
    for ch in text:
        frames += [rng.normal(0, 0.3, FEAT) for _ in range(rng.integers(1, 3))]    # silence
        frames += [proto[ch] + rng.normal(0, 0.3, FEAT) for _ in range(rng.integers(2, 5))]
    frames += [rng.normal(0, 0.3, FEAT)]
    return np.array(frames, dtype=np.float32), text


def batch(n):
    xs, ys = zip(*[sample() for _ in range(n)])
    xl = torch.tensor([len(x) for x in xs])
    yl = torch.tensor([len(t) for t in ys])
    X = torch.zeros(n, int(xl.max()), FEAT)
    for i, x in enumerate(xs):
        X[i, :len(x)] = torch.from_numpy(x)
    return X, xl, torch.tensor(np.concatenate(ys)), yl


class Reader(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(FEAT, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, N_SYM + 1)

    def forward(self, x, lens):
        p = nn.utils.rnn.pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        h, _ = self.rnn(p)
        h, _ = nn.utils.rnn.pad_packed_sequence(h, batch_first=True)
        return self.out(h).log_softmax(-1)


def greedy(lp, lens):
    res = []
    for path, n in zip(lp.argmax(-1), lens):
        path = torch.unique_consecutive(path[:n])
        res.append([int(k) for k in path if k != BLANK])
    return res


model = Reader()
ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(500):
    X, xl, y, yl = batch(32)
    lp = model(X, xl)
    loss = ctc(lp.transpose(0, 1), y, xl, yl)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if it % 50 == 0:
        print(f"iter {it} ctc {loss.item():.3f}")

model.eval()
with torch.no_grad():
    X, xl, y, yl = batch(300)
    hyp = greedy(model(X, xl), xl)
ref = [list(map(int, t)) for t in torch.split(y, yl.tolist())]
print("sequences read without error:", np.mean([h == r for h, r in zip(hyp, ref)]))
