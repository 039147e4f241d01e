"""Character language model on generated arithmetic-like text."""
import random
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"]
nxt = {w: random.sample(words, 2) for w in words}
w, toks = "alpha", []
for _ in range(6000):
    toks.append(w)
    w = random.choice(nxt[w])
text = " ".join(toks)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
block_size, batch_size = 32, 32


def get_batch(split):
    src = train_data if split == "train" else val_data
    ix = torch.randint(len(src) - block_size - 1, (batch_size,))
    x = torch.stack([src[i:i + block_size] for i in ix])
    y = torch.stack([src[i:i + block_size] for i in ix])
    return x, y


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, 32)
        self.rnn = nn.GRU(32, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, x, h=None):
        o, h = self.rnn(self.emb(x), h)
        return self.head(o), h


model = CharGRU(len(chars))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
lossf = nn.CrossEntropyLoss()
for it in range(601):
    x, y = get_batch("train")
    logits, _ = model(x)
    loss = lossf(logits.reshape(-1, len(chars)), y.reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if it % 100 == 0:
        with torch.no_grad():
            xv, yv = get_batch("val")
            vl = lossf(model(xv)[0].reshape(-1, len(chars)), yv.reshape(-1))
        print(f"iter {it}: train loss {loss.item():.4f}, val loss {vl.item():.4f}")

model.eval()
ctx = torch.tensor([[stoi["a"]]])
out, h = ["a"], None
with torch.no_grad():
    for _ in range(300):
        logits, h = model(ctx, h)
        p = torch.softmax(logits[0, -1], 0)
        ctx = torch.multinomial(p, 1)[None]
        out.append(chars[ctx.item()])
sample = "".join(out)
print(sample)
good = [w for w in sample.split()[1:-1] if w in words]
print("real words in sample: %d" % len(good))
