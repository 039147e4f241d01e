"""Tiny character level LM on generated arithmetic sentences."""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)

words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def sentence():
    a, b = random.randint(0, 4), random.randint(0, 5)
    return f"{words[a]} plus {words[b]} is {words[a + b]}. "


text = "".join(sentence() for _ in range(6000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]

block_size = 48
batch_size = 24
V = len(chars)


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + block_size + 1] for i in ix])
    return x, y


class CharLSTM(nn.Module):
    def __init__(self, vocab, emb=32, hidden=128):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.LSTM(emb, hidden, num_layers=1)
        self.fc = nn.Linear(hidden, vocab)

    def forward(self, idx, state=None):
        e = self.emb(idx).transpose(0, 1)      # T, B, E
        out, state = self.rnn(e, state)
        return self.fc(out), state             # T, B, V


model = CharLSTM(V)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)


def loss_fn(logits, targets):
    return F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1))


@torch.no_grad()
def estimate():
    model.eval()
    res = {}
    for split in ("train", "val"):
        ls = []
        for _ in range(10):
            x, y = get_batch(split)
            logits, _ = model(x)
            ls.append(loss_fn(logits, y).item())
        res[split] = sum(ls) / len(ls)
    model.train()
    return res


for it in range(601):
    x, y = get_batch("train")
    logits, _ = model(x)
    loss = loss_fn(logits, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if it % 100 == 0:
        r = estimate()
        print(f"iter {it:4d} train {r['train']:.3f} val {r['val']:.3f} ppl {math.exp(r['val']):.2f}")


@torch.no_grad()
def sample(prompt, length=60):
    model.eval()
    idx = torch.tensor([[stoi[c] for c in prompt]])
    logits, state = model(idx)
    out = prompt
    for _ in range(length):
        p = F.softmax(logits[-1, 0] / 0.7, dim=-1)
        nxt = torch.multinomial(p, 1)
        out += itos[nxt.item()]
        logits, state = model(nxt.view(1, 1), state)
    return out


print(sample("one plus two is "))
