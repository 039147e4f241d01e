import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(206)
text = "".join(f"{a}+{b}={a + b};" for a in range(30) for b in range(30))
chunks = text.split(";")[:-1]
perm = torch.randperm(len(chunks)).tolist()
train_txt = ";".join(chunks[i] for i in perm[:800]) + ";"
val_txt = ";".join(chunks[i] for i in perm[800:]) + ";"
vocab = sorted(set(text))
stoi = {c: i for i, c in enumerate(vocab)}
train = torch.tensor([stoi[c] for c in train_txt])
val = torch.tensor([stoi[c] for c in val_txt])
V, T, D = len(vocab), 32, 64


def get(src, n):
    ix = torch.randint(0, len(src) - T - 1, (n,)).tolist()
    return torch.stack([src[i:i + T] for i in ix]), torch.stack([src[i + 1:i + T + 1] for i in ix])


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.pos = nn.Parameter(torch.randn(T, D) * 0.02)
        layer = nn.TransformerEncoderLayer(D, 4, 4 * D, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(D, V)
        self.register_buffer("mask", torch.triu(torch.full((T, T), float("-inf")), diagonal=1))

    def forward(self, x):
        n = x.shape[1]
        h = self.enc(self.tok(x) + self.pos[:n], mask=self.mask[:n, :n])
        return self.head(h)


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 50))
for step in range(500):
    x, y = get(train, 32)
    loss = F.cross_entropy(model(x).transpose(1, 2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            xv, yv = get(val, 64)
            print(step + 1, "train %.3f val %.3f" % (loss.item(), F.cross_entropy(model(xv).transpose(1, 2), yv).item()))
        model.train()
