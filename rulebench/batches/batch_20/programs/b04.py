import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
random.seed(1337)

# ---- corpus: small template grammar ----
subjects = ["the cat", "a dog", "my uncle", "the old sailor", "our teacher"]
verbs = ["chased", "painted", "forgot", "carried", "found"]
objects = ["the ball", "a red boat", "two letters", "the garden gate", "some bread"]
tails = ["in the morning", "before lunch", "without a word", "near the harbour"]
text = ". ".join(f"{random.choice(subjects)} {random.choice(verbs)} "
                 f"{random.choice(objects)} {random.choice(tails)}" for _ in range(1500)) + ". "
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]

block_size, batch_size, d_model, n_head, n_layer = 32, 16, 64, 4, 2


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + block_size] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, n_head, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(),
                                nn.Linear(4 * d_model, d_model))

    def forward(self, x, mask):
        h = self.ln1(x)
        h, _ = self.attn(h, h, h, attn_mask=mask, need_weights=False)
        x = x + h
        return x + self.ff(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, d_model)
        self.pos = nn.Embedding(block_size, d_model)
        self.blocks = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        x = self.tok(idx) + self.pos(torch.arange(T))
        mask = torch.tril(torch.ones(T, T, dtype=torch.bool), diagonal=-1)
        for b in self.blocks:
            x = b(x, mask)
        logits = self.head(self.ln(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -block_size:])
            probs = F.softmax(logits[:, -1] / 0.7, dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], 1)
        return idx


@torch.no_grad()
def val_loss():
    model.eval()
    out = sum(get_loss("val") for _ in range(10)) / 10
    model.train()
    return out


def get_loss(split):
    x, y = get_batch(split)
    return model(x, y)[1].item()


model = CharLM(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for it in range(350):
    x, y = get_batch("train")
    _, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 50 == 0 or it == 349:
        print(f"iter {it}: train {loss.item():.4f}  val {val_loss():.4f}")

model.eval()
start = torch.tensor([[stoi[c] for c in "the cat "]])
sample = "".join(chars[i] for i in model.generate(start, 200)[0].tolist())
print(sample)
words = set(text.replace(".", "").split())
got = sample.replace(".", "").split()
print(f"known words in sample: {sum(w in words for w in got)}/{len(got)}")
