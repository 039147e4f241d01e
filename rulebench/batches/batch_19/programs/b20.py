"""LSTM that copies and then reverses a prompt; sequence length grows during training."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
LETTERS = 16
SEP = LETTERS
VOCAB = LETTERS + 1
STAGES = [(2, 150), (3, 200), (4, 250), (5, 300)]


def make_batch(length, n=64):
    src = torch.randint(0, LETTERS, (n, length))
    sep = torch.full((n, 1), SEP)
    seq = torch.cat([src, sep, src.flip(1)], dim=1)
    x, y = seq[:, :-1], seq[:, 1:].clone()
    y[:, :length] = -100
    return x, y


class TinyLM(nn.Module):
    def __init__(self, dim=32, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, sparse=True)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCAB)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.out(h)


model = TinyLM()
dense = [p for n, p in model.named_parameters() if not n.startswith("emb")]
optimizers = [torch.optim.SparseAdam(list(model.emb.parameters()), lr=5e-3),
              torch.optim.Adam(dense, lr=5e-3)]


@torch.no_grad()
def exact(length):
    model.eval()
    x, y = make_batch(length, 300)
    pred = model(x).argmax(-1)
    keep = y != -100
    model.train()
    return ((pred == y) | ~keep).all(dim=1).float().mean().item()


step = 0
for length, n_steps in STAGES:
    for _ in range(n_steps):
        # some shorter examples stay in the mix
        cur = length if torch.rand(1) < 0.8 else int(torch.randint(2, length + 1, (1,)))
        x, y = make_batch(cur)
        loss = F.cross_entropy(model(x).transpose(1, 2), y, ignore_index=-100)
        for o in optimizers:
            o.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(dense, 1.0)
        for o in optimizers:
            o.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} length {cur} loss {loss.item():.4f}")
    print(f"-- stage with length {length} finished, exact match {exact(length):.3f}")
