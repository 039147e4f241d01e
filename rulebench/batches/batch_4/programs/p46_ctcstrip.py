# reading digit strips with a BiGRU and CTC (no alignment given)
import numpy as np
import torch
import torch.nn as nn

SEED = 31
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
GLYPHS = rng.normal(size=(10, 3, 10)).astype("float32")       # every digit: 3 columns of 10 pixels
BLANK = 0                                                     # labels are 1..10


def strip():
    n = rng.integers(3, 7)
    digits = rng.integers(0, 10, n)
    cols = []
    for g in digits:
        for c in GLYPHS[g]:
            cols += [c] * rng.integers(1, 3)
        cols += [np.zeros(10)] * rng.integers(0, 3)
    x = np.stack(cols).astype("float32")
    return x + rng.normal(0, 0.3, x.shape).astype("float32"), digits + 1


def batch(n):
    items = [strip() for _ in range(n)]
    xl = torch.tensor([len(x) for x, _ in items])
    yl = torch.tensor([len(y) for _, y in items])
    xs = nn.utils.rnn.pad_sequence([torch.from_numpy(x) for x, _ in items], batch_first=True)
    ys = torch.from_numpy(np.concatenate([y for _, y in items]))
    return xs, ys, xl, yl


class Reader(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.conv = nn.Conv1d(10, h, 3, padding=1)
        self.rnn = nn.GRU(h, h, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * h, 11)

    def forward(self, x, lengths):
        x = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(h).log_softmax(-1)


def decode(lp, lengths):
    res = []
    for path, n in zip(lp.argmax(-1), lengths):
        p = torch.unique_consecutive(path[:n])
        res.append([int(c) for c in p if c != BLANK])
    return res


model = Reader()
ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
test = batch(200)
for step in range(1, 351):
    xs, ys, xl, yl = batch(32)
    lp = model(xs, xl)
    loss = ctc(lp.transpose(0, 1), ys, xl, yl)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    if step % 25 == 0:
        with torch.no_grad():
            out = model(test[0], test[2])
        truth = [t.tolist() for t in test[1].split(test[3].tolist())]
        pred = decode(out, test[2])
        exact = np.mean([a == b for a, b in zip(pred, truth)])
        blanks = (out.argmax(-1) == BLANK).float().mean().item()
        print(f"step {step} loss {loss.item():.3f} exact strips {exact:.3f} blank share {blanks:.2f}")
