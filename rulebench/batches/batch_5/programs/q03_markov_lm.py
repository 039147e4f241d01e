"""
Small GPT-style language model on a synthetic second order Markov source.
Follows the structure of the usual "build a tiny GPT" walkthroughs.
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)

vocab_size = 10
block_size = 32
batch_size = 32
n_embd = 48
n_head = 4
n_layer = 2
max_iters = 600
eval_interval = 100
learning_rate = 2e-3

# ---- corpus ---------------------------------------------------------------
g = torch.Generator().manual_seed(7)
table = torch.randint(0, vocab_size, (vocab_size, vocab_size), generator=g)


def make_corpus(n):
    out = [1, 4]
    noise = torch.rand(n, generator=g)
    rnd = torch.randint(0, vocab_size, (n,), generator=g)
    for i in range(n):
        if noise[i] < 0.85:
            out.append(int(table[out[-2], out[-1]]))
        else:
            out.append(int(rnd[i]))
    return torch.tensor(out)


data = make_corpus(40000)
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + block_size + 1] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.ln2 = nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def attend(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, n_head, C // n_head).transpose(1, 2)
        k = k.view(B, T, n_head, C // n_head).transpose(1, 2)
        v = v.view(B, T, n_head, C // n_head).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        x = self.tok(idx) + self.pos(torch.arange(T))
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, steps):
        for _ in range(steps):
            logits, _ = self(idx[:, -block_size:])
            nxt = logits[:, -1].argmax(-1, keepdim=True)
            idx = torch.cat([idx, nxt], dim=1)
        return idx


@torch.no_grad()
def estimate_loss(model):
    model.eval()
    res = {}
    for s in ("train", "val"):
        res[s] = sum(model(*get_batch(s))[1].item() for _ in range(10)) / 10
    model.train()
    return res


model = TinyGPT()
opt = torch.optim.AdamW(model.parameters(), lr=learning_rate)
for it in range(max_iters):
    xb, yb = get_batch("train")
    _, loss = model(xb, yb)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % eval_interval == 0 or it == max_iters - 1:
        e = estimate_loss(model)
        print(f"iter {it:4d} train {e['train']:.4f} val {e['val']:.4f} ppl {math.exp(e['val']):.2f}")

model.eval()
start = torch.stack([val_data[i * 50:i * 50 + 16] for i in range(64)])
gen = model.generate(start, 20)
a, b, c = gen[:, 14:-2], gen[:, 15:-1], gen[:, 16:]
print("generated transitions that follow the grammar: %.3f" % (table[a, b] == c).float().mean().item())
