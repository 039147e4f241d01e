"""Word-level transformer LM on sentences like 'max of 3 and 7 is 7', tied embeddings, accumulated gradients."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
NUM = 16
AND, EQ, SEP = NUM, NUM + 1, NUM + 2
VOCAB = NUM + 3
CTX = 36
ACCUM = 3
MICRO = 12
STEPS = 300


def stream(n, gen):
    a = torch.randint(0, NUM, (n,), generator=gen)
    b = torch.randint(0, NUM, (n,), generator=gen)
    c = torch.maximum(a, b)
    rows = torch.stack([a, torch.full_like(a, AND), b, torch.full_like(a, EQ), c,
                        torch.full_like(a, SEP)], 1)
    return rows.flatten()


gen = torch.Generator().manual_seed(8)
train_ids, val_ids = stream(20000, gen), stream(1500, gen)


def batch(ids, n):
    i = torch.randint(0, len(ids) - CTX - 1, (n,))
    idx = i[:, None] + torch.arange(CTX + 1)
    chunk = ids[idx]
    return chunk[:, :-1], chunk[:, 1:]


class LM(nn.Module):
    def __init__(self, d=64, heads=4, layers=2):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.randn(CTX, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(d),
                                         enable_nested_tensor=False)
        self.out = nn.Linear(d, VOCAB, bias=False)
        nn.init.normal_(self.emb.weight, std=0.05)
        self.out.weight = self.emb.weight
        self.register_buffer("mask", torch.triu(torch.full((CTX, CTX), float("-inf")), 1))

    def forward(self, x):
        t = x.shape[1]
        h = self.emb(x) + self.pos[:t]
        return self.out(self.enc(h, mask=self.mask[:t, :t]))


def lr_lambda(step, warm=40):
    if step < warm:
        return (step + 1) / warm
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm) / (STEPS - warm)))


@torch.no_grad()
def answer_accuracy():
    model.eval()
    x, y = batch(val_ids, 64)
    pred = model(x).argmax(-1)
    m = x == EQ
    model.train()
    return (pred[m] == y[m]).float().mean().item()


model = LM()
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05},
                         {"params": rest, "weight_decay": 0.0}], lr=4e-3, betas=(0.9, 0.98))
sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda)
for step in range(1, STEPS + 1):
    total = 0.0
    for _ in range(ACCUM):
        x, y = batch(train_ids, MICRO)
        loss = F.cross_entropy(model(x).reshape(-1, VOCAB), y.reshape(-1)) / ACCUM
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 50 == 0:
        print(f"step {step} loss {total:.4f} answers correct {answer_accuracy():.3f}")
floor = 2 / 6 * math.log(NUM)
print(f"entropy of the stream: {floor:.4f} nats per token")
