"""Mini GPT on a toy grammar, character level."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)
torch.set_num_threads(1)

subjects = ["the cat", "a dog", "my uncle", "the old king", "one bird"]
verbs = ["sees", "likes", "chases", "paints", "forgets"]
objects = ["a red house", "the river", "some bread", "my hat", "green stones"]
corpus = " ".join(f"{random.choice(subjects)} {random.choice(verbs)} {random.choice(objects)}." for _ in range(3000))
chars = sorted(set(corpus))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in corpus])
cut = int(0.9 * len(data))
train_data, val_data = data[:cut], data[cut:]
BLOCK, BATCH, DIM = 32, 24, 48


def get_batch(src):
    ix = torch.randint(len(src) - BLOCK - 1, (BATCH,))
    x = torch.stack([src[i:i + BLOCK] for i in ix])
    y = torch.stack([src[i + 1:i + BLOCK + 1] for i in ix])
    return x, y


class Head(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        att = F.softmax(q @ k.transpose(-2, -1) / (C // self.h) ** 0.5, dim=-1)
        return self.proj((att @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.att = Head()
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.att(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class MiniGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(chars), DIM), nn.Embedding(BLOCK, DIM)
        self.blocks = nn.Sequential(Block(), Block())
        self.ln, self.lm = nn.LayerNorm(DIM), nn.Linear(DIM, len(chars))

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.size(1)))
        return self.lm(self.ln(self.blocks(h)))


model = MiniGPT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for it in range(1, 1001):
    x, y = get_batch(train_data)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0 or it == 1:
        with torch.no_grad():
            xv, yv = get_batch(val_data)
            v = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten()).item()
        print(f"iter {it} train {loss.item():.4f} val {v:.4f}")


@torch.no_grad()
def generate(prompt, n):
    ids = [stoi[c] for c in prompt]
    for _ in range(n):
        logits = model(torch.tensor([ids[-BLOCK:]]))[0, -1]
        ids.append(torch.multinomial(F.softmax(logits, -1), 1).item())
    return "".join(chars[i] for i in ids)


for p in ("the ", "my uncle ", "a dog sees "):
    print(repr(generate(p, 28 - len(p))))
words = set(corpus.replace(".", "").split())
good = total = 0
for k in range(60):
    out = generate(random.choice(subjects) + " ", 20).replace(".", "").split()[:-1]
    good += sum(w in words for w in out)
    total += len(out)
print("known words in short samples: %d of %d" % (good, total))
