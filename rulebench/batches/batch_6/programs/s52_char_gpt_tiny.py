# tiny decoder-only char model, sampling some text at the end
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)
words = "the cat sat on the mat and the dog ran to the red barn while a bird sang in the old tree".split()
g = torch.Generator().manual_seed(0)
text = []
prev = 0
for _ in range(6000):
    prev = (prev + 1 + int(torch.randint(0, 3, (1,), generator=g))) % len(words)
    text.append(words[prev])
text = " ".join(text)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]

block_size, batch_size, n_embd = 32, 24, 48


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i:i + block_size] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.att = nn.MultiheadAttention(n_embd, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        T = x.size(1)
        m = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        h = self.ln1(x)
        x = x + self.att(h, h, h, attn_mask=m, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(chars), n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(Block(), Block())
        self.ln = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, len(chars))

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        logits = self.head(self.ln(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for it in range(500):
    xb, yb = get_batch("train")
    _, loss = model(xb, yb)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % 100 == 0:
        model.eval()
        with torch.no_grad():
            vl = sum(model(*get_batch("val"))[1].item() for _ in range(5)) / 5
        model.train()
        print(f"step {it}: train loss {loss.item():.4f}, val loss {vl:.4f}")

model.eval()
out = data[:8].unsqueeze(0)
with torch.no_grad():
    for _ in range(200):
        logits, _ = model(out[:, -block_size:])
        nxt = torch.multinomial(F.softmax(logits[:, -1], -1), 1)
        out = torch.cat([out, nxt], 1)
s = "".join(chars[i] for i in out[0].tolist())
print(s)
gen = s.split()[2:-1]
print("share of generated words in vocabulary: %.3f" % (sum(w in words for w in gen) / max(len(gen), 1)))
