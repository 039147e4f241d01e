# Character-level transformer on small arithmetic sentences, then sampling from it.
from dataclasses import dataclass
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    block: int = 24
    d_model: int = 48
    heads: int = 4
    layers: int = 2
    batch: int = 32
    steps: int = 360
    lr: float = 4e-3
    seed: int = 7


cfg = Config()
random.seed(cfg.seed)
torch.manual_seed(cfg.seed)

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def sentence():
    a, b = random.randint(0, 4), random.randint(0, 4)
    return f"{WORDS[a]}+{WORDS[b]}={WORDS[a + b]}."


text = "".join(sentence() for _ in range(12000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]


def get_batch(src):
    ix = torch.randint(len(src) - cfg.block - 1, (cfg.batch,))
    x = torch.stack([src[i:i + cfg.block] for i in ix])
    y = torch.stack([src[i + 1:i + cfg.block + 1] for i in ix])
    return x, y


class CharTransformer(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.d_model)
        self.pos = nn.Embedding(cfg.block, cfg.d_model)
        layer = nn.TransformerEncoderLayer(cfg.d_model, cfg.heads, 4 * cfg.d_model, dropout=0.0,
                                           batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.ln = nn.LayerNorm(cfg.d_model)
        self.head = nn.Linear(cfg.d_model, vocab)
        self.register_buffer("mask", torch.tril(torch.ones(cfg.block, cfg.block)))

    def forward(self, idx):
        T = idx.size(1)
        h = self.tok(idx) + self.pos(torch.arange(T))
        h = self.blocks(h, mask=self.mask[:T, :T])
        return self.head(self.ln(h))

    @torch.no_grad()
    def generate(self, prompt, n):
        out = list(prompt)
        for _ in range(n):
            ctx = torch.tensor([[stoi[c] for c in out[-cfg.block:]]])
            out.append(chars[self(ctx)[0, -1].argmax().item()])
            if out[-1] == ".":
                break
        return "".join(out)


model = CharTransformer(len(chars))
opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
for step in range(1, cfg.steps + 1):
    x, y = get_batch(train_data)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 60 == 0:
        with torch.no_grad():
            xv, yv = get_batch(val_data)
            vloss = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten())
        print(f"step {step} train {loss.item():.3f} val {vloss.item():.3f}")

model.eval()
good = 0
for a in range(5):
    for b in range(5):
        q = f"{WORDS[a]}+{WORDS[b]}="
        ans = model.generate(q, 8)
        good += ans == f"{q}{WORDS[a + b]}."
        if a == b:
            print(ans)
print("exact answers:", good, "of 25")
